"""Sampled posteriors with a compiled likelihood, against NumPy and against the exact posterior."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from attention_limits.attention_indexed.channels.output import GaussianNoise, OutputChannel
from attention_limits.attention_indexed.channels.sampled import SampledChannel

pytestmark = pytest.mark.slow


def softmax(h):
    weights = np.exp(h - h.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@dataclass(frozen=True)
class Softmax(OutputChannel):
    def output(self, h):
        return softmax(h)


@dataclass(frozen=True)
class Pair(OutputChannel):
    """Two numbers; one of them hides the sign of a score."""

    def output(self, h):
        return np.stack([np.abs(h[..., 0, 1] + 0.3), np.tanh(h[..., 1, 1] - h[..., 0, 0])], axis=-1)


@dataclass(frozen=True)
class Sign(OutputChannel):
    """The sign of a score: the likelihood is zero or one."""

    def output(self, h):
        return np.sign(h[..., 0, 1])

    def log_likelihood(self, observed, h):
        return np.where(self.output(h) == observed[:, None], 0.0, -np.inf)


@dataclass(frozen=True)
class TopTwo(OutputChannel):
    def output(self, h):
        second = np.sort(h, axis=-1)[..., -2, None]
        return softmax(np.where(h >= second, h, -np.inf))


@dataclass(frozen=True)
class NextToken(OutputChannel):
    """A token drawn from the softmax of the last row."""

    def output(self, h):
        return softmax(h[..., -1, :])

    def draw(self, h, generator):
        passed = generator.random((len(h), 1)) > np.cumsum(self.output(h), axis=-1)
        return np.minimum(passed.sum(axis=-1), self.tokens - 1)

    def log_likelihood(self, observed, h):
        return np.log(np.take_along_axis(self.output(h), observed[:, None, None], axis=-1)[..., 0])


@dataclass(frozen=True)
class Branch(Softmax):
    def output(self, h):
        return softmax(h) if h.sum() > -np.inf else h


CHANNELS = {
    "softmax": lambda: GaussianNoise(Softmax(3), 0.3),
    # Most outputs need several proposals.
    "softmax with little noise": lambda: GaussianNoise(Softmax(3), 1e-3),
    "a hidden sign": lambda: GaussianNoise(Pair(2), 0.1),
    "six tokens": lambda: GaussianNoise(Softmax(6), 0.5),
    "a sign": lambda: Sign(2),
    "a position": lambda: NextToken(3),
    "the largest two": lambda: GaussianNoise(TopTwo(3), 0.3),
}


def problem(model, V, count=60):
    channel, rng = SampledChannel(model), np.random.default_rng(1)
    entries = rng.standard_normal((2, count, model.tokens * (model.tokens + 1) // 2))
    omega = np.sqrt(1.0 - V) * channel._matrix(entries[0])
    return channel, channel.observe(omega + np.sqrt(V) * channel._matrix(entries[1]), rng), omega


@pytest.mark.parametrize("V", [0.05, 0.7])
@pytest.mark.parametrize("name", CHANNELS)
def test_means_are_those_of_numpy(monkeypatch, name, V):
    model = CHANNELS[name]()
    channel, observed, omega = problem(model, V)
    assert channel.likelihood(observed)[1] == ""
    compiled = channel.deviations(observed, omega, V)
    monkeypatch.setattr(SampledChannel, "likelihood", lambda self, observed: (None, ""))
    for found, expected in zip(compiled, channel.deviations(observed, omega, V), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_the_mean_given_a_sign_is_that_of_a_cut_normal_law():
    """E[h | sign] of one score; two scramblings of 128 nodes have errors of a few percent of one."""
    V = 0.7
    channel, observed, omega = problem(Sign(2), V, count=400)
    first, second, effective = channel.deviations(observed, omega, V)
    kappa = observed * omega[:, 0, 1] / np.sqrt(V)
    expected = observed * np.exp(norm.logpdf(kappa) - norm.logcdf(kappa))
    resolved = effective > 20.0
    assert resolved.mean() > 0.9
    error = (0.5 * (first + second)[:, 0, 1] - expected)[resolved]
    assert np.sqrt(np.mean(error**2)) < 0.05
    assert abs(error.mean()) < 0.02


@pytest.mark.parametrize("model", [GaussianNoise(Branch(2), 0.2), GaussianNoise(Softmax(2), 0.2)])
def test_what_cannot_be_compiled_stays_in_numpy(monkeypatch, model):
    channel, observed, omega = problem(model, 0.5)
    if isinstance(model.clean, Branch):
        assert "bool" in channel.likelihood(observed)[1]
    else:
        monkeypatch.setitem(sys.modules, "attention_limits.numerics.tracing.node_loop", None)
        assert channel.likelihood(observed)[1] == "JAX, of the extra `training`, is not installed"
    other, _, _ = problem(GaussianNoise(Softmax(2), 0.2), 0.5)
    for found, expected in zip(
        channel.deviations(observed, omega, 0.5), other.deviations(observed, omega, 0.5), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
