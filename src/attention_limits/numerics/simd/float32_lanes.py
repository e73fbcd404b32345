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
from attention_limits.numerics.simd.aligned_arrays import CACHE_LINE

WIDTH = 16
# Neighbouring entries that `take` and `add` move at once.
GROUP = 4
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


def row_pointer(context, builder, array_type, array, row):
    """Address of row `row` of a contiguous `array` (n, WIDTH) of the `array_type`; `context` and `builder` are those of numba."""
    data = context.make_array(array_type)(context, builder, array).data
    start = builder.mul(row, row.type(WIDTH))
    return builder.bitcast(builder.gep(data, [start]), _FLOATS.as_pointer())


@intrinsic
def load(typingctx, array, row):
    """Row `row` of a contiguous float32 array (n, WIDTH); not checked."""

    def generate(context, builder, signature, arguments):
        return builder.load(row_pointer(context, builder, signature.args[0], *arguments), align=4)

    return LANES(array, types.intp), generate


@intrinsic
def store(typingctx, array, row, lanes):
    """Write lanes into row `row` of a contiguous float32 array (n, WIDTH); not checked."""

    def generate(context, builder, signature, arguments):
        *where, value = arguments
        builder.store(value, row_pointer(context, builder, signature.args[0], *where), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), generate


@intrinsic
def load_from(typingctx, array, place, count):
    """The `count` <= WIDTH numbers of a contiguous float32 array from the number `place` on, then zeros; not checked."""

    def generate(context, builder, signature, arguments):
        array, place, count = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        pointer, undefined = builder.bitcast(builder.gep(data, [place]), _FLOATS.as_pointer()), ir.Undefined
        number = builder.trunc(count, ir.IntType(32))
        first = builder.insert_element(ir.Constant(_INTEGERS, undefined), number, ir.IntType(32)(0))
        counts = builder.shuffle_vector(first, ir.Constant(_INTEGERS, undefined), ir.Constant(_INTEGERS, None))
        mask = builder.icmp_signed("<", ir.Constant(_INTEGERS, list(range(WIDTH))), counts)
        kind = ir.FunctionType(_FLOATS, [pointer.type, ir.IntType(32), mask.type, _FLOATS])
        function = builder.module.declare_intrinsic(f"llvm.masked.load.v{WIDTH}f32.p0", fnty=kind)
        return builder.call(function, [pointer, ir.IntType(32)(4), mask, ir.Constant(_FLOATS, None)])

    return LANES(array, types.intp, types.intp), generate


