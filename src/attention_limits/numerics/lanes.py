"""Sixteen numbers in single precision that a compiled loop handles as one: `Lanes`.

LLVM seldom vectorises a loop of sixteen steps inside other loops. A value of the numba type `LANES` is a vector of LLVM, which
the compiler keeps in registers and splits where the processor has shorter ones. Lanes add, subtract, multiply and divide like
numbers. `typingctx` is an argument that numba fills in.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from attention_limits.numerics.compiled import njit

WIDTH = 16
_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(32), WIDTH)
# Products and sums may be fused.
_FLAGS = ("nnan", "nsz", "contract")


class _Lanes(types.Type):
    def __init__(self):
        super().__init__("Lanes")


LANES = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _FLOATS)


def _binary(generate):
    """An intrinsic of two lanes; `generate(builder, x, y)` writes its code."""

    @intrinsic
    def function(typingctx, x, y):
        return LANES(LANES, LANES), lambda context, builder, signature, arguments: generate(builder, *arguments)

    return function


_add = _binary(lambda builder, x, y: builder.fadd(x, y, flags=_FLAGS))
_subtract = _binary(lambda builder, x, y: builder.fsub(x, y, flags=_FLAGS))
_multiply = _binary(lambda builder, x, y: builder.fmul(x, y, flags=_FLAGS))
_divide = _binary(lambda builder, x, y: builder.fdiv(x, y))
# The larger of two lanes, element by element.
maximum = _binary(lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))


def _operator(function, implementation):
    @overload(function)
    def chosen(x, y):
        if x is LANES and y is LANES:
            return lambda x, y: implementation(x, y)


_OPERATORS = {operator.add: _add, operator.sub: _subtract, operator.mul: _multiply, operator.truediv: _divide}
for _function, _implementation in _OPERATORS.items():
    _operator(_function, _implementation)


@intrinsic
def full(typingctx, x):
    """Lanes that all hold the float32 x."""

    def generate(context, builder, signature, arguments):
        vector = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), arguments[0], ir.IntType(32)(0))
        return builder.shuffle_vector(vector, ir.Constant(_FLOATS, ir.Undefined), ir.Constant(_INTEGERS, None))

    return LANES(types.float32), generate


def _pointer(context, builder, array_type, array, row):
    """Address of row `row` of a contiguous array (n, WIDTH)."""
    data = context.make_array(array_type)(context, builder, array).data
    start = builder.mul(row, row.type(WIDTH))
    return builder.bitcast(builder.gep(data, [start]), _FLOATS.as_pointer())


@intrinsic
def load(typingctx, array, row):
    """Row `row` of a contiguous float32 array (n, WIDTH); not checked."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature.args[0], *arguments), align=4)

    return LANES(array, types.intp), generate


@intrinsic
def store(typingctx, array, row, lanes):
    """Write lanes into row `row` of a contiguous float32 array (n, WIDTH); not checked."""

    def generate(context, builder, signature, arguments):
        *where, value = arguments
        builder.store(value, _pointer(context, builder, signature.args[0], *where), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), generate


@intrinsic
def sqrt(typingctx, x):
    """Square root of the lanes x, element by element."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_FLOATS, [_FLOATS])
        return builder.call(builder.module.declare_intrinsic(f"llvm.sqrt.v{WIDTH}f32", fnty=kind), arguments)

    return LANES(LANES), generate


@intrinsic
def nonnegative(typingctx, x):
    """1 where x >= 0, else 0."""

    def generate(context, builder, signature, arguments):
        (value,) = arguments
        return builder.uitofp(builder.fcmp_ordered(">=", value, ir.Constant(_FLOATS, None)), _FLOATS)

    return LANES(LANES), generate


@intrinsic
def _scaled(typingctx, p, shifted):
    """p times 2^k, where the low bits of `shifted` hold k."""

    def generate(context, builder, signature, arguments):
        bits, exponent = (builder.bitcast(value, _INTEGERS) for value in arguments)
        shift = ir.Constant(_INTEGERS, [23] * WIDTH)
        return builder.bitcast(builder.add(bits, builder.shl(exponent, shift)), _FLOATS)

    return LANES(LANES, LANES), generate


@njit
def exp(x):
    """exp(x) for lanes x <= 0, relative error below 2e-7; below -87 it is exp(-87), about 1e-38.

    As `fast_math.exp`: x = k log 2 + r with |r| <= log(2) / 2, and the Taylor polynomial of degree 6 in r.
    """
    x = maximum(x, full(np.float32(-87.0)))
    # Adding 1.5 * 2**23 rounds to the nearest integer.
    magic = full(np.float32(12582912.0))
    shifted = x * full(np.float32(1.4426950408889634)) + magic
    k = shifted - magic
    # log 2 in two parts: the product of k and the first is exact.
    r = x - k * full(np.float32(0.693359375))
    r = r + k * full(np.float32(2.1219444005469058e-4))
    p = full(np.float32(1 / 120)) + r * full(np.float32(1 / 720))
    p = full(np.float32(1 / 24)) + r * p
    p = full(np.float32(1 / 6)) + r * p
    p = full(np.float32(0.5)) + r * p
    p = full(np.float32(1.0)) + r * p
    p = full(np.float32(1.0)) + r * p
    return _scaled(p, shifted)
