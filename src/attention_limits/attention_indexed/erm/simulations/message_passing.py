"""Message passing for weight decay on one data set.

With u and Delta = u - omega of the proximal operator of the loss at V (`softmax_kernels`), G = Delta / (2 V),
and alpha = n / d^2,

    omega = h(S) - 2 V G_prev,    Sigma_hat = -(2 alpha / V) mean_mu tr dDelta / domega,
    R = S + 2 / (d Sigma_hat) sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d),
    S = (R - 2 lambda / Sigma_hat)_+,    V = response / Sigma_hat,

where the response is the mean derivative of the positive part on the eigenvalues of R (`wishart.response`). At a fixed point
u = h(S), so that S is a stationary point of the training objective, for any V and Sigma_hat. Damping acts on S, V and 2 V G.

The cubes report where the iteration does not reach its fixed point; `minimisation` is the reference. Derived in this module,
after the state evolution of Boncoraglio, Erba, Troiani, Krzakala, Zdeborova 2025, arXiv:2509.24914.
"""

import math

import numpy as np

from attention_limits.attention_indexed.amp.sample_sums import all_scores, backward
from attention_limits.attention_indexed.amp.schedule import Schedule, Settings
from attention_limits.attention_indexed.erm import softmax_kernels as kernels
from attention_limits.attention_indexed.erm.simulations.objective import Data, Fit
from attention_limits.attention_indexed.erm.softmax import score_basis
from attention_limits.attention_indexed.priors.denoisers.wishart import response

# The iteration has diverged when tr S^2 / d exceeds that of the teacher by this factor.
_DIVERGED = 100.0


class _Linear:
    """Displacement of the proximal operator of linear outputs, in closed form."""

    def __init__(self, data):
        self._outputs, self._entries = data.outputs, data.outputs.shape[1] * (data.outputs.shape[1] + 1) / 2

    def __call__(self, omega, V):
        part = 4.0 * V / (1.0 + 4.0 * V)
        return part * (self._outputs - omega), -part * self._entries


class _Softmax:
    """Displacement of the proximal operator of a softmax."""

    def __init__(self, data):
        self._data, self._basis = data, score_basis(data.outputs.shape[1])
        self._fits = self._coordinates(data.scores)

    def _coordinates(self, h):
        return np.tensordot(h, self._basis, axes=((1, 2), (1, 2)))

    def __call__(self, omega, V):
        moved, results = np.empty_like(self._fits), np.empty((len(self._fits), kernels.COUNT))
        kernels.proximal(
            self._coordinates(omega), self._fits, self._data.outputs, self._basis, self._data.beta, V, moved, results
        )
        return np.tensordot(moved, self._basis, axes=1), float(results[:, kernels.DIVERGENCE].mean())


def run(data: Data, decay: float, settings: Settings) -> Fit:
    """Iterate on `data` from S = 0, V = 1 for lambda = `decay`, with the damping and the end of `schedule.Schedule`.

    It is converged when an undamped step changes S by less than the tolerance of `settings`, relative.
    """
    schedule = Schedule(settings.max_iterations, settings.damping, settings.tolerance)
    move = (_Linear if data.beta is None else _Softmax)(data)
    d, count = len(data.teacher), len(data.sequences)
    S, V, onsager = np.zeros((d, d)), 1.0, np.zeros_like(data.outputs)
    largest, iterations, residual = _DIVERGED * np.sum(data.teacher**2), 0, math.inf
    while not schedule.finished:
        iterations += 1
        displacement, divergence = move(all_scores(data.sequences, S) - onsager, V)
        sigma_hat = -2.0 * count / (d * d * V) * divergence
        G = displacement / (2.0 * V)
        eigenvalues, vectors = np.linalg.eigh(S + 2.0 / (d * sigma_hat) * backward(data.sequences, G))
        over = eigenvalues - 2.0 * decay / sigma_hat
        kept = np.maximum(over, 0.0)
        new = (vectors * kept) @ vectors.T
        size = float(np.linalg.norm(new))
        residual = float(np.linalg.norm(new - S)) / max(size, 1e-300)
        if not (np.isfinite(residual) and size**2 < largest):
            return Fit(S, math.inf, iterations, converged=False, diverged=True)
        following = max(response(eigenvalues, kept, (over > 0.0).astype(float)) / sigma_hat, 1e-12)
        old = schedule.damping
        S = (1.0 - old) * new + old * S
        V = (1.0 - old) * following + old * V
        onsager = (1.0 - old) * 2.0 * following * G + old * onsager
        schedule.note(residual)
    return Fit(S, residual, iterations, schedule.converged)
