"""Minimisation of the training objective: L-BFGS on a square factor W of S = W W^T / d, and proximal gradient on S.

With p = d columns the decay lambda d tr S is lambda |W|^2, and L(W W^T / d) has the gradient 2 (grad L) W / d. Proximal steps

    S <- (S - t grad)_+,    grad with the decay,

give exact zeros: L-BFGS leaves small eigenvalues. Without symmetry S = Q K^T / sqrt(p d), p the shorter side, has the decay
lambda sqrt(d / p) (|Q|^2 + |K|^2) / 2 = lambda d ||S||_* at its least, and ()_+ acts on singular values. The proximal gradient
is accelerated (Beck, Teboulle 2009, SIAM J. Imaging Sci. 2, 183), with a restart where a step does not descend and with a search
for the length t.
"""

import math
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from attention_limits.attention_indexed.erm.simulations.objective import Data, Fit, loss_and_gradient

# Corrections that L-BFGS remembers, and its start, W = `_START` sqrt(d) I.
_MEMORY, _START = 20, 0.5
# L-BFGS ends where an iteration lowers the objective by less than this, relative; the proximal steps go on.
_DECREASE = 1e-10
# Growth of a step length before each proximal step, and its factor where the step is too long.
_GROW, _SHRINK = 1.1, 0.5


class Settings(Protocol):
    """The settings that the minimisation reads; the section `schema.erm.MinimisationSolver` has them.

    Attributes
    ----------
    method : str
        "factor", for L-BFGS and then proximal steps, or "proximal", for proximal steps from S = 0.
    tolerance : float
        Largest change of S by a proximal step at convergence, relative to S.
    max_iterations : int
        Largest number of iterations of each kind.
    """

    method: str
    tolerance: float
    max_iterations: int


def minimise(data: Data, decay: float, settings: Settings) -> Fit:
    """The minimum on `data` for lambda = `decay` > 0, with `settings`. Raises ValueError if the decay is not positive."""
    if not decay > 0:
        raise ValueError(f"need lambda > 0, got {decay}")
    start, before = np.zeros(data.teacher.shape), 0
    if settings.method == "factor":
        of_factor = _factor if data.keys is None else _two_factors
        start, before = of_factor(data, decay, settings.max_iterations)
    return _proximal(data, decay, start, before, settings)


def _factor(data, decay, max_iterations):
    """S of L-BFGS on W, and its iterations."""
    d = len(data.teacher)

    def function(flat):
        W = flat.reshape(d, d)
        loss, gradient = loss_and_gradient(data, W @ W.T / d)
        return loss + decay * np.sum(W**2), (2.0 * (gradient @ W / d + decay * W)).ravel()

    found = _lbfgs(function, _START * math.sqrt(d) * np.eye(d), max_iterations)
    W = found.x.reshape(d, d)
    return W @ W.T / d, int(found.nit)


def _two_factors(data, decay, max_iterations):
    """S of L-BFGS on Q (d_q, p) and K (d_k, p), and its iterations."""
    (first, second), d = data.teacher.shape, data.side
    width = min(first, second)
    scale = math.sqrt(width * d)

    def matrices(flat):
        return np.split(flat.reshape(first + second, width), [first])

    def function(flat):
        Q, K = matrices(flat)
        loss, gradient = loss_and_gradient(data, Q @ K.T / scale)
        strength = decay * d / scale
        slopes = np.concatenate([gradient @ K / scale + strength * Q, gradient.T @ Q / scale + strength * K])
        return loss + 0.5 * strength * np.sum(flat**2), slopes.ravel()

    start = _START * math.sqrt(d) * np.concatenate([np.eye(first, width), np.eye(second, width)])
    found = _lbfgs(function, start, max_iterations)
    Q, K = matrices(found.x)
    return Q @ K.T / scale, int(found.nit)


def _lbfgs(function, start, max_iterations):
    return minimize(
        function, start.ravel(), jac=True, method="L-BFGS-B",
        options={"maxcor": _MEMORY, "maxiter": max_iterations, "maxfun": 2 * max_iterations, "ftol": _DECREASE, "gtol": 0.0},
    )  # fmt: skip


def positive_part(matrix: np.ndarray, shift: float) -> np.ndarray:
    """(M - shift I)_+ of a symmetric matrix M (d, d): nearest S >= 0 with the penalty shift tr S."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    kept = eigenvalues > shift
    vectors = vectors[:, kept]
    return (vectors * (eigenvalues[kept] - shift)) @ vectors.T


def soft_threshold(matrix: np.ndarray, shift: float) -> np.ndarray:
    """The `matrix` (d_q, d_k) with (s - shift)_+ for each singular value s: nearest S with the penalty shift ||S||_*."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    kept = values > shift
    return (left[:, kept] * (values[kept] - shift)) @ right[kept]


def _proximal(data, decay, S, before, settings):
    d, (count, tokens) = data.side, data.sequences.shape[:2]
    shrink, trace = (positive_part, np.trace) if data.keys is None else (soft_threshold, _nuclear)
    slope = 1.0 if data.beta is None else (data.beta / tokens) ** 2
    # The mean curvature of the loss along a unit matrix; the search adapts it.
    length = d / (2.0 * count * tokens * (tokens + 1) * slope)
    point, weight, residual = S, 1.0, math.inf
    value = loss_and_gradient(data, S)[0] + decay * d * trace(S)
    for iteration in range(1, settings.max_iterations + 1):
        loss, gradient = loss_and_gradient(data, point)
        length *= _GROW
        while True:
            new = shrink(point - length * gradient, length * decay * d)
            step = new - point
            reached = loss_and_gradient(data, new)[0]
            if reached <= loss + np.vdot(gradient, step) + np.vdot(step, step) / (2.0 * length) + 1e-12 * abs(loss):
                break
            length *= _SHRINK
        total = reached + decay * d * trace(new)
        plain = point is S
        if total > value and not plain:
            # The momentum points upwards: the next step starts without it.
            point, weight = S, 1.0
            continue
        size = float(np.linalg.norm(new))
        residual = float(np.linalg.norm(step)) / size if size else float(np.linalg.norm(step) > 0)
        if residual <= settings.tolerance:
            return Fit(new, residual, before + iteration, True)
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * weight**2))
        point = new + (weight - 1.0) / following * (new - S)
        S, value, weight = new, total, following
    return Fit(S, residual, before + settings.max_iterations, False)


def _nuclear(matrix):
    return float(np.linalg.svd(matrix, compute_uv=False).sum())
