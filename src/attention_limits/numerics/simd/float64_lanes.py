"""Eight numbers in double precision that compiled code handles as one: `DOUBLES`.

As `lanes`, for functions that also take single numbers: lanes and numbers mix in +, -, * and /, and `sqrt`, `exp`, `maximum` and
`with_sign` take both. So do most other functions of `math`. Nothing is fused, so that a lane has the bytes of the same
calculation with numbers. `typingctx` is an argument that numba fills in.
"""

import math
import operator

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from attention_limits.numerics.compiled import njit

WIDTH = 8
_FLOATS = ir.VectorType(ir.DoubleType(), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(64), WIDTH)


class _Doubles(types.Type):
    def __init__(self):
        super().__init__("Doubles")


DOUBLES = _Doubles()


@register_model(_Doubles)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _FLOATS)

    # In memory eight numbers: lists of numba are not aligned as a vector must be.
    def get_data_type(self):
        return ir.ArrayType(ir.DoubleType(), WIDTH)

    def as_data(self, builder, value):
        found = ir.Constant(self.get_data_type(), ir.Undefined)
        for lane in range(WIDTH):
            found = builder.insert_value(found, builder.extract_element(value, ir.IntType(32)(lane)), lane)
        return found

    def from_data(self, builder, value):
        found = ir.Constant(_FLOATS, ir.Undefined)
        for lane in range(WIDTH):
            found = builder.insert_element(found, builder.extract_value(value, lane), ir.IntType(32)(lane))
        return found


def _binary(generate):
    """An intrinsic of two lanes; `generate(builder, x, y)` writes its code."""

    @intrinsic
    def function(typingctx, x, y):
        return DOUBLES(DOUBLES, DOUBLES), lambda context, builder, signature, arguments: generate(builder, *arguments)

    return function


def _signed(builder, x, y):
    function = builder.module.declare_intrinsic(
        f"llvm.copysign.v{WIDTH}f64", fnty=ir.FunctionType(_FLOATS, [_FLOATS, _FLOATS])
    )
    return builder.call(function, [x, y])


_maximum = _binary(lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))
_with_sign = _binary(_signed)


def spread(builder, number):
    """Code of the `builder` of llvmlite for lanes that all hold a `number`."""
    vector = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), number, ir.IntType(32)(0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None)
    return builder.shuffle_vector(vector, ir.Constant(_FLOATS, ir.Undefined), places)


@intrinsic
def full(typingctx, x):
    """Lanes that all hold the float x."""
    return DOUBLES(types.float64), lambda context, builder, signature, arguments: spread(builder, arguments[0])


def _overloaded(function, implementation, of_numbers=None):
    """Let `function` of two arguments take lanes, and a number beside lanes; two numbers go to `of_numbers` if given."""

    @overload(function)
    def chosen(x, y):
        if x is DOUBLES and y is DOUBLES:
            return lambda x, y: implementation(x, y)
        if x is DOUBLES and isinstance(y, types.Number):
            return lambda x, y: implementation(x, full(float(y)))
        if y is DOUBLES and isinstance(x, types.Number):
            return lambda x, y: implementation(full(float(x)), y)
        return of_numbers

    return function


for _operator, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _overloaded(_operator, _binary(lambda builder, x, y, name=_name: getattr(builder, name)(x, y)))


def maximum(x, y):
    """The larger of x and y, lane by lane."""
    return max(x, y)


def with_sign(x, y):
    """The absolute value of x with the sign of y, lane by lane."""
    return math.copysign(x, y)


def less(x, y):
    """1 where x < y, else 0, lane by lane: a mask for `where`."""
    return 1.0 if x < y else 0.0


def at_most(x, y):
    """1 where x <= y, else 0, lane by lane: a mask for `where`."""
    return 1.0 if x <= y else 0.0


def _mask(comparison):
    def generate(builder, x, y):
        one, zero = (ir.Constant(_FLOATS, [number] * WIDTH) for number in (1.0, 0.0))
        return builder.select(builder.fcmp_ordered(comparison, x, y), one, zero)

    return _binary(generate)


