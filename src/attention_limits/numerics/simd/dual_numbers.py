"""Dual numbers for numba: v + sum_k s_k eps_k with eps_j eps_k = 0, so that f(v + s eps) = f(v) + f'(v) s eps.

A compiled function of floats also runs on dual numbers, without a change. One call gives the function and its derivatives along
several directions, to rounding. The parts of a dual number are floats, or eight of them side by side (`simd.float64_lanes`).
Operators, powers, abs, max, min, and the elementary functions of math and numpy are known; a variable may start as a float. At
kinks the derivative is that of the branch which the function takes. Comparisons (of values) are known for floats alone: eight
numbers may take different branches.
"""

import math
import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.extending import intrinsic, lower_cast, make_attribute_wrapper, models, overload, register_model

from attention_limits.numerics.simd import float64_lanes as lanes
from attention_limits.numerics.simd.float64_lanes import DOUBLES


class DualType(types.Type):
    """The type of dual numbers in compiled code: `value`, and the tuple `slopes`, of the type `part`, float64 or DOUBLES."""

    def __init__(self, part, directions):
        self.part, self.directions = part, directions
        super().__init__(name=f"Dual({part}, {directions})")

    def can_convert_from(self, typingctx, other):
        """Numbers (the type `other`) become dual numbers of slope zero; `typingctx` is that of numba."""
        return Conversion.safe if isinstance(other, types.Number | types.Boolean) else None

    def unify(self, typingctx, other):
        """A variable that holds a number (the type `other`) on one branch is a dual number; `typingctx` is that of numba."""
        return self if isinstance(other, types.Number | types.Boolean) else None


_NUMBERS = types.Integer | types.Float | types.Boolean


@register_model(DualType)
class _DualModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        parts = ["value", *(f"slope_{k}" for k in range(fe_type.directions))]
        super().__init__(dmm, fe_type, [(name, fe_type.part) for name in parts])


make_attribute_wrapper(DualType, "value", "value")


def _parts(context, builder, kind, dual):
    """Value and slopes of a dual number."""
    found = cgutils.create_struct_proxy(kind)(context, builder, value=dual)
    return found.value, [getattr(found, f"slope_{k}") for k in range(kind.directions)]


def _struct(context, builder, kind, value, slopes):
    found = cgutils.create_struct_proxy(kind)(context, builder)
    found.value = value
    for k, slope in enumerate(slopes):
        setattr(found, f"slope_{k}", slope)
    return found._getvalue()


def _number(context, kind, number):
    """The float `number` as a part of the dual numbers of a `kind`."""
    return context.get_value_type(kind.part)([number] * lanes.WIDTH if kind.part is DOUBLES else number)


@lower_cast(types.Number, DualType)
@lower_cast(types.Boolean, DualType)
def _cast(context, builder, source, target, number):
    value = context.cast(builder, number, source, types.float64)
    if target.part is DOUBLES:
        value = lanes.spread(builder, value)
    return _struct(context, builder, target, value, [_number(context, target, 0.0)] * target.directions)


@intrinsic(prefer_literal=True)
def seeded(typingctx, fields, first, directions):
    """The tuple of parts `fields` as dual numbers; that of the index `first` + k has slope one along eps_k.

    `directions`, a constant, is the number of slopes; `typingctx` is that of numba.
    """
    kind = DualType(fields.dtype, directions.literal_value)

    def codegen(context, builder, signature, given):
        values, first, _ = given
        one, zero = _number(context, kind, 1.0), _number(context, kind, 0.0)
        found = []
        for i in range(len(fields)):
            places = [builder.add(first, context.get_constant(types.intp, k)) for k in range(kind.directions)]
            chosen = [builder.icmp_signed("==", place, context.get_constant(types.intp, i)) for place in places]
            slopes = [builder.select(where, one, zero) for where in chosen]
            found.append(_struct(context, builder, kind, builder.extract_value(values, i), slopes))
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(kind, len(fields))(fields, types.intp, directions), codegen


@intrinsic
def slopes_of(typingctx, x):
    """The tuple of slopes of a dual number `x`; `typingctx` is that of numba."""
    tuples = types.UniTuple(x.part, x.directions)

    def codegen(context, builder, signature, given):
        return context.make_tuple(builder, tuples, _parts(context, builder, x, given[0])[1])

    return tuples(x), codegen


def _of_one(rule):
    """(value, a, x) -> dual number of this value with the slopes rule(builder, a, s) of x; a is a part."""

    @intrinsic
    def made(typingctx, value, a, x):
        def codegen(context, builder, signature, given):
            value, a, dual = given
            slopes = [rule(builder, a, slope) for slope in _parts(context, builder, x, dual)[1]]
            return _struct(context, builder, x, value, slopes)

        return x(x.part, x.part, x), codegen

    return made