@intrinsic
def load_at(typingctx, array, place):
    """The numbers place, ..., place + WIDTH - 1 of a contiguous float32 array; not checked."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), _FLOATS.as_pointer()), align=4)

    return LANES(array, types.intp), generate


@intrinsic
def prefetch(typingctx, array, place):
    """Ask the memory for the cache line of the number `place` of a contiguous float32 array, before it is loaded."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer, number = builder.gep(data, [arguments[1]]), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch.p0", fnty=kind)
        builder.call(function, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def multiply_add(typingctx, x, y, z):
    """x y + z of lanes, rounded once where the processor can; infinities and NaN stay."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
        return builder.call(builder.module.declare_intrinsic(f"llvm.fmuladd.v{WIDTH}f32", fnty=kind), arguments)

    return LANES(LANES, LANES, LANES), generate


@intrinsic
def total(typingctx, x):
    """The sum of the lanes x, a float32."""

    def generate(context, builder, signature, arguments):
        (x,), width = arguments, WIDTH
        while width > 1:
            width //= 2
            kind = ir.VectorType(ir.IntType(32), width)
            halves = [ir.Constant(kind, list(range(first, first + width))) for first in (0, width)]
            x = builder.fadd(*(builder.shuffle_vector(x, x, half) for half in halves))
        return builder.extract_element(x, ir.IntType(32)(0))

    return types.float32(LANES), generate


def _transposed(builder, x):
    """Entry k of y[q] is entry 4 (k // 4) + q of x[k % 4]; applied twice, it gives x. Both are lists of four vectors."""

    def mixed(first, second, places):
        # Places of four entries of a register: 0 to 3 are of the first vector, 4 to 7 of the second.
        mask = [
            GROUP * (k // GROUP) + places[k % GROUP] % GROUP + WIDTH * (places[k % GROUP] // GROUP)
            for k in range(WIDTH)
        ]
        return builder.shuffle_vector(first, second, ir.Constant(_INTEGERS, mask))

    lower, upper = (0, 4, 1, 5), (2, 6, 3, 7)
    left, right = (0, 1, 4, 5), (2, 3, 6, 7)
    pairs = [[mixed(x[q], x[q + 1], places) for places in (lower, upper)] for q in (0, 2)]
    return [mixed(pairs[0][half], pairs[1][half], places) for half in (0, 1) for places in (left, right)]


def _entries(context, builder, array_type, array, starts_type, starts, line, column, kind):
    """Pointers to the GROUP entries of a flat array from starts[line, k] + column on, for every k."""
    data = context.make_array(array_type)(context, builder, array).data
    places = context.make_array(starts_type)(context, builder, starts).data
    first = builder.mul(line, line.type(WIDTH))
    for k in range(WIDTH):
        place = builder.load(builder.gep(places, [builder.add(first, line.type(k))]))
        where = builder.gep(data, [builder.add(place, column)])
        yield builder.bitcast(where, ir.VectorType(kind, GROUP).as_pointer())


@intrinsic
def take(typingctx, table, starts, line, column, out, row, step):
    """out[row + q step, k] = table[starts[line, k] + column + q] for q < GROUP; not checked.

    table is flat and float32, starts (n, WIDTH) is int64, out (n, WIDTH) is float32; all are contiguous.
    """

    def generate(context, builder, signature, arguments):
        table, starts, line, column, out, row, step = arguments
        kinds = signature.args
        found = [
            builder.load(pointer, align=4)
            for pointer in _entries(context, builder, kinds[0], table, kinds[1], starts, line, column, ir.FloatType())
        ]

        def joined(parts):
            if len(parts) == 1:
                return parts[0]
            first, second = joined(parts[: len(parts) // 2]), joined(parts[len(parts) // 2 :])
            mask = ir.Constant(ir.VectorType(ir.IntType(32), GROUP * len(parts)), list(range(GROUP * len(parts))))
            return builder.shuffle_vector(first, second, mask)

        for value in _transposed(builder, [joined(found[q::GROUP]) for q in range(GROUP)]):
            builder.store(value, row_pointer(context, builder, kinds[4], out, row), align=4)
            row = builder.add(row, step)
        return context.get_dummy_value()

    return types.void(table, starts, types.intp, types.intp, out, types.intp, types.intp), generate


@intrinsic
def add(typingctx, x, row, step, table, starts, line, column):
    """Add x[row + q step, k] to table[starts[line, k] + column + q] for q < GROUP, in the order of k; not checked.

    x (n, WIDTH) is float32, table is flat and float64, starts (n, WIDTH) is int64; all are contiguous.
    """

    def generate(context, builder, signature, arguments):
        x, row, step, table, starts, line, column = arguments
        kinds = signature.args
        rows = []
        for _ in range(GROUP):
            rows.append(builder.load(row_pointer(context, builder, kinds[0], x, row), align=4))
            row = builder.add(row, step)
        columns = _transposed(builder, rows)
        pointers = _entries(context, builder, kinds[3], table, kinds[4], starts, line, column, ir.DoubleType())
        for k, pointer in enumerate(pointers):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), GROUP), [GROUP * (k // GROUP) + q for q in range(GROUP)])
            part = builder.shuffle_vector(columns[k % GROUP], columns[k % GROUP], mask)
            value = builder.fpext(part, ir.VectorType(ir.DoubleType(), GROUP))
            builder.store(builder.fadd(builder.load(pointer, align=8), value), pointer, align=8)
        return context.get_dummy_value()

    return types.void(x, types.intp, types.intp, table, starts, types.intp, types.intp), generate


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
def empty(count):
    """Rows (`count`, WIDTH) of float32, not filled; they begin on a cache line, so that one load reads one line.

    Loads that cross lines take a third more time in products.
    """
    space = np.empty((count + 1) * WIDTH, dtype=np.float32)
    skip = (-space.ctypes.data % CACHE_LINE) // 4
    return space[skip : skip + count * WIDTH].reshape(count, WIDTH)


@njit
def zeros(count):
    """`count` rows as in `empty`, filled with zeros."""
    rows = empty(count)
    rows[:] = np.float32(0.0)
    return rows


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


@njit
def softmax(x, at, count, scale):
    """Replace the rows at, ..., at + `count` - 1 of x (n, WIDTH) by the softmax of `scale` times these rows, lane by lane."""
    highest = load(x, at)
    for j in range(1, count):
        highest = maximum(highest, load(x, at + j))
    total, factor = full(np.float32(0.0)), full(scale)
    for j in range(count):
        value = exp(factor * (load(x, at + j) - highest))
        total = total + value
        store(x, at + j, value)
    inverse = full(np.float32(1.0)) / total
    for j in range(count):
        store(x, at + j, load(x, at + j) * inverse)