_overloaded(maximum, _maximum, lambda x, y: max(x, y))
_overloaded(with_sign, _with_sign, lambda x, y: math.copysign(x, y))
_overloaded(less, _mask("<"), lambda x, y: 1.0 if x < y else 0.0)
_overloaded(at_most, _mask("<="), lambda x, y: 1.0 if x <= y else 0.0)


def _where_not_zero(builder, mask):
    return builder.fcmp_unordered("!=", mask, ir.Constant(_FLOATS, [0.0] * WIDTH))


@intrinsic
def _where(typingctx, mask, x, y):
    def generate(context, builder, signature, arguments):
        mask, x, y = arguments
        return builder.select(_where_not_zero(builder, mask), x, y)

    return DOUBLES(DOUBLES, DOUBLES, DOUBLES), generate


def where(mask, x, y):
    """x where the lanes `mask` are not zero, else y; x and y are lanes or numbers. For compiled code."""


@overload(where)
def _where_of(mask, x, y):
    rules = {
        (True, True): lambda mask, x, y: _where(mask, x, y),
        (True, False): lambda mask, x, y: _where(mask, x, full(float(y))),
        (False, True): lambda mask, x, y: _where(mask, full(float(x)), y),
        (False, False): lambda mask, x, y: _where(mask, full(float(x)), full(float(y))),
    }
    return rules[x is DOUBLES, y is DOUBLES] if mask is DOUBLES else None


@intrinsic
def bits(typingctx, mask):
    """An integer: its bit k is one where lane k of a mask is not zero."""

    def generate(context, builder, signature, arguments):
        found = builder.bitcast(_where_not_zero(builder, arguments[0]), ir.IntType(WIDTH))
        return builder.zext(found, ir.IntType(64))

    return types.intp(DOUBLES), generate


@intrinsic
def _sqrt(typingctx, x):
    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_FLOATS, [_FLOATS])
        return builder.call(builder.module.declare_intrinsic(f"llvm.sqrt.v{WIDTH}f64", fnty=kind), arguments)

    return DOUBLES(DOUBLES), generate


@intrinsic
def _scaled(typingctx, p, shifted):
    """p times 2^k, where the low bits of `shifted` hold k."""

    def generate(context, builder, signature, arguments):
        bits, exponent = (builder.bitcast(value, _INTEGERS) for value in arguments)
        shift = ir.Constant(_INTEGERS, [52] * WIDTH)
        return builder.bitcast(builder.add(bits, builder.shl(exponent, shift)), _FLOATS)

    return DOUBLES(DOUBLES, DOUBLES), generate


@njit
def _exp(x):
    # As `fast_math.exp`, with its error.
    x = maximum(x, -700.0)
    x = 0.0 - maximum(0.0 - x, -700.0)
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = r * (1.0 / 39916800.0) + 1.0 / 3628800.0
    p = r * p + 1.0 / 362880.0
    p = r * p + 1.0 / 40320.0
    p = r * p + 1.0 / 5040.0
    p = r * p + 1.0 / 720.0
    p = r * p + 1.0 / 120.0
    p = r * p + 1.0 / 24.0
    p = r * p + 1.0 / 6.0
    p = r * p + 0.5
    p = r * p + 1.0
    p = r * p + 1.0
    return _scaled(p, shifted)


def sqrt(x):
    """Square root of `x`, a number or lanes, lane by lane."""
    return math.sqrt(x)


def exp(x):
    """exp(x), lane by lane; of lanes with a relative error below 1e-14, and x clamped to [-700, 700]."""
    return math.exp(x)


@overload(sqrt)
def _sqrt_of(x):
    return (lambda x: _sqrt(x)) if x is DOUBLES else (lambda x: math.sqrt(x))


@overload(exp)
def _exp_of(x):
    return (lambda x: _exp(x)) if x is DOUBLES else (lambda x: math.exp(x))


def _pointer(context, builder, array_type, array, row):
    """Address of row `row` of a contiguous array (n, WIDTH)."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [builder.mul(row, row.type(WIDTH))]), _FLOATS.as_pointer())


@intrinsic
def load(typingctx, array, row):
    """Row `row` of a contiguous float64 array (n, WIDTH); not checked."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature.args[0], *arguments), align=8)

    return DOUBLES(array, types.intp), generate


