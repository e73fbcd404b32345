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
# First rows of the state: whether the trial point is a start; objective, loss, shift, descent and length of the step; number of
# points tried; whether the Hessian was positive at every point, whether Newton's method ended.
_FRESH, _VALUE, _LOSS, _SHIFT, _DESCENT, _LENGTH, _TRIED, _BOWL, _ENDED, _NUMBERS = range(10)


class Layout(NamedTuple):
    """Sizes of Newton's method in n variables, and where its arrays begin; one array for all keeps calls short.

    Attributes
    ----------
    n : int
    x, trial, gradient, hessian : int
        First rows, in the state, of the whitened point (n), trial point (n), gradient (n) and lower triangle of the Hessian at x.
        The numbers above have the rows before them.
    omega, z, found, y : int
        Of omega (n), the fields z (n) of the trial point, the jet of the loss there, and the outputs.
    rows : int
        Of the state (rows, LANES).
    gradient_2, hessian_2, step, factor, middle : int
        First rows, in the work space, of the gradient and the Hessian of the trial point, the step, a Cholesky factor, and a
        matrix (n n).
    work_rows : int
        Of the work space (work_rows, 8).
    """

    n: int
    x: int
    trial: int
    gradient: int
    hessian: int
    omega: int
    z: int
    found: int
    y: int
    rows: int
    gradient_2: int
    hessian_2: int
    step: int
    factor: int
    middle: int
    work_rows: int


@njit(error_model="numpy")
def _layout(n, outputs):
    """The layout for n fields and outputs of this many numbers."""
    triangle, first = n * (n + 1) // 2, _NUMBERS
    return Layout(
        n, first, first + n, first + 2 * n, first + 3 * n, first + 3 * n + triangle, first + 4 * n + triangle,
        first + 5 * n + triangle, first + 5 * n + triangle + parts(n), first + 5 * n + triangle + parts(n) + outputs,
        0, n, n + triangle, 2 * n + triangle, 2 * (n + triangle), 2 * (n + triangle) + n * n,
    )  # fmt: skip


@njit(inline="always")
def _triangle(i, j):
    """Place of entry (i, j), j <= i, in a lower triangle by rows."""
    return i * (i + 1) // 2 + j


@njit(error_model="numpy")
def _place(state, at, block, root, tokens):
    """z = omega + L x of the trial points."""
    for p in range(len(root)):
        for a in range(tokens):
            i = p * tokens + a
            moved = load(state, row_of(at.omega + i, block))
            for q in range(p + 1):
                moved = moved + root[p, q] * load(state, row_of(at.trial + q * tokens + a, block))
            store(state, row_of(at.z + i, block), moved)


