"""Channels of a file, right and wrong, for the tests of channels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attention_limits.attention_indexed.channels.output import OutputChannel
from attention_limits.pipeline.base.user_files import execute


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


# The channels of the experiments phases_size, phases_shifted_size and sizes_next_token.
_CHANNELS = Path(__file__).parents[2] / "config/attention_indexed/channels"
Size = execute(_CHANNELS / "size.py").Size
NextToken = execute(_CHANNELS / "next_token.py").NextToken


@dataclass(frozen=True)
class ShapeOfScore(OutputChannel):
    """y = f(h_12 + shift) + sqrt(spread) Z by its likelihood; f is the size, the square or the sign."""

    shape: str = "size"
    shift: float = 0.0
    spread: float = 0.1

    def output(self, h):
        score = h[..., 0, 1] + self.shift
        return {"size": np.abs, "square": np.square, "sign": np.sign}[self.shape](score)

    def draw(self, h, generator):
        return self.output(h) + np.sqrt(self.spread) * generator.standard_normal(len(h))

    def log_likelihood(self, observed, h):
        return -((observed[:, None] - self.output(h)) ** 2) / (2.0 * self.spread)


@dataclass(frozen=True)
class NoiselessShape(OutputChannel):
    """The output of `ShapeOfScore` alone: it needs output noise."""

    shape: str = "size"
    shift: float = 0.0

    def output(self, h):
        return ShapeOfScore(self.tokens, self.shape, self.shift).output(h)


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
