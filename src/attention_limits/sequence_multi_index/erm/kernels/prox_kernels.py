"""The proximal operator of a loss of P M fields, at its global minimum.

    z_hat(y, omega) = argmin_z  1/2 sum_a (z_a - omega_a)^T V^-1 (z_a - omega_a) + l(y, z)

Newton's method runs in whitened coordinates, z = omega + L x with V = L L^T, where the first term is |x|^2 / 2. A shift of the
Hessian makes it positive and shortens steps that do not descend (Levenberg-Marquardt). A loss of several wells is minimised from
several starts; the lowest minimum counts. The derivatives of the minimum are derived in this module.

`LANES` outputs are minimised side by side, eight in a vector register (`numerics.simd.float64_lanes`). A lane that has minimised
from all starts takes the next output, so that outputs which need many steps keep no others waiting. No number of a lane depends
on another lane.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import (
    WIDTH,
    at_most,
    bits,
    full,
    less,
    load,
    maximum,
    sqrt,
    store,
    where,
    with_sign,
)
from attention_limits.numerics.tracing.elementary import LANES
from attention_limits.sequence_multi_index.erm.kernels.jet_kernels import parts, row_of
from attention_limits.sequence_multi_index.erm.kernels.loss_kernels import LOSS, ONE, THREE, TWO

# Steps of Newton's method, and the step, in whitened units, after which the next one would change nothing.
MAX_STEPS, LAST_STEP = 100, 1e-8
# A Hessian is positive where its pivots exceed the first number; a shift above the second one cannot make it so.
_PIVOT, _HIGHEST_SHIFT = 1e-12, 1e12
# Changes of sign that leave the loss unchanged: none, of all fields together, of every row separately.
NO_SIGN, ALL_SIGNS, ROW_SIGNS = range(3)
# Whitened distance of the further starts from omega, and where they are used; WHERE_BENT: see `prox`.
REACH = 2.0
NO_FURTHER, WHERE_BENT, EVERYWHERE = range(3)
# Rows of `State.numbers`: whether the trial point is a start; objective, loss, shift, descent and length of the step; number of
# points tried; whether the Hessian was positive at every point, whether Newton's method ended.
_FRESH, _VALUE, _LOSS, _SHIFT, _DESCENT, _LENGTH, _TRIED, _BOWL, _ENDED, _NUMBERS = range(10)


class State(NamedTuple):
    """Newton's method in n variables on LANES outputs.

    Arrays (rows, LANES): outputs y; omega, fields z, whitened point x and trial point of n rows; the jet `found` of the loss at
    z; gradient (n rows) and lower triangle of the Hessian, both whitened, at x; `numbers`. Work space of eight lanes: gradient_2
    and hessian_2, those of the trial point; middle (n n, 8), factor and step. `table` is that of the loss.
    """

    y: np.ndarray
    omega: np.ndarray
    z: np.ndarray
    x: np.ndarray
    trial: np.ndarray
    found: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    numbers: np.ndarray
    gradient_2: np.ndarray
    hessian_2: np.ndarray
    middle: np.ndarray
    factor: np.ndarray
    step: np.ndarray
    table: np.ndarray


@njit(inline="always")
def _triangle(i, j):
    """Place of entry (i, j), j <= i, in a lower triangle by rows."""
    return i * (i + 1) // 2 + j


@njit(error_model="numpy")
def _place(state, block, root, tokens):
    """z = omega + L x of the trial points."""
    for p in range(len(root)):
        for a in range(tokens):
            i = p * tokens + a
            moved = load(state.omega, row_of(i, block))
            for q in range(p + 1):
                moved = moved + root[p, q] * load(state.trial, row_of(q * tokens + a, block))
            store(state.z, row_of(i, block), moved)


@njit(error_model="numpy")
def _whiten(state, block, root, tokens):
    """Write gradient and Hessian in x of the trial points of |x|^2 / 2 + l(y, omega + L x). Returns the objective."""
    found, middle, n = state.found, state.middle, len(state.x)
    rows = len(root)
    squares = full(0.0)
    for q in range(rows):
        for a in range(tokens):
            i = q * tokens + a
            x = load(state.trial, row_of(i, block))
            squares = squares + x * x
            for p in range(q, rows):
                x = x + root[p, q] * load(found, row_of(1 + p * tokens + a, block))
            store(state.gradient_2, i, x)
    if rows == 1:
        scale = root[0, 0] * root[0, 0]
        for k in range(n * (n + 1) // 2):
            store(state.hessian_2, k, scale * load(found, row_of(1 + n + k, block)))
    else:
        for i in range(n):
            for s in range(rows):
                for b in range(tokens):
                    total = full(0.0)
                    for r in range(s, rows):
                        j = r * tokens + b
                        place = 1 + n + _triangle(max(i, j), min(i, j))
                        total = total + root[r, s] * load(found, row_of(place, block))
                    store(middle, i * n + s * tokens + b, total)
        for q in range(rows):
            for a in range(tokens):
                i = q * tokens + a
                for j in range(i + 1):
                    total = full(0.0)
                    for p in range(q, rows):
                        total = total + root[p, q] * load(middle, (p * tokens + a) * n + j)
                    store(state.hessian_2, _triangle(i, j), total)
    for i in range(n):
        k = _triangle(i, i)
        store(state.hessian_2, k, load(state.hessian_2, k) + 1.0)
    return 0.5 * squares + load(found, block)


@njit(error_model="numpy")
def _cholesky(matrix, stride, first, shift, n, factor):
    """Lower factor of `matrix` + `shift` I into factor, with the inverse of its diagonal; which sums are positive.

    The lower triangle of the matrix are the rows first, first + stride, ... of an array (rows, 8).
    """
    positive = full(1.0)
    for i in range(n):
        for j in range(i + 1):
            rest = load(matrix, first + stride * _triangle(i, j))
            for k in range(j):
                rest = rest - load(factor, _triangle(i, k)) * load(factor, _triangle(j, k))
            if i == j:
                rest = rest + shift
                sound = less(_PIVOT, rest)
                positive = positive * sound
                rest = 1.0 / sqrt(where(sound, rest, 1.0))
            else:
                rest = rest * load(factor, _triangle(j, j))
            store(factor, _triangle(i, j), rest)
    return positive


@njit(error_model="numpy")
def _solve(factor, n, solution):
    """Replace `solution` (n, 8) by that of A x = solution, with the `factor` of `_cholesky`."""
    for i in range(n):
        rest = load(solution, i)
        for k in range(i):
            rest = rest - load(factor, _triangle(i, k)) * load(solution, k)
        store(solution, i, rest * load(factor, _triangle(i, i)))
    for i in range(n - 1, -1, -1):
        rest = load(solution, i)
        for k in range(i + 1, n):
            rest = rest - load(factor, _triangle(k, i)) * load(solution, k)
        store(solution, i, rest * load(factor, _triangle(i, i)))


@njit(error_model="numpy")
def _advance(state, block, used, root, tokens):
    """Accept or refuse the trial points of a block of eight lanes, and write the next ones.

    The first `used` of them are in use. Returns the bits of the lanes whose minimisation is over: `numbers` then say how it ended,
    and x, objective, loss and Hessian are those of the minimum.
    """
    numbers, n = state.numbers, len(state.x)
    value_2 = _whiten(state, block, root, tokens)
    fresh, value = load(numbers, row_of(_FRESH, block)), load(numbers, row_of(_VALUE, block))
    shift, length = load(numbers, row_of(_SHIFT, block)), load(numbers, row_of(_LENGTH, block))
    # Rounding decides the sign of the smallest changes.
    bound = value - 1e-4 * load(numbers, row_of(_DESCENT, block)) + 1e-13 * (1.0 + with_sign(value, 1.0))
    accepted = where(fresh, 1.0, at_most(value_2, bound))
    for i in range(n):
        row = row_of(i, block)
        store(state.x, row, where(accepted, load(state.trial, row), load(state.x, row)))
        store(state.gradient, row, where(accepted, load(state.gradient_2, i), load(state.gradient, row)))
    for k in range(n * (n + 1) // 2):
        row = row_of(k, block)
        store(state.hessian, row, where(accepted, load(state.hessian_2, k), load(state.hessian, row)))
    value = where(accepted, value_2, value)
    store(numbers, row_of(_VALUE, block), value)
    row = row_of(_LOSS, block)
    store(numbers, row, where(accepted, load(state.found, block), load(numbers, row)))
    # A start has an infinite step. A small step of a shifted Hessian that descends is not the last one.
    ended = less(length, LAST_STEP) * where(accepted, at_most(shift, 0.0), 1.0)
    store(numbers, row_of(_ENDED, block), ended)
    shift = where(
        accepted, where(less(shift, 0.05), 0.0, 0.25 * shift), maximum(4.0 * shift, 0.25)
    )
    bowl, in_use = load(numbers, row_of(_BOWL, block)), (1 << used) - 1
    lost = full(0.0)
    while True:
        positive = _cholesky(state.hessian, LANES // WIDTH, block, shift, n, state.factor)
        # The Hessian at the end need not be positive.
        bent = (1.0 - positive) * (1.0 - ended) * (1.0 - lost)
        if bits(bent) & in_use == 0:
            break
        bowl = where(bent, 0.0, bowl)
        shift = where(bent, maximum(2.0 * shift, 0.1), shift)
        lost = maximum(lost, bent * (1.0 - less(shift, _HIGHEST_SHIFT)))
    for i in range(n):
        store(state.step, i, load(state.gradient, row_of(i, block)))
    _solve(state.factor, n, state.step)
    length, descent = full(0.0), full(0.0)
    for i in range(n):
        step, row = load(state.step, i), row_of(i, block)
        store(state.trial, row, load(state.x, row) - step)
        length = maximum(length, with_sign(step, 1.0))
        descent = descent + load(state.gradient, row) * step
    tried = load(numbers, row_of(_TRIED, block)) + 1.0
    store(numbers, row_of(_FRESH, block), full(0.0))
    store(numbers, row_of(_SHIFT, block), shift)
    store(numbers, row_of(_DESCENT, block), descent)
    store(numbers, row_of(_LENGTH, block), length)
    store(numbers, row_of(_TRIED, block), tried)
    store(numbers, row_of(_BOWL, block), bowl)
    return bits(maximum(maximum(ended, lost), less(MAX_STEPS + 0.5, tried))) & in_use


@njit(error_model="numpy")
def _start_at(state, lane, start, root, inverse, signs, tokens):
    """Begin a minimisation on a lane at the fields `start`, or at fields of equal loss that come closest to omega; see `signs`."""
    trial, omega, rows = state.trial, state.omega, len(root)
    all_signs = 1.0
    if signs == ALL_SIGNS:
        product = 0.0
        for p in range(rows):
            for q in range(rows):
                for a in range(tokens):
                    product += start[p * tokens + a] * inverse[p, q] * omega[q * tokens + a, lane]
        all_signs = -1.0 if product < 0.0 else 1.0
    for p in range(rows):
        sign = all_signs
        if signs == ROW_SIGNS:
            product = 0.0
            for a in range(tokens):
                product += start[p * tokens + a] * omega[p * tokens + a, lane]
            sign = -1.0 if product < 0.0 else 1.0
        # Whitened coordinates x = L^-1 (z - omega).
        for a in range(tokens):
            rest = sign * start[p * tokens + a] - omega[p * tokens + a, lane]
            for q in range(p):
                rest -= root[p, q] * trial[q * tokens + a, lane]
            trial[p * tokens + a, lane] = rest / root[p, p]
    _reset(state, lane)


@njit(error_model="numpy")
def _start_beside(state, lane, axis, distance):
    """Begin a minimisation on a lane at the whitened point `distance` e_axis."""
    for i in range(len(state.trial)):
        state.trial[i, lane] = distance if i == axis else 0.0
    _reset(state, lane)


@njit(error_model="numpy")
def _reset(state, lane):
    numbers = state.numbers
    numbers[_FRESH, lane], numbers[_BOWL, lane], numbers[_LENGTH, lane] = 1.0, 1.0, np.inf
    numbers[_VALUE, lane], numbers[_SHIFT, lane], numbers[_DESCENT, lane] = 0.0, 0.0, 0.0
    numbers[_TRIED, lane] = 0.0


@njit(error_model="numpy")
def _read(state, lane, y, omega):
    """Give an output y (K,) with omega (n,) to a lane, which starts at omega."""
    for i in range(y.size):
        state.y[i, lane] = y[i]
    for i in range(omega.size):
        state.omega[i, lane] = omega[i]
    _start_beside(state, lane, 0, 0.0)


@njit(error_model="numpy")
def _move(state, source, lane):
    """Copy what the lane `source` needs for its next step to another lane."""
    for rows in (state.y, state.omega, state.x, state.trial, state.gradient, state.hessian, state.numbers):
        for i in range(len(rows)):
            rows[i, lane] = rows[i, source]


def prox(loss, y, anchors, omega, root, inverse, signs, further, parameters, tokens, table_rows):
    """Global minima for many outputs.

    Outputs y (N, K); anchors (N, S, n), further starts beside omega, such as points that fit y; omega (N, n) with n = P M,
    rows after each other; root L and inverse V^-1 (P, P); `signs` and parameters of the loss; M tokens; rows of its table.
    `further` determines where the minimisation also starts at omega +- REACH L e_i: nowhere, where the other starts
    disagree or one of them met a Hessian that is not positive, or everywhere.

    Returns z_hat (N, n), g = V^-1 (z_hat - omega) (N, n), dg/domega = -H (1 + V H)^-1 (N, n, n) with H the Hessian of the loss
    at z_hat, the minimum (N,), the loss at z_hat (N,), and whether Newton's method ended (N,).
    """
    count, n = omega.shape
    triangle = n * (n + 1) // 2
    state = State(
        np.zeros((y.shape[1], LANES)), np.zeros((n, LANES)), np.zeros((n, LANES)), np.zeros((n, LANES)), np.zeros((n, LANES)),
        np.zeros((parts(n), LANES)), np.zeros((n, LANES)), np.zeros((triangle, LANES)), np.zeros((_NUMBERS, LANES)),
        np.zeros((n, WIDTH)), np.zeros((triangle, WIDTH)), np.zeros((n * n, WIDTH)), np.zeros((triangle, WIDTH)),
        np.zeros((n, WIDTH)), np.zeros((table_rows, WIDTH)),
    )  # fmt: skip
    # Of each lane: its output, the start from which it minimises, and what its starts found until now.
    outputs, starts = np.zeros(LANES, dtype=np.intp), np.zeros(LANES, dtype=np.intp)
    lowest, highest, bowls = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    point, slope, jacobian = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, n, n))
    envelope, plain, ended = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.bool_)
    some, every = 1 + anchors.shape[1], 1 + anchors.shape[1] + 2 * n
    used = min(LANES, count)
    for lane in range(used):
        outputs[lane] = lane
        _read(state, lane, y[lane], omega[lane])
    given = used
    while used > 0:
        blocks = -(-used // WIDTH)
        for block in range(blocks):
            _place(state, block, root, tokens)
        loss(state.y, state.z, parameters, state.found, state.table, blocks * WIDTH)
        for block in range(blocks - 1, -1, -1):
            over = _advance(state, block, min(WIDTH, used - block * WIDTH), root, tokens)
            # From the last lane on: one that gets no new output is filled from behind.
            for place in range(WIDTH - 1, -1, -1):
                if not over >> place & 1:
                    continue
                lane = block * WIDTH + place
                k, s = outputs[lane], starts[lane]
                value = state.numbers[_VALUE, lane]
                # A later start must win by more than rounding, so that equal wells give one answer.
                if s == 0 or value < lowest[lane] - 1e-12 * (1.0 + abs(lowest[lane])):
                    lowest[lane], envelope[k] = value, value
                    plain[k], ended[k] = state.numbers[_LOSS, lane], state.numbers[_ENDED, lane] != 0.0
                    for i in range(n):
                        # Until `_finish`: the whitened point and its Hessian.
                        point[k, i] = state.x[i, lane]
                        for j in range(i + 1):
                            jacobian[k, i, j] = state.hessian[_triangle(i, j), lane]
                highest[lane] = value if s == 0 else max(highest[lane], value)
                bowls[lane] = state.numbers[_BOWL, lane] * (1.0 if s == 0 else bowls[lane])
                s += 1
                agree = bowls[lane] != 0.0 and highest[lane] - lowest[lane] < 1e-9 * (1.0 + abs(lowest[lane]))
                last = every if further == EVERYWHERE or (further == WHERE_BENT and (s > some or not agree)) else some
                starts[lane] = s
                if s < some:
                    _start_at(state, lane, anchors[k, s - 1], root, inverse, signs, tokens)
                elif s < last:
                    distance = REACH if (s - some) % 2 == 0 else -REACH
                    _start_beside(state, lane, (s - some) // 2, distance)
                elif given < count:
                    outputs[lane], starts[lane] = given, 0
                    _read(state, lane, y[given], omega[given])
                    given += 1
                else:
                    used -= 1
                    _move(state, used, lane)
                    outputs[lane], starts[lane] = outputs[used], starts[used]
                    lowest[lane], highest[lane], bowls[lane] = lowest[used], highest[used], bowls[used]
    for first in range(0, count, WIDTH):
        _finish(state, first, omega, root, inverse, tokens, point, slope, jacobian)
    return point, slope, jacobian, envelope, plain, ended


@njit(error_model="numpy")
def _finish(state, first, omega, root, inverse, tokens, point, slope, jacobian):
    """Of eight outputs from `first` on, turn whitened points into z_hat and g, and the Hessians K there into dg/domega.

    dg/domega = -L^-T (1 - K^-1) L^-1, NaN in its first entry where K is not positive.
    """
    size, n, rows = min(WIDTH, len(point) - first), point.shape[1], len(root)
    x, hessian, inner, unit = state.gradient_2, state.hessian_2, state.middle, state.step
    for lane in range(size):
        for i in range(n):
            x[i, lane] = point[first + lane, i]
            for j in range(i + 1):
                hessian[_triangle(i, j), lane] = jacobian[first + lane, i, j]
    positive = bits(_cholesky(hessian, 1, 0, full(0.0), n, state.factor))
    for j in range(n):
        for i in range(n):
            store(unit, i, full(1.0 if i == j else 0.0))
        _solve(state.factor, n, unit)
        for i in range(n):
            store(inner, i * n + j, load(unit, i) - (1.0 if i == j else 0.0))
    # Solve L^T from the left, then from the right.
    for j in range(n):
        for p in range(rows - 1, -1, -1):
            for a in range(tokens):
                i = p * tokens + a
                rest = load(inner, i * n + j)
                for q in range(p + 1, rows):
                    rest = rest - root[q, p] * load(inner, (q * tokens + a) * n + j)
                store(inner, i * n + j, rest / root[p, p])
    for j in range(n):
        for p in range(rows - 1, -1, -1):
            for a in range(tokens):
                i = p * tokens + a
                rest = load(inner, j * n + i)
                for q in range(p + 1, rows):
                    rest = rest - root[q, p] * load(inner, j * n + q * tokens + a)
                store(inner, j * n + i, rest / root[p, p])
    for a in range(tokens):
        # x becomes L x, row by row from the last one.
        for p in range(rows - 1, -1, -1):
            moved = full(0.0)
            for q in range(p + 1):
                moved = moved + root[p, q] * load(x, q * tokens + a)
            store(x, p * tokens + a, moved)
        for p in range(rows):
            total = full(0.0)
            for q in range(rows):
                total = total + inverse[p, q] * load(x, q * tokens + a)
            store(unit, p * tokens + a, total)
    for lane in range(size):
        k = first + lane
        for i in range(n):
            point[k, i] = omega[k, i] + x[i, lane]
            slope[k, i] = unit[i, lane]
            for j in range(n):
                jacobian[k, i, j] = inner[i * n + j, lane]
        if not positive >> lane & 1:
            jacobian[k, 0, 0] = np.nan


def make_prox():
    """`prox` for every loss of the type `loss_kernels.LOSS`."""
    found = types.Tuple([TWO, TWO, THREE, ONE, ONE, types.Array(types.boolean, 1, "C")])
    arguments = types.FunctionType(LOSS), TWO, THREE, TWO, TWO, TWO, types.intp, types.intp, ONE, types.intp, types.intp
    return njit(signature_or_function=found(*arguments), error_model="numpy")(prox)
