"""Outputs of one score with Gaussian noise: closed forms, and what such an output is."""

from dataclasses import dataclass

import numpy as np
import pytest
from channels_of_files import NoiselessShape, OwnSoftmax
from scipy.stats import multivariate_normal

from attention_limits.attention_indexed.channels.one_score import one_entry, share_explained
from attention_limits.attention_indexed.channels.output import GaussianNoise, OutputChannel
from attention_limits.attention_indexed.channels.sampled import SampledChannel

V, Q = np.array([1.5, 1.4, 0.7, 0.1, 1e-3, 1.5e-4]), 1.5


@dataclass(frozen=True)
class Entry(OutputChannel):
    """One score."""

    first: int = 0
    second: int = 1

    def output(self, h):
        return h[..., self.first, self.second]


@dataclass(frozen=True)
class RareGate(Entry):
    """One score, and another one where a third is large."""

    def output(self, h):
        return np.where(h[..., 1, 1] > 3.5, h[..., 0, 0], h[..., 0, 1])


@pytest.mark.parametrize(("entry", "variance"), [((0, 1), 1.0), ((2, 0), 1.0), ((1, 1), 2.0)])
@pytest.mark.parametrize("noise", [0.01, 1000.0])
def test_a_score_with_noise_has_the_share_of_a_gaussian_channel(entry, variance, noise):
    """2 v V / (v V + noise), v = 2 on the diagonal, within the stated bound."""
    found, bound = share_explained(GaussianNoise(Entry(3, *entry), noise), V, Q)
    expected = 2.0 * variance * V / (variance * V + noise)
    assert np.all(np.abs(found / expected - 1.0) <= bound + 1e-6)
    assert np.all(bound < 1e-3)
    channel = SampledChannel(GaussianNoise(Entry(3, *entry), noise))
    inside = np.array([1.2, 0.5, 0.05, 2e-3])
    np.testing.assert_allclose(
        channel.information(inside, Q) * inside, 2.0 * variance * inside / (variance * inside + noise), rtol=0.02
    )


def test_a_sign_with_little_noise_tells_as_much_as_the_sign():
    """E[h | sign]^2 at V = Q: 2 x 2 / pi of the variance. With data, correlation c = V / Q: E 2 phi(k)^2 / (Phi(k) Phi(-k)),
    k of variance (Q - V) / V, by a trapezoidal rule. Noise of a tenth of the size of the output hides one in 1e23."""
    found, bound = share_explained(GaussianNoise(NoiselessShape(2, "sign"), 0.01), V[:4], Q)
    x = np.linspace(-8.0, 8.0, 20001)
    density = multivariate_normal.pdf(x)
    expected = []
    for variance in V[:4]:
        k = np.sqrt((Q - variance) / variance) * x
        low = multivariate_normal.cdf(np.minimum(k, -k)[:, None])
        share = np.where(np.abs(k) < 8.0, multivariate_normal.pdf(k) ** 2 / np.maximum(low * (1.0 - low), 1e-40), 0.0)
        expected.append(2.0 * np.trapezoid(density * share, x))
    assert expected[0] == pytest.approx(4.0 / np.pi)
    assert np.all(np.abs(found / expected - 1.0) <= bound + 1e-6)
    assert np.all(bound < 0.06)


def test_outputs_of_more_scores_or_numbers_are_sampled():
    assert one_entry(Entry(3, 2, 1)) == (1, 2)
    assert one_entry(NoiselessShape(4, "square")) == (0, 1)
    assert one_entry(RareGate(2)) is None
    assert one_entry(OwnSoftmax(2)) is None
    assert share_explained(GaussianNoise(RareGate(2), 0.1), V, Q) is None
    # Noise below the grid of outputs.
    assert share_explained(GaussianNoise(Entry(2), 1e-9), V, Q) is None
    # Without the key `output_noise` there is no integral.
    assert share_explained(Entry(2), V, Q) is None


def test_a_hidden_sign_gives_no_information_without_data():
    found, bound = share_explained(GaussianNoise(NoiselessShape(2), 0.01), np.array([Q, 0.99 * Q]), Q)
    assert found[0] == bound[0] == 0.0
    assert found[1] > 0.0