def _of_two(rule):
    """(value, a, x, b, y) -> dual number of this value with the slopes rule(builder, a, s of x, b, s of y)."""

    @intrinsic
    def made(typingctx, value, a, x, b, y):
        def codegen(context, builder, signature, given):
            value, a, first, b, second = given
            pairs = zip(*(_parts(context, builder, x, dual)[1] for dual in (first, second)), strict=True)
            return _struct(context, builder, x, value, [rule(builder, a, s, b, t) for s, t in pairs])

        return x(x.part, x.part, x, x.part, x), codegen

    return made


_times = _of_one(lambda builder, a, slope: builder.fmul(a, slope))
_over = _of_one(lambda builder, a, slope: builder.fdiv(slope, a))
_sum = _of_two(lambda builder, a, s, b, t: builder.fadd(builder.fmul(a, s), builder.fmul(b, t)))
# (s - ratio t) / value.
_ratio = _of_two(lambda builder, a, s, b, t: builder.fdiv(builder.fsub(s, builder.fmul(a, t)), b))


@intrinsic
def _selected(typingctx, x, y, larger):
    """The dual number with the larger value, or, if `larger` is false, with the smaller one; x at equality."""

    def codegen(context, builder, signature, given):
        first, second, larger = given
        parts, others = (_parts(context, builder, x, dual) for dual in (first, second))
        up, down = (builder.fcmp_ordered(sign, parts[0], others[0]) for sign in (">=", "<="))
        first_wins = builder.select(larger, up, down)
        chosen = [builder.select(first_wins, s, t) for s, t in zip(parts[1], others[1], strict=True)]
        return _struct(context, builder, x, builder.select(first_wins, parts[0], others[0]), chosen)

    return x(x, x, types.boolean), codegen


def _part(number, like):
    """The `number` as a part of the dual number `like`."""


@overload(_part, inline="always")
def _part_of(number, like):
    if like.part is DOUBLES:
        return lambda number, like: lanes.full(float(number))
    return lambda number, like: float(number)


def value_of(x):
    """The value of a dual number `x`; a number is its own value. For compiled code."""
    return x


@overload(value_of, inline="always")
def _value_of(x):
    return (lambda x: x.value) if isinstance(x, DualType) else (lambda x: float(x))


def _kinds(x, y):
    """Which of both are dual numbers, where one is and the other is like it or a number."""
    duals = isinstance(x, DualType), isinstance(y, DualType)
    numbers = isinstance(x, _NUMBERS), isinstance(y, _NUMBERS)
    fit = x == y if all(duals) else any(duals) and any(numbers)
    return duals if fit else None


def _binary(functions, of_duals, of_dual_and_number, of_number_and_dual):
    rules = {(True, True): of_duals, (True, False): of_dual_and_number, (False, True): of_number_and_dual}
    for function in functions:

        @overload(function)
        def _(x, y):
            return rules.get(_kinds(x, y))


_binary(
    [operator.add, operator.iadd, np.add],
    lambda x, y: _sum(x.value + y.value, _part(1.0, x), x, _part(1.0, x), y),
    lambda x, y: _times(x.value + float(y), _part(1.0, x), x),
    lambda x, y: _times(float(x) + y.value, _part(1.0, y), y),
)
_binary(
    [operator.sub, operator.isub, np.subtract],
    lambda x, y: _sum(x.value - y.value, _part(1.0, x), x, _part(-1.0, x), y),
    lambda x, y: _times(x.value - float(y), _part(1.0, x), x),
    lambda x, y: _times(float(x) - y.value, _part(-1.0, y), y),
)
_binary(
    [operator.mul, operator.imul, np.multiply],
    lambda x, y: _sum(x.value * y.value, y.value, x, x.value, y),
    lambda x, y: _times(x.value * float(y), _part(y, x), x),
    lambda x, y: _times(float(x) * y.value, _part(x, y), y),
)


def _divide(x, y):
    ratio = x.value / y.value
    return _ratio(ratio, ratio, x, y.value, y)


def _divide_number(x, y):
    ratio = float(x) / y.value
    return _times(ratio, -1.0 * ratio / y.value, y)


_binary(
    [operator.truediv, operator.itruediv, np.divide],
    _divide,
    lambda x, y: _over(x.value / float(y), _part(y, x), x),
    _divide_number,
)


def _constant(x, like):
    """The number x as a dual number of slope zero."""


@overload(_constant, inline="always")
def _constant_of(x, like):
    return lambda x, like: _times(_part(x, like), _part(0.0, like), like)


