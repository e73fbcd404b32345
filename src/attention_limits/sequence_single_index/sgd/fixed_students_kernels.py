"""One step of online SGD in the space of the overlaps, for feed-forward students.

The gradient is a combination of tokens with coefficients D that depend on the fields alone. Off the span of student, teacher
and position the tokens are independent of D, so that their combination is |D| times a standard normal vector: its squared
norm is one chi^2 draw, and nothing d-dimensional is left. The law of the overlaps is exact at every d (arXiv:2506.02651).

A step waits for a square root, a division and an exponential in turn. Eight replicas at once fill the time: every array ends
with the axis of the lanes (`numerics.simd.float64_lanes`), and no number of a lane depends on another lane. An update takes
(state, draws, chi, at, parameters, learned): `state` (n, lanes) changes in place. `draws` holds standard normals, the same number
of rows for each sequence of each step, and `chi` chi^2 draws with d minus the dimension of the span degrees of freedom; an
update reads the rows of the step number `at`. `parameters` starts with eta = learning_rate / d and the batch. The first row of
`learned` (1 + n, lanes) becomes the numbers that a run compares with its threshold, the others are work space.
`lanes_kernels` holds the loop around the updates, `attention_kernels` the update of the attention student, and
`any_student_kernels` that of the students of a user.
"""

import math

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import full, load, maximum, sqrt, store, with_sign
from attention_limits.sequence_single_index.sgd.lanes_kernels import run_lanes

# Indices of the parameters of all updates, and of those of the updates with them: number of tokens, order of the polynomial.
ETA, BATCH, TOKENS, ORDER = range(4)


@njit(inline="always")
def _tied(state, draws, chi, at, parameters, learned, tokens, reflect):
    """`reflect`: reflects draws with h < 0, because y is even in the draws."""
    batch = int(parameters[BATCH])
    m, zero = load(state, 0), full(0.0)
    rest = sqrt(maximum(1.0 - m * m, 0.0))
    root = 1.0 / math.sqrt(tokens)
    along, across, square = zero, zero, zero
    for b in range(batch):
        row = (at * batch + b) * (tokens + 1)
        s, y = zero, zero
        for l in range(tokens):  # noqa: E741
            star = load(draws, row + l)
            s = s + star
            y = y + (star * star - 1.0)
        s, k = s * root, load(draws, row + tokens)
        h = m * s + rest * k
        if reflect:
            sign = with_sign(full(1.0), h)
            s, k, h = sign * s, sign * k, sign * h
            c = (y * math.sqrt(0.5) - h) * -2.0
        else:
            # Zero where the student does not act.
            acts = 0.5 + with_sign(full(0.5), h)
            c = acts * (y * math.sqrt(0.5) - h) * -2.0
        along = along + c * s
        across = across + c * k
        square = square + c * c
    eta = parameters[ETA] / batch
    new_m, new_rest = m - eta * along, rest - eta * across
    m = new_m / sqrt(new_m * new_m + new_rest * new_rest + eta * eta * square * load(chi, at))
    store(state, 0, m)
    store(learned, 0, maximum(m, 0.0 - m))


@njit(nogil=True)
def tied_update(state, draws, chi, at, parameters, learned):
    """Feed-forward student relu(M^-1/2 sum_l z_l), target sum_l He_2(z*_l) / sqrt 2, loss (y - f)^2.

    state = (m,); draws of a sequence (z*_1 ... z*_M, k), k the normalised sum of the fields orthogonal to the teacher;
    parameters = (eta, batch, M).
    """
    _tied(state, draws, chi, at, parameters, learned, int(parameters[TOKENS]), False)


@njit(nogil=True)
def tied_active_update(state, draws, chi, at, parameters, learned):
    """`tied_update` of one sequence on which the student acts, h > 0."""
    _tied(state, draws, chi, at, parameters, learned, int(parameters[TOKENS]), True)


@njit(inline="always")
def _untied(state, draws, chi, at, parameters, learned, reflect):
    """`reflect` as in `_tied`."""
    tokens = len(state) // 2
    row, zero = at * 2 * tokens, full(0.0)
    y, h = zero, zero
    for l in range(tokens):  # noqa: E741
        star, xi, m = load(draws, row + l), load(draws, row + tokens + l), load(state, l)
        field = m * star + sqrt(maximum(load(state, tokens + l) - m * m, 0.0)) * xi
        y = y + (star * star - 1.0)
        h = h + field
        store(learned, 1 + l, field)
    h = h * (1.0 / math.sqrt(tokens))
    factor = -2.0 * parameters[ETA] / math.sqrt(tokens)
    if reflect:
        sign = with_sign(full(1.0), h)
        kappa = sign * (y * math.sqrt(0.5) - sign * h) * factor
    else:
        kappa = (0.5 + with_sign(full(0.5), h)) * (y * math.sqrt(0.5) - h) * factor
    norm, total = zero, zero
    for l in range(tokens):  # noqa: E741
        star, xi = load(draws, row + l), load(draws, row + tokens + l)
        size = star * star + xi * xi + load(chi, at * tokens + l)
        m = load(state, l) - kappa * star
        r = load(state, tokens + l) + kappa * (kappa * size - 2.0 * load(learned, 1 + l))
        norm = norm + r
        total = total + m * m
        store(state, l, m)
        store(state, tokens + l, r)
    scale = tokens / norm
    root = sqrt(scale)
    for l in range(tokens):  # noqa: E741
        store(state, l, load(state, l) * root)
        store(state, tokens + l, load(state, tokens + l) * scale)
    store(learned, 0, sqrt(total * scale * (1.0 / tokens)))


