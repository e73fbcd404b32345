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


@njit(nogil=True)
def untied_update(state, draws, chi, parameters):
    """As `tied_update`, each token with its own weights, all normalised together; batch 1.

    state = (m_1 ... m_L, r_1^2 ... r_L^2), sum of r_l^2 = L; draws[0] = (z*_1 ... z*_L, xi_1 ... xi_L); one chi per token.
    """
    tokens = len(state) // 2
    y, h = 0.0, 0.0
    for l in range(tokens):  # noqa: E741
        star = draws[0, l]
        y += star * star - 1.0
        h += state[l] * star + math.sqrt(max(0.0, state[tokens + l] - state[l] ** 2)) * draws[0, tokens + l]
    h /= math.sqrt(tokens)
    total = 0.0
    if h > 0.0:
        kappa = -2.0 * parameters[0] * (y * math.sqrt(0.5) - h) / math.sqrt(tokens)
        norm = 0.0
        for l in range(tokens):  # noqa: E741
            star, xi, m = draws[0, l], draws[0, tokens + l], state[l]
            field = m * star + math.sqrt(max(0.0, state[tokens + l] - m * m)) * xi
            state[l] = m - kappa * star
            state[tokens + l] += -2.0 * kappa * field + kappa * kappa * (star * star + xi * xi + chi[l])
            norm += state[tokens + l]
        scale = norm / tokens
        for l in range(tokens):  # noqa: E741
            state[l] /= math.sqrt(scale)
            state[tokens + l] /= scale
    for l in range(tokens):  # noqa: E741
        total += state[l] ** 2
    return math.sqrt(total / tokens)


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
    tokens, h = len(state) // 2, 0.0
    for l in range(tokens):  # noqa: E741
        h += state[l] * draws[0, l] + math.sqrt(max(0.0, state[tokens + l] - state[l] ** 2)) * draws[0, tokens + l]
    if h < 0.0:
        draws[0] *= -1.0
    return untied_update(state, draws, chi, parameters)


@njit(inline="always")
def hermite_and_slope(order, x):
    """h_order(x), the normalised Hermite polynomial, and its derivative sqrt(order) h_(order-1)(x)."""
    before, here = 0.0, 1.0
    for k in range(order):
        before, here = here, (x * here - math.sqrt(k) * before) / math.sqrt(k + 1.0)
    return here, math.sqrt(order) * before


@njit(nogil=True)
def hermite_update(state, draws, chi, parameters):
    """Student and target L^-1/2 sum_l h_k(z_l) of the same order k, tied weights, loss 1/2 (y - f)^2.

    state = (m,); draws[b] = (a_1 ... a_L, xi_1 ... xi_L); parameters = (eta, k).
    """
    eta, order = parameters[0], int(parameters[1])
    batch, tokens = draws.shape[0], draws.shape[1] // 2
    m = state[0]
    rest = math.sqrt(max(0.0, 1.0 - m * m))
    along, across, square = 0.0, 0.0, 0.0
    for b in range(batch):
        miss = 0.0
        for l in range(tokens):  # noqa: E741
            a, xi = draws[b, l], draws[b, tokens + l]
            miss += hermite_and_slope(order, a)[0] - hermite_and_slope(order, m * a + rest * xi)[0]
        # Residual y - f times the L^-1/2 of the derivative.
        miss /= tokens
        for l in range(tokens):  # noqa: E741
            a, xi = draws[b, l], draws[b, tokens + l]
            D = -miss * hermite_and_slope(order, m * a + rest * xi)[1]
            along += D * a
            across += D * xi
            square += D * D
    eta /= batch
    new_m, new_rest = m - eta * along, rest - eta * across
    state[0] = new_m / math.sqrt(new_m * new_m + new_rest * new_rest + eta * eta * square * chi[0])
    return abs(state[0])


@njit(nogil=True)
def run(update, state, rng, parameters, draws, chi, freedom, threshold, steps, stop, records, trajectory, halved):
    """SGD steps until the steps are done, or, if `stop`, until the result of `update` exceeds the threshold.

    Parameters
    ----------
    update : one of the update functions above
    state : array
        Start; overwritten with the end.
    rng : numpy.random.Generator
    parameters : array
        Those of `update`; the first is eta.
    draws, chi : arrays
        Work space in the shapes that `update` reads.
    freedom : float
        Degrees of freedom of each chi^2.
    threshold : float
        Of the result of `update`.
    steps : int
        Longest run.
    stop : bool
        End the run at the threshold.
    records : array of int
        Increasing steps after which the state is stored.
    trajectory : array (records, len(state)), written
    halved : bool
        Half of the steps, each with probability 1/2, change nothing: they are counted, and `update` is that of the others.

    Returns
    -------
    int
        The step at which the threshold was first exceeded, 0 if it was not.
    """
    escaped, row, step = 0, 0, 0
    while True:
        step += 1
        if halved:
            # Steps in a row that change nothing: k with probability 2^-(k + 1).
            step += int(rng.standard_exponential() / math.log(2.0))
        while row < len(records) and records[row] < min(step, steps + 1):
            trajectory[row] = state
            row += 1
        if step > steps:
            break
        for b in range(draws.shape[0]):
            for i in range(draws.shape[1]):
                draws[b, i] = rng.standard_normal()
        for i in range(len(chi)):
            chi[i] = 2.0 * rng.standard_gamma(0.5 * freedom)
        learnt = update(state, draws, chi, parameters)
        if escaped == 0 and learnt > threshold:
            escaped = step
            if stop:
                # The state of the step itself belongs to the trajectory.
                if row < len(records) and records[row] == step:
                    trajectory[row] = state
                break
    return escaped
