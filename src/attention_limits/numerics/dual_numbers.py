"""Dual numbers for numba: v + s eps with eps^2 = 0, so that f(v + s eps) = f(v) + f'(v) s eps.

A compiled function of floats also runs on dual numbers, without a change. It gives the derivative along one direction
to rounding.
Operators, comparisons (of values), powers, abs, max, min, and the elementary functions of math and numpy are known; a
variable may start as a float. At kinks the derivative is that of the branch which the function takes.
"""

import math
import operator

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.extending import intrinsic, lower_cast, make_attribute_wrapper, models, overload, register_model


class DualType(types.Type):
    """The type of dual numbers in compiled code; members `value` and `slope`."""

    def __init__(self):
        super().__init__(name="Dual")

    def can_convert_from(self, typingctx, other):
        """Numbers (the type `other`) become dual numbers of slope zero; `typingctx` is that of numba."""
        return Conversion.safe if isinstance(other, types.Number | types.Boolean) else None

    def unify(self, typingctx, other):
        """A variable that holds a number (the type `other`) on one branch is a dual number; `typingctx` is that of numba."""
        return self if isinstance(other, types.Number | types.Boolean) else None


DUAL = DualType()
_NUMBERS = types.Integer | types.Float | types.Boolean


@register_model(DualType)
class _DualModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("value", types.float64), ("slope", types.float64)])


make_attribute_wrapper(DualType, "value", "value")
make_attribute_wrapper(DualType, "slope", "slope")


def _struct(context, builder, value, slope):
    found = cgutils.create_struct_proxy(DUAL)(context, builder)
    found.value, found.slope = value, slope
    return found._getvalue()


@lower_cast(types.Number, DualType)
@lower_cast(types.Boolean, DualType)
def _cast(context, builder, source, target, number):
    value = context.cast(builder, number, source, types.float64)
    return _struct(context, builder, value, context.get_constant(types.float64, 0.0))


@intrinsic
def dual(typingctx, value, slope):
    """value + slope eps, in compiled code; both arguments, and `typingctx`, are those of numba."""

    def codegen(context, builder, signature, given):
        return _struct(context, builder, *given)

    return DUAL(types.float64, types.float64), codegen


@intrinsic
def seeded(typingctx, fields, direction):
    """The tuple of floats `fields` as dual numbers, of slope one at the index `direction`; `typingctx` is that of numba."""
    count = len(fields)

    def codegen(context, builder, signature, given):
        values, place = given
        found = []
        for i in range(count):
            chosen = builder.icmp_signed("==", place, context.get_constant(types.intp, i))
            one, zero = (context.get_constant(types.float64, number) for number in (1.0, 0.0))
            value = builder.extract_value(values, i)
            found.append(_struct(context, builder, value, builder.select(chosen, one, zero)))
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(DUAL, count)(types.UniTuple(types.float64, count), types.intp), codegen


def value_of(x):
    """The value of a dual number `x`; a number is its own value. For compiled code."""
    return x


def slope_of(x):
    """The slope of a dual number `x`, zero for a number. For compiled code."""
    return 0.0 * x


@overload(value_of, inline="always")
def _value_of(x):
    return (lambda x: x.value) if isinstance(x, DualType) else (lambda x: float(x))


@overload(slope_of, inline="always")
def _slope_of(x):
    return (lambda x: x.slope) if isinstance(x, DualType) else (lambda x: 0.0)


def _some_dual(*given):
    return any(isinstance(x, DualType) for x in given) and all(isinstance(x, DualType | _NUMBERS) for x in given)


def _binary(functions, rule):
    for function in functions:

        @overload(function)
        def _(x, y):
            return rule if _some_dual(x, y) else None


def _add(x, y):
    return dual(value_of(x) + value_of(y), slope_of(x) + slope_of(y))


def _subtract(x, y):
    return dual(value_of(x) - value_of(y), slope_of(x) - slope_of(y))


def _multiply(x, y):
    return dual(value_of(x) * value_of(y), slope_of(x) * value_of(y) + value_of(x) * slope_of(y))


def _divide(x, y):
    ratio = value_of(x) / value_of(y)
    return dual(ratio, (slope_of(x) - ratio * slope_of(y)) / value_of(y))


