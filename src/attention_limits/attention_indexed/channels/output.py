"""Channels given by an output function or a likelihood, as a file of the user defines them; nothing in this module compiles.

A class derived from `OutputChannel` gives the output f(h) and one of

    log_likelihood(y, h) = log P(y | h) up to terms of y alone, with `draw` where y is random;
    posterior(y, omega, V) = E[h | y], exact, for h symmetric about omega with variance 2 V on the diagonal and V off it.

Without both, the channel needs output noise: y = f(h) + sqrt(noise) Z, Z standard normal for each entry of the output. This is
the setting of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582) with any output.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.model.scores import over_last


@dataclass(frozen=True)
class OutputChannel:
    """An output of the symmetric scores h of M = `tokens` tokens. Derive a frozen dataclass; its fields are the parameters."""

    tokens: int

    def output(self, h: np.ndarray) -> np.ndarray:
        """The mean output given scores h (..., M, M): array (..., any shape). Generalisation errors are its distances."""
        raise NotImplementedError

    def draw(self, h: np.ndarray, generator) -> np.ndarray:
        """Outputs y (n, ...) of scores h (n, M, M), random from the numpy `generator`; without override f(h) itself."""
        return self.output(h)


# The two descriptions of the information in an output.
LIKELIHOOD, POSTERIOR = "log_likelihood", "posterior"


def described_by(channel) -> str | None:
    """How a channel describes the information in its output: `POSTERIOR` before `LIKELIHOOD`; None for neither."""
    return next((name for name in (POSTERIOR, LIKELIHOOD) if callable(getattr(channel, name, None))), None)


@dataclass(frozen=True)
class GaussianNoise:
    """y = f(h) + sqrt(noise) Z, f the output of the channel `clean`, noise > 0, Z standard normal: has a log-likelihood."""

    clean: object
    noise: float

    @property
    def tokens(self) -> int:
        """M."""
        return self.clean.tokens

    def output(self, h):
        """f(h) of scores h (..., M, M), without the noise."""
        return self.clean.output(h)

    def draw(self, h, generator):
        """Outputs (n, ...) of scores h (n, M, M), with noise from the numpy `generator`."""
        clean = self.clean.output(h)
        return clean + np.sqrt(self.noise) * generator.standard_normal(clean.shape)

    def log_likelihood(self, observed, h):
        """-||y - f(h)||^2 / (2 noise), (n, S), of `observed` y (n, ...) and scores h (n, S, M, M)."""
        squares = (observed[:, None] - self.clean.output(h)) ** 2
        return over_last(np.add, squares.reshape(*squares.shape[:2], -1)) / (-2.0 * self.noise)
