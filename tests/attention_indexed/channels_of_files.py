"""Channels of a file, right and wrong, for the tests of channels."""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.output_channel import OutputChannel


@dataclass(frozen=True)
class FirstScore(OutputChannel):
    """y = h_11 exactly; the other scores stay at omega."""

    def output(self, h):
        return h[..., 0, 0]

    def posterior(self, observed, omega, V):
        mean = omega.copy()
        mean[:, 0, 0] = observed
        return mean


@dataclass(frozen=True)
class NoisyFirstScore(OutputChannel):
    """y = h_11 + sqrt(spread) Z by its likelihood; `claimed` is the spread that the likelihood takes."""

    spread: float = 0.5
    claimed: float = 0.5

    def output(self, h):
        return h[..., 0, 0]

    def draw(self, h, generator):
        return h[:, 0, 0] + np.sqrt(self.spread) * generator.standard_normal(len(h))

    def log_likelihood(self, observed, h):
        return -((observed[:, None] - h[..., 0, 0]) ** 2) / (2.0 * self.claimed)


@dataclass(frozen=True)
class NextToken(OutputChannel):
    """y in {0, ..., T - 1} drawn from the softmax of sharpness * the last row of h."""

    sharpness: float = 1.0

    def output(self, h):
        row = self.sharpness * h[..., -1, :]
        weights = np.exp(row - row.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def draw(self, h, generator):
        below = generator.random((len(h), 1)) > np.cumsum(self.output(h), axis=-1)
        return np.minimum(below.sum(axis=-1), self.tokens - 1)

    def log_likelihood(self, observed, h):
        return np.log(np.take_along_axis(self.output(h), observed[:, None, None], axis=-1)[..., 0])


@dataclass(frozen=True)
class HalfPosterior(FirstScore):
    """A posterior mean that moves half of the way."""

    def posterior(self, observed, omega, V):
        return 0.5 * (omega + super().posterior(observed, omega, V))


@dataclass(frozen=True)
class OwnSoftmax(OutputChannel):
    """The softmax of each row, only an output."""

    def output(self, h):
        weights = np.exp(h - h.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)


class OfTheBatch(OwnSoftmax):
    """An output that depends on the other sequences."""

    def output(self, h):
        return h - h.mean(axis=0)


class WrongShape(NextToken):
    """A likelihood of the wrong shape."""

    def log_likelihood(self, observed, h):
        return super().log_likelihood(observed, h)[:, 0]


NUMBER = 3
