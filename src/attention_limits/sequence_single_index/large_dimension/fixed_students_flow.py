"""The limit d -> infinity of SGD as a differential equation in tau = t / d, for students with one overlap.

    dm/dtau = -gamma (1 - m^2) R_m - gamma^2/2 V m,   V = E|D|^2,

R the expected loss, D the derivatives of the loss with respect to the fields (arXiv:2506.02651). Everywhere m in [0, 1] is the
overlap, `learning_rate` gamma, `tokens` M, `dimension` d, and `order` the degree k of the Hermite polynomial of the matched
student.
"""

import numpy as np
from scipy.integrate import quad, solve_ivp

from attention_limits.numerics.probability.hermite import gauss_hermite, hermite_values

# Slope of the drift of the feed-forward student at m = 0, per unit of learning rate.
FEED_FORWARD_SLOPE = 2.0 / np.sqrt(np.pi)


def tied_drift(m, learning_rate, tokens):
    """dm/dtau of the tied feed-forward student: a gamma m (1 - m^2) - gamma^2 m (M + 1 - a m^2), a = 2 / sqrt(pi).

    The untied student with equal overlaps has 1/M of it.
    """
    a, gamma = FEED_FORWARD_SLOPE, learning_rate
    return gamma * a * m * (1.0 - m**2) - gamma**2 * m * (tokens + 1.0 - a * m**2)


def feed_forward_bound(tokens):
    """Learning rate above which neither feed-forward student escapes: a / (M + 1)."""
    return FEED_FORWARD_SLOPE / (tokens + 1.0)


def gain(tokens, tied_learning_rate, untied_learning_rate):
    """Predicted ratio of the escape times, untied at `untied_learning_rate` over tied at `tied_learning_rate`.

    From the linearised drift.
    """
    slopes = [tied_drift(1e-6, gamma, tokens) for gamma in (tied_learning_rate, untied_learning_rate)]
    return tokens * slopes[0] / slopes[1]


def feed_forward_escape(tokens, learning_rate, start, threshold, untied=False):
    """tau at which the flow of the tied student, or of the untied one with equal overlaps, leads from `start` to `threshold`."""
    tau = escape_time(lambda m: tied_drift(m, learning_rate, tokens), start, threshold)
    return tokens * tau if untied else tau


def hermite_noise(order, tokens, m):
    """V(m) = E|D|^2 of the matched Hermite student: (E delta^2 h'^2 + (M - 1) E delta^2 E h'^2) / M, exactly."""
    nodes, weights = gauss_hermite(2 * order + 2)
    a, xi = nodes[:, None], nodes[None, :]
    z = m * a + np.sqrt(max(0.0, 1.0 - m**2)) * xi
    table = hermite_values(z, order)
    miss, slope = hermite_values(a, order)[order] - table[order], np.sqrt(order) * table[order - 1]
    return float(weights @ (miss**2 * slope**2) @ weights + (tokens - 1) * 2.0 * (1.0 - m**order) * order) / tokens


def hermite_drift(m, order, learning_rate, tokens):
    """dm/dtau of the matched Hermite student: gamma k m^(k-1) (1 - m^2) - gamma^2/2 V(m) m."""
    gamma = learning_rate
    return gamma * order * m ** (order - 1) * (1.0 - m**2) - 0.5 * gamma**2 * hermite_noise(order, tokens, m) * m


def hermite_bound(order, tokens, dimension):
    """Learning rate above which the drift at m = d^(-1/2) points back to zero: 2 k / V(0) d^(-(k-2)/2)."""
    return 2.0 * order / hermite_noise(order, tokens, 0.0) * dimension ** (-0.5 * (order - 2))


def integrate(drift, start, times):
    """Solution (len(times), n) of dx/dtau = drift(x) from `start` (n,) at tau = 0, at increasing `times`."""
    found = solve_ivp(
        lambda _, x: np.atleast_1d(drift(x)),
        (0.0, times[-1]),
        np.atleast_1d(start),
        t_eval=times,
        rtol=1e-8,
        atol=1e-10,
    )
    return found.y.T


def escape_time(drift, start, threshold):
    """tau at which the scalar flow dm/dtau = drift(m) reaches the threshold from `start` > 0.

    Zero from a start beyond the threshold, infinite if the drift vanishes or points back on the way.
    """
    if start >= threshold:
        return 0.0
    ends = np.log(start), np.log(threshold)
    if min(drift(m) for m in np.exp(np.linspace(*ends, 500))) <= 0:
        return np.inf
    # In log m the integrand is smooth over many decades of m.
    return quad(lambda x: np.exp(x) / drift(np.exp(x)), *ends, epsrel=1e-8, limit=500)[0]
