"""Channels of a file, right and wrong, for the tests of channels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import log_ndtr

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


@dataclass(frozen=True)
class Size(OutputChannel):
    """y = |h_12 + shift| + sqrt(spread) Z with its exact posterior: the curve turns, because the sign is hidden at first."""

    shift: float = 0.0
    spread: float = 0.0

    def output(self, h):
        return np.abs(h[..., 0, 1] + self.shift)

    def draw(self, h, generator):
        return self.output(h) + np.sqrt(self.spread) * generator.standard_normal(len(h))

    def posterior(self, observed, omega, V):
        centre, mean = omega[:, 0, 1] + self.shift, omega.copy()
        if self.spread == 0:
            found = observed * np.tanh(observed * centre / V)
        else:
            # Each sign: a normal size, given y, restricted to be positive.
            total, signs = V + self.spread, np.array([1.0, -1.0])[:, None]
            middle = (signs * centre * self.spread + observed * V) / total
            width = np.sqrt(V * self.spread / total)
            below = log_ndtr(middle / width)
            size = middle + width * np.exp(-0.5 * (middle / width) ** 2 - below) / np.sqrt(2.0 * np.pi)
            weights = below - 0.5 * (observed - signs * centre) ** 2 / total
            weights = np.exp(weights - weights.max(axis=0))
            found = np.sum(signs * size * weights, axis=0) / weights.sum(axis=0)
        mean[:, 0, 1] = mean[:, 1, 0] = found - self.shift
        return mean


@dataclass(frozen=True)
class SampledSize(Size):
    """The same output without the method `posterior`: it needs output noise, and is sampled."""

    posterior = None


# The channel of the experiment sizes_next_token.
NextToken = execute(Path(__file__).parents[2] / "config/attention_indexed/channels/next_token.py").NextToken


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