@intrinsic
def store(typingctx, array, row, lanes):
    """Write lanes into row `row` of a contiguous float64 array (n, WIDTH); not checked."""

    def generate(context, builder, signature, arguments):
        *where, value = arguments
        builder.store(value, _pointer(context, builder, signature.args[0], *where), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, DOUBLES), generate


@intrinsic(prefer_literal=True)
def loaded(typingctx, array, count):
    """The first rows of a contiguous float64 array (n, WIDTH), as a tuple of `count` lanes, a constant; not checked."""
    number = count.literal_value

    def generate(context, builder, signature, arguments):
        rows = [
            builder.load(_pointer(context, builder, signature.args[0], arguments[0], ir.IntType(64)(row)), align=8)
            for row in range(number)
        ]
        return context.make_tuple(builder, signature.return_type, rows)

    return types.UniTuple(DOUBLES, number)(array, count), generate


@intrinsic
def _step(typingctx, x):
    def generate(context, builder, signature, arguments):
        zero, one, minus = (ir.Constant(_FLOATS, [number] * WIDTH) for number in (0.0, 1.0, -1.0))
        return builder.select(builder.fcmp_ordered(">=", arguments[0], zero), one, minus)

    return DOUBLES(DOUBLES), generate


def step(x):
    """1 where x >= 0, else -1, lane by lane."""
    return 1.0 if x >= 0.0 else -1.0


@overload(step)
def _step_of(x):
    return (lambda x: _step(x)) if x is DOUBLES else (lambda x: 1.0 if x >= 0.0 else -1.0)


@intrinsic
def _lane(typingctx, x, place):
    return types.float64(DOUBLES, types.intp), lambda context, builder, signature, arguments: builder.extract_element(
        *arguments
    )


@intrinsic
def _with_lane(typingctx, x, place, number):
    def generate(context, builder, signature, arguments):
        x, place, number = arguments
        return builder.insert_element(x, number, place)

    return DOUBLES(DOUBLES, types.intp, types.float64), generate


def _lane_by_lane(function):
    @njit
    def applied(x):
        for place in range(WIDTH):
            x = _with_lane(x, place, function(_lane(x, place)))
        return x

    return applied


@njit
def _to_integer(x, n):
    found, factor = full(1.0), x
    count = abs(n)
    while count > 0:
        if count & 1:
            found = found * factor
        factor, count = factor * factor, count >> 1
    return found if n >= 0 else 1.0 / found


@njit
def _to_lanes(x, y):
    for place in range(WIDTH):
        x = _with_lane(x, place, _lane(x, place) ** _lane(y, place))
    return x


def power(x, y):
    """x to the power of y, lane by lane; one of both may be a number."""
    return x**y


@overload(power)
def _power_of(x, y):
    if x is DOUBLES and y is DOUBLES:
        return lambda x, y: _to_lanes(x, y)
    if x is DOUBLES:
        whole = isinstance(y, types.Integer)
        return (lambda x, y: _to_integer(x, y)) if whole else (lambda x, y: _to_lanes(x, full(float(y))))
    return (lambda x, y: _to_lanes(full(float(x)), y)) if y is DOUBLES else (lambda x, y: x**y)


def _of_lanes(function, implementation):
    """Let the `function` of `math` take lanes."""

    @overload(function)
    def chosen(x):
        return (lambda x: implementation(x)) if x is DOUBLES else None


@njit
def _tanh(x):
    # Absolute error below 1e-15.
    e = _exp(-2.0 * with_sign(x, 1.0))
    return with_sign((1.0 - e) / (1.0 + e), x)


_of_lanes(math.tanh, _tanh)
for _function in (
    math.expm1, math.log, math.log1p, math.sin, math.cos, math.tan, math.sinh, math.cosh, math.atan, math.erf,
):  # fmt: skip
    _of_lanes(_function, _lane_by_lane(_function))
