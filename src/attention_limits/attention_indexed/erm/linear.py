"""State evolution of weight decay with linear outputs, and of its limit of vanishing decay.

The objective is sum_mu ||y_mu - h_mu(S)||_F^2 + lambda d tr S over S >= 0, with scores h of `model` and y = h* + sqrt(tau) xi, xi
symmetric of variance 2 on the diagonal and 1 off it. With K = M (M + 1) equations per sample (M^2 without
symmetry, `teachers.laws`) and the moments of `spectral`

    alpha K delta^2 = mse + tau,    eps = lambda / (2 (alpha K - Theta)),    mse = ||(S* + delta Z - eps)_+ - S*||^2 / d.

lambda -> 0: eps = 0 where Theta(delta, 0) <= alpha K; otherwise the estimate interpolates the data, and Theta(delta, eps) = alpha
K. A softmax without decay interpolates the same way with K = M^2 + M - 2, because its output is the score up to one constant.

The best lambda at given delta makes mse stationary in eps: eps rank = 2 delta^2 int_eps Re g mu.

Source: Boncoraglio, Erba, Troiani, Krzakala, Zdeborova 2025, arXiv:2509.24914; derived again in this module.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.erm.teachers.laws import Tied, as_teacher
from attention_limits.attention_indexed.erm.thresholds import small_decay
from attention_limits.numerics.solvers.roots import root_between

# Where delta^2 is below this times the gap of the spectrum of S*, the limit of vanishing noise holds, with this relative error.
_SMALL = 1e-9
# Doublings of the largest delta of the search, of a closed form and of a quadrature.
_DOUBLINGS, _FEWER = 60, 12


@dataclass(frozen=True)
class LinearSolution:
    """Fixed points; arrays of one shape.

    Attributes
    ----------
    delta, threshold, decay : array
        delta, eps and lambda; lambda is given, or the best one.
    error : array
        mse.
    rank, A, J, theta : array
        Moments of `spectral`.
    """

    delta: np.ndarray
    threshold: np.ndarray
    decay: np.ndarray
    error: np.ndarray
    rank: np.ndarray
    A: np.ndarray
    J: np.ndarray
    theta: np.ndarray


def solve(equations, teacher, score_noise: float, decay) -> LinearSolution:
    """The fixed point at alpha K = `equations` (n,) > 0, tau = `score_noise` >= 0 and lambda = `decay` >= 0.

    `teacher` is one of `teachers.laws`, or rho of a tied one. Raises ValueError if a parameter is out of its range.
    """
    equations = np.asarray(equations, dtype=float)
    decay = np.broadcast_to(np.asarray(decay, dtype=float), equations.shape)
    _check(equations, teacher, score_noise, decay)
    return _fixed_point(
        equations, as_teacher(teacher), score_noise, decay, lambda law, *given: law.decay_threshold(*given)
    )


def best(equations, teacher, score_noise: float) -> LinearSolution:
    """The fixed point at the lambda of the smallest error; lambda = 0 is the limit of vanishing decay.

    alpha K = `equations` (n,) > 0, tau = `score_noise` >= 0 and `teacher` are those of `solve`. Raises ValueError as it does.
    """
    equations = np.asarray(equations, dtype=float)
    none = np.zeros_like(equations)
    _check(equations, teacher, score_noise, none)
    free = solve(equations, teacher, score_noise, none)
    found = _fixed_point(equations, as_teacher(teacher), score_noise, none, lambda law, *_: law.best_threshold())
    decay = 2.0 * found.threshold * (equations - found.theta)
    # Where the stationary lambda is negative, the error grows with lambda from zero on, and zero is the best.
    chosen = (decay > 0.0) & (found.error < free.error)
    names = [name for name in LinearSolution.__dataclass_fields__ if name != "decay"]
    parts = {name: np.where(chosen, getattr(found, name), getattr(free, name)) for name in names}
    return LinearSolution(decay=np.where(chosen, decay, 0.0), **parts)


def _check(equations, teacher, score_noise, decay):
    # A teacher that is no number has checked its width.
    ratio = teacher if isinstance(teacher, int | float) else 1.0
    allowed = np.all(equations > 0) and ratio > 0 and score_noise >= 0 and np.all(decay >= 0)
    if not (allowed and np.all(np.isfinite([np.max(equations), ratio, score_noise, np.max(decay)]))):
        raise ValueError(
            "need alpha K > 0, rho > 0, tau >= 0 and lambda >= 0, all finite, "
            f"got {equations}, {ratio}, {score_noise} and {decay}"
        )


def _fixed_point(equations, teacher, score_noise, decay, threshold_of):
    Q = teacher.Q
    smallest = max(teacher.smallest, np.sqrt(_SMALL * teacher.gap))
    low = np.maximum(np.sqrt(score_noise / equations), smallest)
    # Without learning delta^2 = (Q + tau) / (alpha K); at the peak of interpolation it is larger.
    high = np.maximum(np.sqrt(2.0 * (Q + score_noise) / equations), 2.0 * low)

    def excess(log_delta, equations, decay):
        law = teacher.law(np.exp(log_delta))
        error = law.moments(threshold_of(law, equations, decay)).error
        return np.log(equations * law.delta**2 / (error + score_noise))

    beyond = np.zeros(equations.shape, bool)
    for _ in range(_DOUBLINGS if isinstance(teacher, Tied) else _FEWER):
        beyond = excess(np.log(high), equations, decay) < 0.0
        if not np.any(beyond):
            break
        high = np.where(beyond, 2.0 * high, high)
    vanishing = excess(np.log(low), equations, decay) >= 0.0
    delta = np.exp(root_between(excess, np.log(low), np.log(np.where(vanishing, low, high)), equations, decay))
    law = teacher.law(delta)
    threshold = threshold_of(law, equations, decay)
    found = law.moments(threshold)
    # Without symmetry and decay the error diverges where the equations are as many as the entries.
    error = np.where(beyond, np.inf, found.error)
    solution = LinearSolution(delta, threshold, decay, error, found.rank, found.A, found.J, found.theta)
    return _with_limit(solution, equations, teacher, vanishing) if score_noise == 0 and np.any(vanishing) else solution


def _with_limit(solution, equations, teacher, vanishing):
    """The solution with the limit of vanishing noise where it holds, and where without decay the estimate is exact."""
    exact = vanishing & (solution.decay == 0.0)
    near = vanishing & ~exact
    r, root, Q = teacher.rank, teacher.trace, teacher.Q
    parts = {name: np.array(getattr(solution, name)) for name in LinearSolution.__dataclass_fields__}
    for name, value in {"delta": 0.0, "threshold": 0.0, "error": 0.0, "rank": r, "A": root, "J": Q}.items():
        parts[name][exact] = value
    # Theta of the exact estimate as the decay vanishes: error / delta^2 = alpha K has a kappa at every alpha K above recovery.
    delta, kappa, limit = small_decay(equations[vanishing], teacher, solution.decay[vanishing])
    parts["theta"][vanishing] = limit.theta
    chosen = near[vanishing]
    epsilon = (kappa * delta)[chosen]
    parts["delta"][near], parts["threshold"][near] = delta[chosen], epsilon
    parts["error"][near] = (equations[vanishing] * delta**2)[chosen]
    parts["rank"][near] = limit.rank[chosen]
    parts["A"][near], parts["J"][near] = root - r * epsilon, Q - 2.0 * epsilon * root + r * epsilon**2
    return LinearSolution(**parts)
