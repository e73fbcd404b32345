"""Channels whose output determines linear combinations of the scores: the scores, with or without noise, and their softmax.

The distances of outputs to their prediction serve tied and untied attention. Derived for the model of Boncoraglio, Troiani, Erba,
Zdeborova 2025 (arXiv:2506.01582).
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.protocol import Gradient
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.model.scores import attention, log_attention

# A mean with fewer effective nodes is missing.
FEWEST_NODES = 20.0


@dataclass(frozen=True)
class Linear:
    """y = h, of M = `tokens` tokens: a `Posterior`."""

    tokens: int
    law = SYMMETRIC
    scale_free = False
    shift_free = False
    ties = None
    closed_form = True

    @property
    def equations(self) -> int:
        """K = M (M + 1): each of the M (M + 1) / 2 entries counts twice."""
        return self.tokens * (self.tokens + 1)

    def information(self, V, Q):
        """K / V at posterior variance V (...), for every prior variance Q."""
        return self.equations / V

    def uncertainty(self, V, Q):
        """Zero, at every V and Q: the information is exact."""
        return 0.0

    def output(self, h):
        """h itself."""
        return h

    def distance(self, mixing, nodes):
        """M (M - 1 + v) |A_1 - A_2|^2 for the rows of A = `mixing` (2, 2), v the variance of the diagonal. `nodes` are not
        used."""
        entries = self.tokens * (self.tokens - 1 + int(self.law.diagonal))
        return entries * float(np.sum((mixing[0] - mixing[1]) ** 2)), 0.0

    def observe(self, h, generator=None):
        """The outputs of scores h (n, M, M): array of the same shape. Nothing is random, `generator` is not used."""
        return h

    def gradient(self, observed, omega, V):
        """G = (h - omega) / (2 V) given outputs `observed` and omega, both (n, M, M)."""
        G = self._residual(observed, omega)
        G /= 2.0 * V
        return Gradient(G, squares(G) / len(G))

    def variance(self, observed, omega):
        """V from the distance of the outputs `observed` to omega, both (n, M, M): sum (h - omega)^2 / (K n)."""
        return squares(self._residual(observed, omega)) / (self.equations * len(omega))

    def _residual(self, observed, omega):
        return observed - omega


@dataclass(frozen=True)
class NoisyLinear(Linear):
    """y = h + sqrt(noise) Z, of M = `tokens` tokens, noise > 0, Z standard normal and not symmetric: a `Posterior`.

    The mean of y_ab and y_ba has the noise of variance noise / 2: V + noise / 2 takes the place of V.
    """

    noise: float = 1.0

    @property
    def equations(self) -> None:
        """None: no number of samples makes the error zero."""
        return None

    def information(self, V, Q):
        """M (M + 1) / (V + noise / 2) at posterior variance V (...), for every prior variance Q."""
        return self.tokens * (self.tokens + 1) / (V + 0.5 * self.noise)

    def observe(self, h, generator):
        """y of scores h (n, M, M), array of the same shape, with noise from the numpy.random.Generator `generator`."""
        return h + np.sqrt(self.noise) * generator.standard_normal(h.shape)

    def gradient(self, observed, omega, V):
        """G = (y + y^T - 2 omega) / (4 V + 2 noise) given outputs `observed` y and omega, both (n, M, M)."""
        return super().gradient(observed, omega, V + 0.5 * self.noise)

    def variance(self, observed, omega):
        """None: the residual of `observed` and omega, both (n, M, M), is mostly noise."""
        return None

    def _residual(self, observed, omega):
        return 0.5 * (observed + observed.transpose(0, 2, 1)) - omega


@dataclass(frozen=True)
class Softmax(Linear):
    """y = softmax(beta h) by rows, beta > 0: h up to one constant, for every beta. Observed is h from log y: y itself rounds to
    zero where beta times a difference of scores exceeds 745."""

    beta: float = 1.0
    shift_free = True

    @property
    def equations(self) -> int:
        """K = M^2 + M - 2: the output does not determine the constant."""
        return self.tokens**2 + self.tokens - 2

    def output(self, h):
        """softmax(beta h) by rows of scores h (n, M, M)."""
        return attention(h, self.beta)

    def distance(self, mixing, nodes):
        """As in `Posterior`, a mean over `nodes` of `score_law.row_nodes`; A = `mixing` (2, 2)."""
        return softmax_distance(self.tokens, self.beta, mixing, nodes)

    def observe(self, h, generator=None):
        """h up to a constant, from log y of scores h (n, M, M): array of the same shape. Nothing is random, `generator` is not
        used."""
        logs = log_attention(h, self.beta)
        # log y = beta h up to a constant by row; the symmetry of h determines the differences of the constants.
        logs += np.mean(logs.transpose(0, 2, 1) - logs, axis=2, keepdims=True)
        return 0.5 * (logs + logs.transpose(0, 2, 1)) / self.beta

    def _residual(self, observed, omega):
        return centred(observed, omega)


def centred(observed: np.ndarray, omega: np.ndarray, groups: int = 1) -> np.ndarray:
    """`observed` - `omega`, both (n, M, M), minus its mean over all entries, or over each of `groups` = M rows."""
    residual = observed - omega
    flat = residual.reshape(len(residual) * groups, -1)
    # A product with ones is faster than a mean over a short axis.
    flat -= (flat @ np.full(flat.shape[1], 1.0 / flat.shape[1]))[:, None]
    return residual


def squares(array: np.ndarray) -> float:
    """The sum of the squares of an `array` (...)."""
    flat = array.ravel()
    return float(flat @ flat)


def softmax_distance(tokens: int, beta: float, mixing: np.ndarray, nodes: np.ndarray) -> tuple[float, float]:
    """E ||f(h) - f(h')||_F^2 of a softmax at M = `tokens` and `beta`, and its standard error over the scramblings.

    A = `mixing` (2, 2), `nodes` of `row_nodes`. Both are NaN where fewer than `FEWEST_NODES` effective nodes carry the mean.
    """
    pair = beta * np.tensordot(mixing, nodes, axes=1)
    # The entry of the diagonal has the exponent zero.
    largest = np.maximum(pair.max(axis=1, keepdims=True), 0.0)
    others, diagonal = np.exp(pair - largest), np.exp(-largest)
    total = others.sum(axis=1, keepdims=True) + diagonal
    difference, first = np.diff(others / total, axis=0)[0], np.diff(diagonal / total, axis=0)[0]
    values = np.sum(difference**2, axis=0) + first[0] ** 2
    if np.any(values) and values.sum() ** 2 < FEWEST_NODES * np.sum(values**2):
        return np.nan, np.nan
    means = tokens * values.mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))
