"""Thresholds of weight decay: interpolation as the decay vanishes, and the decay that leaves nothing.

K is T (T + 1) for linear outputs and T^2 + T - 2 for a softmax; thresholds are numbers of equations K alpha. That of exact
recovery is `semicircle.recovery`. Derived for this project from the state evolution of Erba, Troiani, Zdeborova, Krzakala 2025,
arXiv:2505.17958.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.erm.spectral import Law
from attention_limits.attention_indexed.priors.denoisers.wishart import effective_dimension
from attention_limits.numerics.solvers.roots import root_between


@dataclass(frozen=True)
class Interpolation:
    """K alpha below which the estimate without decay interpolates the data, and its error at this point, the peak.

    Attributes
    ----------
    equations, error : float
    """

    equations: float
    error: float


def interpolation(ratio: float, score_noise: float) -> Interpolation:
    """The threshold at rho = `ratio` and tau = `score_noise` >= 0: J - delta^2 Theta = Q + tau and K alpha = Theta at eps = 0.

    Without noise it is 1/2 + nu, from which on S* is the only S >= 0 that fits the data.
    """
    if score_noise == 0.0:
        return Interpolation(0.5 + float(effective_dimension(ratio)), 0.0)

    def at(log_delta):
        law = Law(ratio, np.exp(log_delta))
        return law.moments(np.zeros_like(law.delta)), law.noise

    def excess(log_delta):
        found, noise = at(log_delta)
        return found.J - noise * found.theta - 1.0 - ratio - score_noise

    high = 1.0
    while excess(np.log([high]))[0] < 0.0:
        high *= 2.0
    log_delta = root_between(excess, np.log([1e-6]), np.log([high]))
    found, noise = at(log_delta)
    return Interpolation(float(found.theta[0]), float((noise * found.theta)[0] - score_noise))


def least_decay_of_nothing(equations, ratio: float, score_noise: float):
    """lambda (n,) from which on linear outputs give S = 0: 2 alpha K times the largest eigenvalue.

    alpha K = `equations` (n,), rho = `ratio` and tau = `score_noise`.
    """
    equations = np.asarray(equations, dtype=float)
    return 2.0 * equations * Law(ratio, np.sqrt((1.0 + ratio + score_noise) / equations)).largest