@njit(nogil=True)
def untied_update(state, draws, chi, at, parameters, learned):
    """As `tied_update`, each token with its own weights, all normalised together; batch 1.

    state = (m_1 ... m_M, r_1^2 ... r_M^2), sum of r_l^2 = M; draws (z*_1 ... z*_M, xi_1 ... xi_M); one chi per token.
    """
    _untied(state, draws, chi, at, parameters, learned, False)


@njit(nogil=True)
def untied_active_update(state, draws, chi, at, parameters, learned):
    """`untied_update` of one sequence on which the student acts, h > 0."""
    _untied(state, draws, chi, at, parameters, learned, True)


@njit(inline="always")
def hermite_and_slope(order, x):
    """He_order(x), the Hermite polynomial, and its derivative order He_(order-1)(x)."""
    lower, value = 0.0 * x, 0.0 * x + 1.0
    for k in range(order):
        lower, value = value, x * value - k * lower
    return value, order * lower


@njit(nogil=True)
def hermite_update(state, draws, chi, at, parameters, learned):
    """Student and target M^-1/2 sum_l h_k(z_l) of the same order k, tied weights, loss 1/2 (y - f)^2.

    state = (m,); draws of a sequence (a_1 ... a_M, xi_1 ... xi_M); parameters = (eta, batch, M, k).
    """
    batch, tokens, order = int(parameters[BATCH]), int(parameters[TOKENS]), int(parameters[ORDER])
    m, zero = load(state, 0), full(0.0)
    rest = sqrt(maximum(1.0 - m * m, 0.0))
    # h_k = He_k / sqrt(k!) enters twice.
    factor = -1.0 / tokens
    for k in range(2, order + 1):
        factor /= k
    along, across, square = zero, zero, zero
    for b in range(batch):
        row = (at * batch + b) * 2 * tokens
        # Sums over the tokens of the miss y - f and, with the derivative, of the gradient.
        miss, slope_along, slope_across, slope_square = zero, zero, zero, zero
        for l in range(tokens):  # noqa: E741
            a, xi = load(draws, row + l), load(draws, row + tokens + l)
            value, slope = hermite_and_slope(order, m * a + rest * xi)
            miss = miss + (hermite_and_slope(order, a)[0] - value)
            slope_along = slope_along + slope * a
            slope_across = slope_across + slope * xi
            slope_square = slope_square + slope * slope
        miss = miss * factor
        along = along + miss * slope_along
        across = across + miss * slope_across
        square = square + miss * miss * slope_square
    eta = parameters[ETA] / batch
    new_m, new_rest = m - eta * along, rest - eta * across
    m = new_m / sqrt(new_m * new_m + new_rest * new_rest + eta * eta * square * load(chi, at))
    store(state, 0, m)
    store(learned, 0, maximum(m, 0.0 - m))


# `run_lanes` of each update, compiled once: the cache on disk keeps no call with a compiled function as argument.


@njit(nogil=True)
def run_tied(start, sources, parameters, work, law, ends, found):
    """`run_lanes` of `tied_update`, with its `start`, `sources`, `parameters`, `work`, `law`, `ends` and `found`."""
    run_lanes(tied_update, start, sources, parameters, work, law, ends, found)


@njit(nogil=True)
def run_tied_active(start, sources, parameters, work, law, ends, found):
    """`run_lanes` of `tied_active_update`, with its `start`, `sources`, `parameters`, `work`, `law`, `ends` and `found`."""
    run_lanes(tied_active_update, start, sources, parameters, work, law, ends, found)


@njit(nogil=True)
def run_untied_active(start, sources, parameters, work, law, ends, found):
    """`run_lanes` of `untied_active_update`, with its `start`, `sources`, `parameters`, `work`, `law`, `ends` and `found`."""
    run_lanes(untied_active_update, start, sources, parameters, work, law, ends, found)


@njit(nogil=True)
def run_hermite(start, sources, parameters, work, law, ends, found):
    """`run_lanes` of `hermite_update`, with its `start`, `sources`, `parameters`, `work`, `law`, `ends` and `found`."""
    run_lanes(hermite_update, start, sources, parameters, work, law, ends, found)
