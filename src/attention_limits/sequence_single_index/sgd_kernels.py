"""One step of online SGD in the space of the overlaps, for feed-forward students, and the loop around it.

The gradient is a combination of tokens with coefficients D that depend on the fields alone. Off the span of student, teacher
and position the tokens are independent of D, so that their combination is |D| times a standard normal vector: its squared
norm is one chi^2 draw, and nothing d-dimensional is left. The law of the overlaps is exact at every d (arXiv:2506.02651).

Every update takes (state, draws, chi, parameters), changes `state` in place and returns the number that a run compares with its
threshold. `draws` (batch, width) holds standard normals, `chi` chi^2 draws with d minus the dimension of the span degrees of
freedom, and `parameters` starts with eta = learning_rate / d. `attention_kernels` holds the update of the attention student.
"""

import math

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.random_kernels import fill_chi_squares, fill_normals, fill_waits


@njit(nogil=True)
def tied_update(state, draws, chi, parameters):
    """Feed-forward student relu(L^-1/2 sum_l z_l), target sum_l He_2(z*_l) / sqrt 2, loss (y - f)^2.

    state = (m,); draws[b] = (z*_1 ... z*_L, k), k the normalised sum of the fields orthogonal to the teacher.
    """
    eta, tokens, batch = parameters[0], draws.shape[1] - 1, draws.shape[0]
    m = state[0]
    rest = math.sqrt(max(0.0, 1.0 - m * m))
    along, across, square = 0.0, 0.0, 0.0
    for b in range(batch):
        s, y = 0.0, 0.0
        for l in range(tokens):  # noqa: E741
            s += draws[b, l]
            y += draws[b, l] * draws[b, l] - 1.0
        s /= math.sqrt(tokens)
        h = m * s + rest * draws[b, tokens]
        if h > 0.0:
            c = -2.0 * (y * math.sqrt(0.5) - h)
            along += c * s
            across += c * draws[b, tokens]
            square += c * c
    eta /= batch
    new_m, new_rest = m - eta * along, rest - eta * across
    state[0] = new_m / math.sqrt(new_m * new_m + new_rest * new_rest + eta * eta * square * chi[0])
    return abs(state[0])


@njit(inline="always")
def _untied(state, draws, chi, parameters, reflect):
    tokens = len(state) // 2
    y, h = 0.0, 0.0
    for l in range(tokens):  # noqa: E741
        star, xi, m = draws[0, l], draws[0, tokens + l], state[l]
        field = m * star + math.sqrt(max(0.0, state[tokens + l] - m * m)) * xi
        y += star * star - 1.0
        h += field
        # The place of xi now holds the field of the token, that of chi its squared norm.
        chi[l] += star * star + xi * xi
        draws[0, tokens + l] = field
    sign = 1.0
    if reflect and h < 0.0:
        sign, h = -1.0, -h
    if h > 0.0:
        kappa = -2.0 * sign * parameters[0] * (y * math.sqrt(0.5) - h / math.sqrt(tokens)) / math.sqrt(tokens)
        norm = 0.0
        for l in range(tokens):  # noqa: E741
            state[l] -= kappa * draws[0, l]
            state[tokens + l] += kappa * (kappa * chi[l] - 2.0 * draws[0, tokens + l])
            norm += state[tokens + l]
        scale = tokens / norm
        root = math.sqrt(scale)
        for l in range(tokens):  # noqa: E741
            state[l] *= root
            state[tokens + l] *= scale
    total = 0.0
    for l in range(tokens):  # noqa: E741
        total += state[l] * state[l]
    return math.sqrt(total / tokens)


@njit(nogil=True)
def untied_update(state, draws, chi, parameters):
    """As `tied_update`, each token with its own weights, all normalised together; batch 1.

    state = (m_1 ... m_L, r_1^2 ... r_L^2), sum of r_l^2 = L; draws[0] = (z*_1 ... z*_L, xi_1 ... xi_L); one chi per token.
    Overwrites draws and chi.
    """
    return _untied(state, draws, chi, parameters, False)


@njit(nogil=True)
def tied_active_update(state, draws, chi, parameters):
    """`tied_update` of one sequence on which the student acts, h > 0: draws with h < 0 are reflected, y being even in them."""
    tokens, m = draws.shape[1] - 1, state[0]
    s = 0.0
    for l in range(tokens):  # noqa: E741
        s += draws[0, l]
    if m * s / math.sqrt(tokens) + math.sqrt(max(0.0, 1.0 - m * m)) * draws[0, tokens] < 0.0:
        draws[0] *= -1.0
    return tied_update(state, draws, chi, parameters)


@njit(nogil=True)
def untied_active_update(state, draws, chi, parameters):
    """`untied_update` of one sequence on which the student acts, as `tied_active_update`."""
    return _untied(state, draws, chi, parameters, True)


