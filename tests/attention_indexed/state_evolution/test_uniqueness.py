"""Certificates of uniqueness: conditions on both factors, the curve itself, or neither."""

import numpy as np
import pytest
from channels_of_files import NoiselessShape, ShapeOfScore, Size

from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.channels.output import GaussianNoise
from attention_limits.attention_indexed.channels.sampled import SampledChannel
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.priors.invariant import Invariant
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.spectra import of_values
from attention_limits.attention_indexed.priors.wishart import SmallWidth, Wishart
from attention_limits.attention_indexed.state_evolution.phases import phases
from attention_limits.attention_indexed.state_evolution.uniqueness import FACTORS, FOLLOWED, SEVERAL, uniqueness

PRIORS = [Wishart(1e-9), Wishart(0.5), Wishart(100.0), SmallWidth(), Invariant(of_values([0.0, 0.0, 0.0, 0.2, 9.0]))]
CHANNELS = [
    make_channel("linear", 2), make_channel("linear", 64, noise=1e-9), make_channel("softmax", 3), make_channel("hardmax", 2),
    make_channel("hardmax", 3),
]  # fmt: skip


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("channel", CHANNELS, ids=str)
def test_provided_channels_are_unique_at_every_alpha(channel, prior):
    found = uniqueness(phases(channel, prior))
    assert found.by == FACTORS
    assert max(found.denoiser, found.channel) <= 1e-6


@pytest.mark.parametrize("name", ["linear", "softmax", "hardmax"])
def test_untied_channels_are_unique_at_every_alpha(name):
    assert uniqueness(phases(make_channel(name, 2, untied=True), Product(0.3))).by == FACTORS


def test_a_hidden_sign_makes_several():
    """The share that |h_12| explains falls to zero at Q = 1, and to 2 % of its largest value at rho = .05."""
    found = uniqueness(phases(SampledChannel(Size(2, 0.0, 0.01)), 0.05))
    assert found.by == SEVERAL
    assert found.channel > 0.5
    assert found.denoiser <= 1e-6


def test_a_sign_with_noise_is_unique():
    assert uniqueness(phases(SampledChannel(GaussianNoise(NoiselessShape(2, "sign"), 0.3)), 0.5)).by == FACTORS


class Falling:
    """V information rises up to V = .4 and falls by a few percent beyond, where V / D falls faster."""

    tokens, law, equations, ties, closed_form = 2, SYMMETRIC, None, None, True

    def uncertainty(self, V, Q):
        return 0.0

    def information(self, V, Q):
        return (1.3 - 0.3 * V) / (V + 0.05)


def test_a_curve_that_falls_is_followed_where_a_factor_does_not():
    found = uniqueness(phases(Falling(), 1.0))
    assert found.by == FOLLOWED
    assert 0.01 < found.channel < 0.2


def test_an_information_that_is_not_known_certifies_nothing():
    assert np.isnan(uniqueness(phases(SampledChannel(ShapeOfScore(2, "size", 0.3, 0.01)), 0.05)).by)
