"""Products of small matrices whose entries are lanes (see `float32_lanes`), as rows of arrays (n, WIDTH) of float32."""

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float32_lanes import WIDTH, row_pointer

# Rows and columns of the sums that share their loads: a processor with 32 long registers keeps 16 sums there, others 8. A sum has
# the same bytes in every tile.
TALL = 4 if llvm.get_host_cpu_features().get("avx512f") else 2
WIDE = 4
# Products and sums may be fused.
_FLAGS = ("nnan", "nsz", "contract")


def _entry(context, builder, kind, array, row):
    """Row `row` of an array (n, WIDTH) as lanes; of an array (n,), its number in all lanes."""
    lanes = ir.VectorType(ir.FloatType(), WIDTH)
    if kind.ndim == 2:
        return builder.load(row_pointer(context, builder, kind, array, row), align=4)
    data = context.make_array(kind)(context, builder, array).data
    first = builder.insert_element(
        ir.Constant(lanes, ir.Undefined), builder.load(builder.gep(data, [row])), ir.IntType(32)(0)
    )
    places = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), None)
    return builder.shuffle_vector(first, ir.Constant(lanes, ir.Undefined), places)


@intrinsic(prefer_literal=True)
def _tile(
    typingctx, x, x_at, x_row, x_term, y, y_at, y_term, y_column, terms, out, out_at, out_row, accumulate, tall, wide
):
    """`product` of `tall` rows and `wide` columns, two constants, which begin at the rows x_at, y_at and out_at; not checked."""
    rows, columns = range(tall.literal_value), range(wide.literal_value)
    index = types.intp

    def generate(context, builder, signature, arguments):
        x, x_at, x_row, x_term, y, y_at, y_term, y_column, terms, out, out_at, out_row, accumulate, *_ = arguments
        kinds = signature.args
        lanes = ir.VectorType(ir.FloatType(), WIDTH)

        def place(start, step, number):
            return builder.add(start, builder.mul(step, step.type(number)))

        targets = [
            [
                row_pointer(context, builder, kinds[9], out, builder.add(place(out_at, out_row, r), out_at.type(c)))
                for c in columns
            ]
            for r in rows
        ]
        # Registers, after the optimisation.
        sums = [[cgutils.alloca_once(builder, lanes) for _ in columns] for _ in rows]
        with builder.if_else(accumulate) as (adds, begins):
            with adds:
                for r in rows:
                    for c in columns:
                        builder.store(builder.load(targets[r][c], align=4), sums[r][c])
            with begins:
                for r in rows:
                    for c in columns:
                        builder.store(ir.Constant(lanes, None), sums[r][c])
        with cgutils.for_range(builder, terms) as loop:
            left = builder.add(x_at, builder.mul(loop.index, x_term))
            right = builder.add(y_at, builder.mul(loop.index, y_term))
            factors = [_entry(context, builder, kinds[0], x, place(left, x_row, r)) for r in rows]
            for c in columns:
                value = _entry(context, builder, kinds[4], y, place(right, y_column, c))
                for r in rows:
                    term = builder.fmul(factors[r], value, flags=_FLAGS)
                    builder.store(builder.fadd(builder.load(sums[r][c]), term, flags=_FLAGS), sums[r][c])
        for r in rows:
            for c in columns:
                builder.store(builder.load(sums[r][c]), targets[r][c], align=4)
        return context.get_dummy_value()

    numbers = (index, index, index)
    return types.void(
        x, *numbers, y, *numbers, index, out, index, index, types.boolean, tall, wide
    ), generate  # fmt: skip


@njit
def product(x, x_row, x_term, y, y_term, y_column, terms, out, out_at, rows, columns, accumulate):
    """out[r, c] = sum_t x[r, t] y[t, c] over `terms` terms, lane by lane; the sum is added to out if `accumulate`.

    x[r, t] is row r x_row + t x_term of the array x, y[t, c] is row t y_term + c y_column of y, and out[r, c] is row
    out_at + r columns + c of out. If y is an array (n,), its numbers are the same in all lanes.
    """
    tall, wide = rows - rows % TALL, columns - columns % WIDE
    for r in range(0, tall, TALL):
        for c in range(0, wide, WIDE):
            at, to = c * y_column, out_at + r * columns + c
            _tile(x, r * x_row, x_row, x_term, y, at, y_term, y_column, terms, out, to, columns, accumulate, TALL, WIDE)
    for r in range(tall, rows):
        for c in range(0, wide, WIDE):
            at, to = c * y_column, out_at + r * columns + c
            _tile(x, r * x_row, x_row, x_term, y, at, y_term, y_column, terms, out, to, columns, accumulate, 1, WIDE)
    for r in range(rows):
        for c in range(wide, columns):
            at, to = c * y_column, out_at + r * columns + c
            _tile(x, r * x_row, x_row, x_term, y, at, y_term, y_column, terms, out, to, columns, accumulate, 1, 1)
