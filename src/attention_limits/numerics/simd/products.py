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


def _sums_of_lanes(builder, rows):
    """The sums over the lanes of the `rows`, one, two or four vectors, as one vector of so many numbers."""

    def halved(x, y, count, size):
        # Both halves of every block of 2 size entries, added; count is the number of entries of x.
        lower = [k for k in range(2 * count if y is not x else count) if k % (2 * size) < size]
        parts = []
        for places in (lower, [k + size for k in lower]):
            mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
            parts.append(builder.shuffle_vector(x, y, mask))
        return builder.fadd(*parts, flags=_FLAGS)

    size = count = WIDTH
    while len(rows) > 1:
        size //= 2
        rows = [halved(x, y, count, size) for x, y in zip(rows[::2], rows[1::2], strict=True)]
    (total,) = rows
    while size > 1:
        size //= 2
        total = halved(total, total, count, size)
        count //= 2
    return total


def _at(builder, start, step, number):
    """Code of start + step number, for a `number` of Python."""
    return builder.add(start, builder.mul(step, step.type(number)))


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
        # Registers, after the optimisation.
        sums = [[cgutils.alloca_once(builder, lanes) for _ in columns] for _ in rows]
        targets = []
        for r in rows:
            first = _at(builder, out_at, out_row, r)
            if kinds[9].ndim == 2:
                where = [builder.add(first, first.type(c)) for c in columns]
                targets.append([row_pointer(context, builder, kinds[9], out, row) for row in where])
            else:
                data = context.make_array(kinds[9])(context, builder, out).data
                numbers = ir.VectorType(ir.FloatType(), len(columns))
                targets.append(builder.bitcast(builder.gep(data, [first]), numbers.as_pointer()))
        for r in rows:
            for c in columns:
                builder.store(ir.Constant(lanes, None), sums[r][c])
        if kinds[9].ndim == 2:
            with builder.if_then(accumulate):
                for r in rows:
                    for c in columns:
                        builder.store(builder.load(targets[r][c], align=4), sums[r][c])
        with cgutils.for_range(builder, terms) as loop:
            left, right = (
                builder.add(start, builder.mul(loop.index, step)) for start, step in ((x_at, x_term), (y_at, y_term))
            )
            factors = [_entry(context, builder, kinds[0], x, _at(builder, left, x_row, r)) for r in rows]
            for c in columns:
                value = _entry(context, builder, kinds[4], y, _at(builder, right, y_column, c))
                for r in rows:
                    term = builder.fmul(factors[r], value, flags=_FLAGS)
                    builder.store(builder.fadd(builder.load(sums[r][c]), term, flags=_FLAGS), sums[r][c])
        for r in rows:
            found = [builder.load(one) for one in sums[r]]
            if kinds[9].ndim == 2:
                for c in columns:
                    builder.store(found[c], targets[r][c], align=4)
            else:
                total = builder.fadd(builder.load(targets[r], align=4), _sums_of_lanes(builder, found), flags=_FLAGS)
                builder.store(total, targets[r], align=4)
        return context.get_dummy_value()

    three = (index, index, index)
    return types.void(x, *three, y, *three, index, out, index, index, types.boolean, tall, wide), generate


@njit
def product(x, x_row, x_term, y, y_term, y_column, terms, out, out_at, rows, columns, accumulate):
    """out[r, c] = sum_t x[r, t] y[t, c] over `terms` terms, lane by lane; the sum is added to out if `accumulate`.

    x[r, t] is row r x_row + t x_term of the array x, y[t, c] is row t y_term + c y_column of y, and out[r, c] is row
    out_at + r columns + c of out. If x or y is an array (n,), its numbers are the same in all lanes. If out is an array (n,), the
    sum over the lanes is added to its numbers in any case.
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