@njit(inline="always")
def hermite_and_slope(order, x):
    """He_order(x), the Hermite polynomial, and its derivative order He_(order-1)(x)."""
    before, here = 0.0, 1.0
    for k in range(order):
        before, here = here, x * here - k * before
    return here, order * before


@njit(nogil=True)
def hermite_update(state, draws, chi, parameters):
    """Student and target L^-1/2 sum_l h_k(z_l) of the same order k, tied weights, loss 1/2 (y - f)^2.

    state = (m,); draws[b] = (a_1 ... a_L, xi_1 ... xi_L); parameters = (eta, k).
    """
    eta, order = parameters[0], int(parameters[1])
    batch, tokens = draws.shape[0], draws.shape[1] // 2
    m = state[0]
    rest = math.sqrt(max(0.0, 1.0 - m * m))
    # h_k = He_k / sqrt(k!) enters twice.
    factor = 1.0 / tokens
    for k in range(2, order + 1):
        factor /= k
    along, across, square = 0.0, 0.0, 0.0
    for b in range(batch):
        # Sums over the tokens of the miss y - f and, with the derivative, of the gradient.
        miss, slope_along, slope_across, slope_square = 0.0, 0.0, 0.0, 0.0
        for l in range(tokens):  # noqa: E741
            a, xi = draws[b, l], draws[b, tokens + l]
            value, slope = hermite_and_slope(order, m * a + rest * xi)
            miss += hermite_and_slope(order, a)[0] - value
            slope_along += slope * a
            slope_across += slope * xi
            slope_square += slope * slope
        miss *= -factor
        along += miss * slope_along
        across += miss * slope_across
        square += miss * miss * slope_square
    eta /= batch
    new_m, new_rest = m - eta * along, rest - eta * across
    state[0] = new_m / math.sqrt(new_m * new_m + new_rest * new_rest + eta * eta * square * chi[0])
    return abs(state[0])


@njit(nogil=True)
def run(update, state, source, parameters, work, law, schedule):
    """SGD steps until the steps are done, or, if `stop`, until the result of `update` exceeds the threshold.

    Parameters
    ----------
    update : one of the update functions above
    state : array
        Start; overwritten with the end.
    source : array
        Of `random_kernels.random_state`.
    parameters : array
        Those of `update`; the first is eta.
    work : (draws, chi, waits, bits)
        Work space for the random numbers of a block of steps: arrays (block, batch, width), (block, n), (block,) of integers,
        and bits for the largest of them.
    law : (freedom, halved)
        Degrees of freedom of each chi^2. If `halved`, half of the steps, each with probability 1/2, change nothing: they are
        counted, and `update` is that of the others.
    schedule : (threshold, steps, stop, records, trajectory)
        Threshold of the result of `update`; the longest run; whether the run ends at the threshold; increasing steps after which
        the state is stored; array (records, len(state)), written.

    Returns
    -------
    int
        The step at which the threshold was first exceeded, 0 if it was not.
    """
    all_draws, all_chi, waits, bits, draws, chi = work
    freedom, halved = law
    threshold, steps, stop, records, trajectory = schedule
    block = len(waits)
    escaped, row, step, at = 0, 0, 0, block
    while True:
        if at == block:
            fill_normals(source, bits, all_draws)
            fill_chi_squares(source, bits, freedom, all_chi)
            if halved:
                fill_waits(source, bits, waits)
            at = 0
        step += 1 + waits[at]
        while row < len(records) and records[row] < min(step, steps + 1):
            trajectory[row] = state
            row += 1
        if step > steps:
            break
        # Copies: a view of a row would cost more than a step.
        width = draws.shape[1]
        for b in range(draws.shape[0]):
            for i in range(width):
                draws[b, i] = all_draws[(at * draws.shape[0] + b) * width + i]
        for i in range(len(chi)):
            chi[i] = all_chi[at * len(chi) + i]
        learnt = update(state, draws, chi, parameters)
        at += 1
        if escaped == 0 and learnt > threshold:
            escaped = step
            if stop:
                # The state of the step itself belongs to the trajectory.
                if row < len(records) and records[row] == step:
                    trajectory[row] = state
                break
    return escaped


# `run` of each update, compiled once: the cache on disk keeps no call with a compiled function as argument.


@njit(nogil=True)
def run_tied(state, source, parameters, work, law, schedule):
    """`run` of `tied_update`."""
    return run(tied_update, state, source, parameters, work, law, schedule)


@njit(nogil=True)
def run_tied_active(state, source, parameters, work, law, schedule):
    """`run` of `tied_active_update`."""
    return run(tied_active_update, state, source, parameters, work, law, schedule)


@njit(nogil=True)
def run_untied_active(state, source, parameters, work, law, schedule):
    """`run` of `untied_active_update`."""
    return run(untied_active_update, state, source, parameters, work, law, schedule)


@njit(nogil=True)
def run_hermite(state, source, parameters, work, law, schedule):
    """`run` of `hermite_update`."""
    return run(hermite_update, state, source, parameters, work, law, schedule)