def _maximum(x, y):
    return dual(value_of(x), slope_of(x)) if value_of(x) >= value_of(y) else dual(value_of(y), slope_of(y))


def _minimum(x, y):
    return dual(value_of(x), slope_of(x)) if value_of(x) <= value_of(y) else dual(value_of(y), slope_of(y))


_binary([operator.add, operator.iadd, np.add], _add)
_binary([operator.sub, operator.isub, np.subtract], _subtract)
_binary([operator.mul, operator.imul, np.multiply], _multiply)
_binary([operator.truediv, operator.itruediv, np.divide], _divide)
_binary([max, np.maximum], _maximum)
_binary([min, np.minimum], _minimum)
_binary([operator.lt, np.less], lambda x, y: value_of(x) < value_of(y))
_binary([operator.le, np.less_equal], lambda x, y: value_of(x) <= value_of(y))
_binary([operator.gt, np.greater], lambda x, y: value_of(x) > value_of(y))
_binary([operator.ge, np.greater_equal], lambda x, y: value_of(x) >= value_of(y))
_binary([operator.eq, np.equal], lambda x, y: value_of(x) == value_of(y))
_binary([operator.ne, np.not_equal], lambda x, y: value_of(x) != value_of(y))


def _power_of_number(x, y):
    return dual(x.value**y, y * x.value ** (y - 1) * x.slope)


def _power_of_dual(x, y):
    value = value_of(x) ** value_of(y)
    grown = value * math.log(value_of(x)) * slope_of(y) if slope_of(y) != 0.0 else 0.0
    return dual(value, value_of(y) * value_of(x) ** (value_of(y) - 1.0) * slope_of(x) + grown)


@overload(operator.pow)
@overload(operator.ipow)
@overload(np.power)
@overload(math.pow)
def _power(x, y):
    if isinstance(x, DualType) and isinstance(y, _NUMBERS):
        return _power_of_number
    return _power_of_dual if _some_dual(x, y) else None


def _unary(functions, rule):
    for function in functions:

        @overload(function)
        def _(x):
            return rule if isinstance(x, DualType) else None


def _exp(x):
    value = math.exp(x.value)
    return dual(value, value * x.slope)


def _tanh(x):
    value = math.tanh(x.value)
    return dual(value, (1.0 - value * value) * x.slope)


def _sqrt(x):
    value = math.sqrt(x.value)
    return dual(value, 0.5 / value * x.slope)


def _tan(x):
    value = math.tan(x.value)
    return dual(value, (1.0 + value * value) * x.slope)


_unary([operator.neg, np.negative], lambda x: dual(-x.value, -x.slope))
_unary([operator.pos], lambda x: x)
_unary([abs, np.abs, math.fabs], lambda x: dual(abs(x.value), x.slope if x.value >= 0.0 else -x.slope))
_unary([np.sign], lambda x: np.sign(x.value))
_unary([math.exp, np.exp], _exp)
_unary([math.expm1, np.expm1], lambda x: dual(math.expm1(x.value), math.exp(x.value) * x.slope))
_unary([math.log, np.log], lambda x: dual(math.log(x.value), x.slope / x.value))
_unary([math.log1p, np.log1p], lambda x: dual(math.log1p(x.value), x.slope / (1.0 + x.value)))
_unary([math.sqrt, np.sqrt], _sqrt)
_unary([math.sin, np.sin], lambda x: dual(math.sin(x.value), math.cos(x.value) * x.slope))
_unary([math.cos, np.cos], lambda x: dual(math.cos(x.value), -math.sin(x.value) * x.slope))
_unary([math.tan, np.tan], _tan)
_unary([math.sinh, np.sinh], lambda x: dual(math.sinh(x.value), math.cosh(x.value) * x.slope))
_unary([math.cosh, np.cosh], lambda x: dual(math.cosh(x.value), math.sinh(x.value) * x.slope))
_unary([math.tanh, np.tanh], _tanh)
_unary([math.atan, np.arctan], lambda x: dual(math.atan(x.value), x.slope / (1.0 + x.value * x.value)))
_unary(
    [math.erf],
    lambda x: dual(math.erf(x.value), 2.0 / math.sqrt(math.pi) * math.exp(-x.value * x.value) * x.slope),
)
