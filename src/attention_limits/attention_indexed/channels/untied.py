"""Channels of untied attention: scores h_ab = x_a^T S z_b / sqrt(d) without symmetry (`score_law.UNSYMMETRIC`).

All M^2 scores are independent given the data, of variance V. With g_ab the derivative of log P(y) with respect to omega_ab,

    G = E[h - omega | y] / (2 V) = g / 2,    information(V, Q) = E sum_ab g_ab^2 = E 4 sum_ab G_ab^2,

the precision gained per sample and d^2. The n samples determine each entry of S with the precision n E sum g_ab^2 / d, and noise
of the variance D / d has the precision d / D. So state evolution and message passing are those of symmetric S (Boncoraglio,
Troiani, Erba, Zdeborova 2025, arXiv:2506.01582), with other information and another denoiser.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.linear import Linear, Softmax, centred
from attention_limits.attention_indexed.model.score_law import UNSYMMETRIC
from attention_limits.attention_indexed.model.scores import log_attention


@dataclass(frozen=True)
class UntiedLinear(Linear):
    """y = h, of M = `tokens` tokens: a `Posterior`."""

    law = UNSYMMETRIC

    @property
    def equations(self) -> int:
        """K = M^2."""
        return self.tokens**2


@dataclass(frozen=True)
class UntiedNoisyLinear(UntiedLinear):
    """y = h + sqrt(noise) Z, noise > 0, Z standard normal: a `Posterior`. V + noise takes the place of V."""

    noise: float = 1.0

    @property
    def equations(self) -> None:
        """None: no number of samples makes the error zero."""
        return None

    def information(self, V, Q):
        """M^2 / (V + noise) at posterior variance V (...), for every prior variance Q."""
        return self.tokens**2 / (V + self.noise)

    def observe(self, h, generator):
        """y of scores h (n, M, M), array of the same shape, with noise from the numpy.random.Generator `generator`."""
        return h + np.sqrt(self.noise) * generator.standard_normal(h.shape)

    def gradient(self, observed, omega, V):
        """G = (y - omega) / (2 V + 2 noise) given outputs `observed` y and omega, both (n, M, M)."""
        return super().gradient(observed, omega, V + self.noise)

    def variance(self, observed, omega):
        """None: the residual of `observed` and omega, both (n, M, M), is mostly noise."""
        return None


@dataclass(frozen=True)
class UntiedSoftmax(Softmax):
    """y = softmax(beta h) by rows, beta > 0. Each row determines its scores up to one constant, for every beta."""

    law = UNSYMMETRIC

    @property
    def equations(self) -> int:
        """K = M (M - 1): the output does not determine the M constants."""
        return self.tokens * (self.tokens - 1)

    def observe(self, h, generator=None):
        """h up to a constant by row, from log y of scores h (n, M, M): array of the same shape. Nothing is random, `generator`
        is not used."""
        return log_attention(h, self.beta) / self.beta

    def _residual(self, observed, omega):
        return centred(observed, omega, self.tokens)