@njit(error_model="numpy")
def _whiten(state, work, at, block, root, tokens):
    """Write gradient and Hessian in x of the trial points of |x|^2 / 2 + l(y, omega + L x). Returns the objective."""
    n, rows = at.n, len(root)
    squares = full(0.0)
    for q in range(rows):
        for a in range(tokens):
            i = q * tokens + a
            x = load(state, row_of(at.trial + i, block))
            squares = squares + x * x
            for p in range(q, rows):
                x = x + root[p, q] * load(state, row_of(at.found + 1 + p * tokens + a, block))
            store(work, at.gradient_2 + i, x)
    if rows == 1:
        scale = root[0, 0] * root[0, 0]
        for k in range(n * (n + 1) // 2):
            store(work, at.hessian_2 + k, scale * load(state, row_of(at.found + 1 + n + k, block)))
    else:
        for i in range(n):
            for s in range(rows):
                for b in range(tokens):
                    total = full(0.0)
                    for r in range(s, rows):
                        j = r * tokens + b
                        place = 1 + n + _triangle(max(i, j), min(i, j))
                        total = total + root[r, s] * load(state, row_of(at.found + place, block))
                    store(work, at.middle + i * n + s * tokens + b, total)
        for q in range(rows):
            for a in range(tokens):
                i = q * tokens + a
                for j in range(i + 1):
                    total = full(0.0)
                    for p in range(q, rows):
                        total = total + root[p, q] * load(work, at.middle + (p * tokens + a) * n + j)
                    store(work, at.hessian_2 + _triangle(i, j), total)
    for i in range(n):
        k = at.hessian_2 + _triangle(i, i)
        store(work, k, load(work, k) + 1.0)
    return 0.5 * squares + load(state, row_of(at.found, block))


@njit(error_model="numpy")
def _cholesky(matrix, stride, first, shift, n, work, factor):
    """Write the lower factor of `matrix` + `shift` I, with the inverse of its diagonal; returns which sums are positive.

    The lower triangle of the matrix are the rows first, first + stride, ... of an array (rows, 8); the factor begins at the row
    `factor` of the work space.
    """
    positive = full(1.0)
    for i in range(n):
        for j in range(i + 1):
            rest = load(matrix, first + stride * _triangle(i, j))
            for k in range(j):
                rest = rest - load(work, factor + _triangle(i, k)) * load(work, factor + _triangle(j, k))
            if i == j:
                rest = rest + shift
                sound = less(_PIVOT, rest)
                positive = positive * sound
                rest = 1.0 / sqrt(where(sound, rest, 1.0))
            else:
                rest = rest * load(work, factor + _triangle(j, j))
            store(work, factor + _triangle(i, j), rest)
    return positive


@njit(error_model="numpy")
def _solve(work, factor, n, solution):
    """Replace the n rows from `solution` on by those of A x = solution, with the `factor` of `_cholesky`."""
    for i in range(n):
        rest = load(work, solution + i)
        for k in range(i):
            rest = rest - load(work, factor + _triangle(i, k)) * load(work, solution + k)
        store(work, solution + i, rest * load(work, factor + _triangle(i, i)))
    for i in range(n - 1, -1, -1):
        rest = load(work, solution + i)
        for k in range(i + 1, n):
            rest = rest - load(work, factor + _triangle(k, i)) * load(work, solution + k)
        store(work, solution + i, rest * load(work, factor + _triangle(i, i)))


@njit(error_model="numpy")
def _advance(state, work, at, block, used, root, tokens):
    """Accept or refuse the trial points of a block of eight lanes, and write the next ones.

    The first `used` of them are in use. Returns the bits of the lanes whose minimisation is over: the numbers then say how it
    ended, and x, objective, loss and Hessian are those of the minimum.
    """
    n = at.n
    value_2 = _whiten(state, work, at, block, root, tokens)
    fresh, value = load(state, row_of(_FRESH, block)), load(state, row_of(_VALUE, block))
    shift, length = load(state, row_of(_SHIFT, block)), load(state, row_of(_LENGTH, block))
    # Rounding decides the sign of the smallest changes.
    bound = value - 1e-4 * load(state, row_of(_DESCENT, block)) + 1e-13 * (1.0 + with_sign(value, 1.0))
    accepted = where(fresh, 1.0, at_most(value_2, bound))
    for i in range(n):
        row = row_of(at.x + i, block)
        store(state, row, where(accepted, load(state, row_of(at.trial + i, block)), load(state, row)))
        row, fallen = row_of(at.gradient + i, block), load(work, at.gradient_2 + i)
        fallen = where(accepted, fallen, load(state, row))
        store(state, row, fallen)
        store(work, at.step + i, fallen)
    for k in range(n * (n + 1) // 2):
        row = row_of(at.hessian + k, block)
        store(state, row, where(accepted, load(work, at.hessian_2 + k), load(state, row)))
    store(state, row_of(_VALUE, block), where(accepted, value_2, value))
    row = row_of(_LOSS, block)
    store(state, row, where(accepted, load(state, row_of(at.found, block)), load(state, row)))
    # A start has an infinite step. A small step of a shifted Hessian that descends is not the last one.
    ended = less(length, LAST_STEP) * where(accepted, at_most(shift, 0.0), 1.0)
    shift = where(accepted, where(less(shift, 0.05), 0.0, 0.25 * shift), maximum(4.0 * shift, 0.25))
    bowl, in_use, lost = load(state, row_of(_BOWL, block)), (1 << used) - 1, full(0.0)
    while True:
        positive = _cholesky(state, LANES // WIDTH, row_of(at.hessian, block), shift, n, work, at.factor)
        # At the end a Hessian need not be positive.
        bent = (1.0 - positive) * (1.0 - ended) * (1.0 - lost)
        if bits(bent) & in_use == 0:
            break
        bowl = where(bent, 0.0, bowl)
        shift = where(bent, maximum(2.0 * shift, 0.1), shift)
        lost = maximum(lost, bent * (1.0 - less(shift, _HIGHEST_SHIFT)))
    _solve(work, at.factor, n, at.step)
    length, descent = full(0.0), full(0.0)
    for i in range(n):
        step = load(work, at.step + i)
        store(state, row_of(at.trial + i, block), load(state, row_of(at.x + i, block)) - step)
        length = maximum(length, with_sign(step, 1.0))
        descent = descent + load(state, row_of(at.gradient + i, block)) * step
    tried = load(state, row_of(_TRIED, block)) + 1.0
    store(state, row_of(_FRESH, block), full(0.0))
    store(state, row_of(_SHIFT, block), shift)
    store(state, row_of(_DESCENT, block), descent)
    store(state, row_of(_LENGTH, block), length)
    store(state, row_of(_TRIED, block), tried)
    store(state, row_of(_BOWL, block), bowl)
    store(state, row_of(_ENDED, block), ended)
    return bits(maximum(maximum(ended, lost), less(MAX_STEPS + 0.5, tried))) & in_use


@njit(error_model="numpy")
def _start_at(state, at, lane, start, root, inverse, signs, tokens):
    """Begin a minimisation on a lane at the fields `start`, or at those of equal loss that come closest to omega; see `signs`."""
    rows, all_signs = len(root), 1.0
    if signs == ALL_SIGNS:
        product = 0.0
        for p in range(rows):
            for q in range(rows):
                for a in range(tokens):
                    product += start[p * tokens + a] * inverse[p, q] * state[at.omega + q * tokens + a, lane]
        all_signs = -1.0 if product < 0.0 else 1.0
    for p in range(rows):
        sign = all_signs
        if signs == ROW_SIGNS:
            product = 0.0
            for a in range(tokens):
                product += start[p * tokens + a] * state[at.omega + p * tokens + a, lane]
            sign = -1.0 if product < 0.0 else 1.0
        # Whitened coordinates x = L^-1 (z - omega).
        for a in range(tokens):
            rest = sign * start[p * tokens + a] - state[at.omega + p * tokens + a, lane]
            for q in range(p):
                rest -= root[p, q] * state[at.trial + q * tokens + a, lane]
            state[at.trial + p * tokens + a, lane] = rest / root[p, p]
    _reset(state, lane)


@njit(error_model="numpy")
def _start_beside(state, at, lane, axis, distance):
    """Begin a minimisation on a lane at the whitened point `distance` e_axis."""
    for i in range(at.n):
        state[at.trial + i, lane] = distance if i == axis else 0.0
    _reset(state, lane)


@njit(error_model="numpy")
def _reset(state, lane):
    state[_FRESH, lane], state[_BOWL, lane], state[_LENGTH, lane] = 1.0, 1.0, np.inf
    state[_VALUE, lane], state[_SHIFT, lane], state[_DESCENT, lane], state[_TRIED, lane] = 0.0, 0.0, 0.0, 0.0


@njit(error_model="numpy")
def _read(state, at, lane, y, omega):
    """Give an output y (K,) with omega (n,) to a lane, which starts at omega."""
    for i in range(y.size):
        state[at.y + i, lane] = y[i]
    for i in range(omega.size):
        state[at.omega + i, lane] = omega[i]
    _start_beside(state, at, lane, 0, 0.0)


def prox(loss, y, anchors, omega, root, inverse, signs, further, parameters, tokens, table_rows):
    """Global minima for many outputs.

    Outputs y (N, K); anchors (N, S, n), further starts beside omega, such as points that fit y; omega (N, n) with n = P M,
    rows after each other; root L and inverse V^-1 (P, P); `signs` and parameters of the loss; M tokens; `table_rows` of its
    table. `further` determines where the minimisation also starts at omega +- REACH L e_i: nowhere, where the other starts
    disagree or one of them met a Hessian that is not positive, or everywhere.

    Returns z_hat (N, n), g = V^-1 (z_hat - omega) (N, n), dg/domega = -H (1 + V H)^-1 (N, n, n) with H the Hessian of the loss
    at z_hat, the minimum (N,), the loss at z_hat (N,), and whether Newton's method ended (N,).
    """
    count, n = omega.shape
    at = _layout(n, y.shape[1])
    state, work, table = np.zeros((at.rows, LANES)), np.zeros((at.work_rows, WIDTH)), np.zeros((table_rows, WIDTH))
    lanes_y, lanes_z, found = state[at.y : at.rows], state[at.z : at.z + n], state[at.found : at.y]
    # Of each lane: its output, the start from which it minimises, and what its starts found until now.
    outputs, starts = np.zeros(LANES, dtype=np.intp), np.zeros(LANES, dtype=np.intp)
    lowest, highest, bowls = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    point, slope, jacobian = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, n, n))
    envelope, plain, ended = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.bool_)
    some, every = 1 + anchors.shape[1], 1 + anchors.shape[1] + 2 * n
    used = min(LANES, count)
    for lane in range(used):
        outputs[lane] = lane
        _read(state, at, lane, y[lane], omega[lane])
    given = used
    while used > 0:
        blocks = -(-used // WIDTH)
        for block in range(blocks):
            _place(state, at, block, root, tokens)
        loss(lanes_y, lanes_z, parameters, found, table, blocks * WIDTH)
        for block in range(blocks - 1, -1, -1):
            over = _advance(state, work, at, block, min(WIDTH, used - block * WIDTH), root, tokens)
            # From the last lane on: one that gets no new output is filled from behind.
            for place in range(WIDTH - 1, -1, -1):
                if not over >> place & 1:
                    continue
                lane = block * WIDTH + place
                k, s = outputs[lane], starts[lane]
                value = state[_VALUE, lane]
                # A later start must win by more than rounding, so that equal wells give one answer.
                if s == 0 or value < lowest[lane] - 1e-12 * (1.0 + abs(lowest[lane])):
                    lowest[lane], envelope[k] = value, value
                    plain[k], ended[k] = state[_LOSS, lane], state[_ENDED, lane] != 0.0
                    for i in range(n):
                        # Until `_finish`: the whitened point and its Hessian.
                        point[k, i] = state[at.x + i, lane]
                        for j in range(i + 1):
                            jacobian[k, i, j] = state[at.hessian + _triangle(i, j), lane]
                highest[lane] = value if s == 0 else max(highest[lane], value)
                bowls[lane] = state[_BOWL, lane] * (1.0 if s == 0 else bowls[lane])
                s += 1
                agree = bowls[lane] != 0.0 and highest[lane] - lowest[lane] < 1e-9 * (1.0 + abs(lowest[lane]))
                last = every if further == EVERYWHERE or (further == WHERE_BENT and (s > some or not agree)) else some
                starts[lane] = s
                if s < some:
                    _start_at(state, at, lane, anchors[k, s - 1], root, inverse, signs, tokens)
                elif s < last:
                    distance = REACH if (s - some) % 2 == 0 else -REACH
                    _start_beside(state, at, lane, (s - some) // 2, distance)
                elif given < count:
                    outputs[lane], starts[lane] = given, 0
                    _read(state, at, lane, y[given], omega[given])
                    given += 1
                else:
                    used -= 1
                    for i in range(at.rows):
                        state[i, lane] = state[i, used]
                    outputs[lane], starts[lane] = outputs[used], starts[used]
                    lowest[lane], highest[lane], bowls[lane] = lowest[used], highest[used], bowls[used]
    for first in range(0, count, WIDTH):
        _finish(work, at, first, omega, root, inverse, tokens, point, slope, jacobian)
    return point, slope, jacobian, envelope, plain, ended


@njit(error_model="numpy")
def _finish(work, at, first, omega, root, inverse, tokens, point, slope, jacobian):
    """Of eight outputs from `first` on, turn whitened points into z_hat and g, and the Hessians K there into dg/domega.

    dg/domega = -L^-T (1 - K^-1) L^-1, NaN in its first entry where K is not positive.
    """
    size, n, rows = min(WIDTH, len(point) - first), at.n, len(root)
    x, hessian, inner, unit = at.gradient_2, at.hessian_2, at.middle, at.step
    for lane in range(size):
        for i in range(n):
            work[x + i, lane] = point[first + lane, i]
            for j in range(i + 1):
                work[hessian + _triangle(i, j), lane] = jacobian[first + lane, i, j]
    positive = bits(_cholesky(work, 1, hessian, full(0.0), n, work, at.factor))
    for j in range(n):
        for i in range(n):
            store(work, unit + i, full(1.0 if i == j else 0.0))
        _solve(work, at.factor, n, unit)
        for i in range(n):
            store(work, inner + i * n + j, load(work, unit + i) - (1.0 if i == j else 0.0))
    # Solve L^T from the left, then from the right.
    for side in range(2):
        along, across = (n, 1) if side == 0 else (1, n)
        for j in range(n):
            for p in range(rows - 1, -1, -1):
                for a in range(tokens):
                    i = inner + (p * tokens + a) * along + j * across
                    rest = load(work, i)
                    for q in range(p + 1, rows):
                        rest = rest - root[q, p] * load(work, inner + (q * tokens + a) * along + j * across)
                    store(work, i, rest / root[p, p])
    for a in range(tokens):
        # x becomes L x, row by row from the last one.
        for p in range(rows - 1, -1, -1):
            moved = full(0.0)
            for q in range(p + 1):
                moved = moved + root[p, q] * load(work, x + q * tokens + a)
            store(work, x + p * tokens + a, moved)
        for p in range(rows):
            total = full(0.0)
            for q in range(rows):
                total = total + inverse[p, q] * load(work, x + q * tokens + a)
            store(work, unit + p * tokens + a, total)
    for lane in range(size):
        k = first + lane
        for i in range(n):
            point[k, i] = omega[k, i] + work[x + i, lane]
            slope[k, i] = work[unit + i, lane]
            for j in range(n):
                jacobian[k, i, j] = work[inner + i * n + j, lane]
        if not positive >> lane & 1:
            jacobian[k, 0, 0] = np.nan


def make_prox():
    """`prox` for every loss of the type `loss_kernels.LOSS`."""
    found = types.Tuple([TWO, TWO, THREE, ONE, ONE, types.Array(types.boolean, 1, "C")])
    arguments = types.FunctionType(LOSS), TWO, THREE, TWO, TWO, TWO, types.intp, types.intp, ONE, types.intp, types.intp
    return njit(signature_or_function=found(*arguments), error_model="numpy")(prox)
