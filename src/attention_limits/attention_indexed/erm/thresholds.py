"""Thresholds of weight decay: interpolation as the decay vanishes, and the decay that leaves nothing.

K is M (M + 1) for linear outputs and M^2 + M - 2 for a softmax, of untied teachers M^2 and M (M - 1); thresholds are numbers of
equations K alpha. In all functions `teacher` is one of `teachers.laws`, or rho of a tied one. Derived for this project from the
state evolution of Erba, Troiani, Zdeborova, Krzakala 2025, arXiv:2505.17958.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.erm.teachers.laws import Tied, as_teacher
from attention_limits.numerics.solvers.roots import root_between

# Largest delta of the search for the interpolation.
_WIDEST = 1e6


@dataclass(frozen=True)
class Interpolation:
    """K alpha below which the estimate without decay interpolates the data, and its error at this point, the peak.

    Attributes
    ----------
    equations, error : float
    """

    equations: float
    error: float


def interpolation(teacher, score_noise: float) -> Interpolation:
    """The threshold of a `teacher` at tau = `score_noise` >= 0: J - delta^2 Theta = Q + tau and K alpha = Theta at eps = 0.

    For an untied teacher it is 1: without decay f is the identity. Without noise it is Theta of vanishing noise, 1/2 + nu of tied
    S*, above which S* is the only S >= 0 that fits the data.
    """
    teacher = as_teacher(teacher)
    if not teacher.symmetric:
        return Interpolation(1.0, np.inf if score_noise else 0.0)
    exact = np.isfinite(teacher.limit(np.zeros(())).error)
    if score_noise == 0.0 and exact:
        return Interpolation(_determined(teacher), 0.0)

    def at(log_delta):
        law = teacher.law(np.exp(log_delta))
        return law.moments(np.zeros_like(law.delta)), law.noise

    def excess(log_delta):
        found, noise = at(log_delta)
        return found.J - noise * found.theta - teacher.Q - score_noise

    high = 1.0
    while excess(np.log([high]))[0] < 0.0:
        if high > _WIDEST:
            # S* without positive part: Theta of pure noise.
            return Interpolation(0.5, np.inf)
        high *= 2.0
    log_delta = root_between(excess, np.log([max(1e-6, teacher.smallest)]), np.log([high]))
    found, noise = at(log_delta)
    return Interpolation(float(found.theta[0]), float((noise * found.theta)[0] - score_noise))


def least_decay_of_nothing(equations, teacher, score_noise: float):
    """lambda (n,) above which linear outputs of a `teacher` give S = 0: 2 alpha K times the largest eigenvalue.

    alpha K = `equations` (n,) and tau = `score_noise`.
    """
    teacher = as_teacher(teacher)
    equations = np.asarray(equations, dtype=float)
    return 2.0 * equations * teacher.law(np.sqrt((teacher.Q + score_noise) / equations)).largest


def _determined(teacher):
    """Theta of vanishing noise without a threshold."""
    if isinstance(teacher, Tied):
        return 0.5 + float(teacher.prior.effective_dimension)
    return float(teacher.limit(np.zeros(())).theta)


def recovery(teacher) -> tuple[float, float]:
    """K alpha above which the estimate without decay and noise is exact, and kappa at it.

    For full rank these are 1 and 0, and the Bayes-optimal estimate needs the same K alpha; for a smaller rank it needs less.
    Infinite for an S* with negative eigenvalues.
    """
    teacher = as_teacher(teacher)
    if teacher.top == 0.0:
        return float(teacher.limit(np.zeros(())).error), 0.0
    # The slope is negative at 0, and positive where no zero eigenvalue exceeds eps.
    kappa = root_between(lambda kappa: teacher.limit(kappa).slope, 0.0, teacher.top)
    return float(teacher.limit(kappa).error), float(kappa)


def small_decay(equations, teacher, decay):
    """delta (n,), kappa (n,) and `Limit` without score noise, of a `teacher` at lambda = `decay` (n,) > 0.

    alpha K = `equations` (n,) lies above that of `recovery`.
    error / delta^2 = alpha K gives kappa, lambda = 2 kappa delta (alpha K - Theta) gives delta: the error is of order lambda^2.
    """
    teacher = as_teacher(teacher)
    least = recovery(teacher)[1]
    largest = 1.0 + np.sqrt(equations / teacher.rank)
    kappa = root_between(lambda kappa, equations: teacher.limit(kappa).error - equations, least, largest, equations)
    found = teacher.limit(kappa)
    return decay / (2.0 * kappa * (equations - found.theta)), kappa, found
