"""Products of small matrices whose entries are lanes (see `lanes`), as rows of arrays (n, WIDTH) of float32."""

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float32_lanes import full, load, store


@njit
def product(x, x_row, x_term, y, y_term, y_column, terms, out, out_at, rows, columns, accumulate):
    """out[r, c] = sum_t x[r, t] y[t, c] over `terms` terms, lane by lane; the sum is added to out if `accumulate`.

    x[r, t] is row r x_row + t x_term of the array x, y[t, c] is row t y_term + c y_column of y, and out[r, c] is row
    out_at + r columns + c of out.
    """
    zero = full(np.float32(0.0))
    pairs, whole = rows - rows % 2, columns - columns % 4
    for r in range(0, pairs, 2):
        for c in range(0, whole, 4):
            upper, lower = out_at + r * columns + c, out_at + (r + 1) * columns + c
            first, second, third, fourth = zero, zero, zero, zero
            fifth, sixth, seventh, eighth = zero, zero, zero, zero
            if accumulate:
                first, second = load(out, upper), load(out, upper + 1)
                third, fourth = load(out, upper + 2), load(out, upper + 3)
                fifth, sixth = load(out, lower), load(out, lower + 1)
                seventh, eighth = load(out, lower + 2), load(out, lower + 3)
            # Eight sums share six loads in each step.
            for t in range(terms):
                at = r * x_row + t * x_term
                left, right = load(x, at), load(x, at + x_row)
                place = t * y_term + c * y_column
                value = load(y, place)
                first, fifth = first + left * value, fifth + right * value
                value = load(y, place + y_column)
                second, sixth = second + left * value, sixth + right * value
                value = load(y, place + 2 * y_column)
                third, seventh = third + left * value, seventh + right * value
                value = load(y, place + 3 * y_column)
                fourth, eighth = fourth + left * value, eighth + right * value
            store(out, upper, first)
            store(out, upper + 1, second)
            store(out, upper + 2, third)
            store(out, upper + 3, fourth)
            store(out, lower, fifth)
            store(out, lower + 1, sixth)
            store(out, lower + 2, seventh)
            store(out, lower + 3, eighth)
    for r in range(pairs, rows):
        for c in range(0, whole, 4):
            place = out_at + r * columns + c
            first, second, third, fourth = zero, zero, zero, zero
            if accumulate:
                first, second = load(out, place), load(out, place + 1)
                third, fourth = load(out, place + 2), load(out, place + 3)
            for t in range(terms):
                left, at = load(x, r * x_row + t * x_term), t * y_term + c * y_column
                first = first + left * load(y, at)
                second = second + left * load(y, at + y_column)
                third = third + left * load(y, at + 2 * y_column)
                fourth = fourth + left * load(y, at + 3 * y_column)
            store(out, place, first)
            store(out, place + 1, second)
            store(out, place + 2, third)
            store(out, place + 3, fourth)
    for r in range(rows):
        for c in range(whole, columns):
            place = out_at + r * columns + c
            total = load(out, place) if accumulate else zero
            for t in range(terms):
                total = total + load(x, r * x_row + t * x_term) * load(y, t * y_term + c * y_column)
            store(out, place, total)