def _extremum(functions, larger):
    _binary(
        functions,
        lambda x, y: _selected(x, y, larger),
        lambda x, y: _selected(x, _constant(y, x), larger),
        lambda x, y: _selected(_constant(x, y), y, larger),
    )


_extremum([max, np.maximum], True)
_extremum([min, np.minimum], False)


def _comparison(functions, rule):
    for function in functions:

        @overload(function)
        def _(x, y):
            floats = _kinds(x, y) and all(kind.part is not DOUBLES for kind in (x, y) if isinstance(kind, DualType))
            return rule if floats else None


_comparison([operator.lt, np.less], lambda x, y: value_of(x) < value_of(y))
_comparison([operator.le, np.less_equal], lambda x, y: value_of(x) <= value_of(y))
_comparison([operator.gt, np.greater], lambda x, y: value_of(x) > value_of(y))
_comparison([operator.ge, np.greater_equal], lambda x, y: value_of(x) >= value_of(y))
_comparison([operator.eq, np.equal], lambda x, y: value_of(x) == value_of(y))
_comparison([operator.ne, np.not_equal], lambda x, y: value_of(x) != value_of(y))


def _zero(part):
    return ir.Constant(part.type, None)


_power_slope = _of_two(
    # A constant exponent has no logarithm of its base: the base may be negative.
    lambda builder, a, s, b, t: builder.fadd(
        builder.fmul(a, s),
        builder.select(builder.fcmp_unordered("!=", t, _zero(t)), builder.fmul(b, t), _zero(t)),
    )
)


def _power_of_number(x, y):
    return _times(lanes.power(x.value, y), y * lanes.power(x.value, y - 1), x)


def _power_of_dual(x, y):
    value = lanes.power(x.value, y.value)
    return _power_slope(value, y.value * lanes.power(x.value, y.value - 1.0), x, value * math.log(x.value), y)


def _power_by_dual(x, y):
    value = lanes.power(float(x), y.value)
    return _times(value, value * math.log(x), y)


@overload(operator.pow)
@overload(operator.ipow)
@overload(np.power)
@overload(math.pow)
def _power(x, y):
    rules = {(True, True): _power_of_dual, (True, False): _power_of_number, (False, True): _power_by_dual}
    return rules.get(_kinds(x, y))


def _unary(functions, rule):
    for function in functions:

        @overload(function)
        def _(x):
            return rule if isinstance(x, DualType) else None


def _exp(x):
    value = lanes.exp(x.value)
    return _times(value, value, x)


def _tanh(x):
    value = math.tanh(x.value)
    return _times(value, 1.0 - value * value, x)


def _sqrt(x):
    value = lanes.sqrt(x.value)
    return _times(value, 0.5 / value, x)


def _tan(x):
    value = math.tan(x.value)
    return _times(value, 1.0 + value * value, x)


def _sign(x):
    # Zero at zero.
    value = 0.5 * (lanes.step(x.value) - lanes.step(-1.0 * x.value))
    return _times(value, _part(0.0, x), x)


_unary([operator.neg, np.negative], lambda x: _times(-1.0 * x.value, _part(-1.0, x), x))
_unary([operator.pos], lambda x: x)
_unary([abs, np.abs, math.fabs], lambda x: _times(lanes.with_sign(x.value, 1.0), lanes.step(x.value), x))
_unary([np.sign], _sign)
_unary([math.exp, np.exp], _exp)
_unary([math.expm1, np.expm1], lambda x: _times(math.expm1(x.value), lanes.exp(x.value), x))
_unary([math.log, np.log], lambda x: _over(math.log(x.value), x.value, x))
_unary([math.log1p, np.log1p], lambda x: _over(math.log1p(x.value), 1.0 + x.value, x))
_unary([math.sqrt, np.sqrt], _sqrt)
_unary([math.sin, np.sin], lambda x: _times(math.sin(x.value), math.cos(x.value), x))
_unary([math.cos, np.cos], lambda x: _times(math.cos(x.value), -1.0 * math.sin(x.value), x))
_unary([math.tan, np.tan], _tan)
_unary([math.sinh, np.sinh], lambda x: _times(math.sinh(x.value), math.cosh(x.value), x))
_unary([math.cosh, np.cosh], lambda x: _times(math.cosh(x.value), math.sinh(x.value), x))
_unary([math.tanh, np.tanh], _tanh)
_unary([math.atan, np.arctan], lambda x: _over(math.atan(x.value), 1.0 + x.value * x.value, x))
_unary(
    [math.erf],
    lambda x: _times(math.erf(x.value), 2.0 / math.sqrt(math.pi) * lanes.exp(-1.0 * x.value * x.value), x),
)
