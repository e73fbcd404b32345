"""Certificates of uniqueness: conditions on both factors, the curve itself, or neither."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from channels_of_files import NoiselessShape, Size

from attention_limits.attention_indexed.channels.loading import load_channel, make_channel
from attention_limits.attention_indexed.channels.output import GaussianNoise
from attention_limits.attention_indexed.channels.sampled import SampledChannel
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.priors.invariant import Invariant
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.spectra import of_values
from attention_limits.attention_indexed.priors.wishart import SmallWidth, Wishart
from attention_limits.attention_indexed.state_evolution.phases import phases
from attention_limits.attention_indexed.state_evolution.uniqueness import FACTORS, FOLLOWED, SEVERAL, uniqueness
from attention_limits.pipeline.experiments.project import load_project

ROOT = Path(__file__).parents[3]
OF_ONE_LAYER = ("state_evolution", "small_width_limit", "matrix_amp", "matrix_amp_sizes")

PRIORS = {
    "narrow": Wishart(1e-9),
    "half": Wishart(0.5),
    "wide": Wishart(100.0),
    "limit": SmallWidth(),
    "spikes": Invariant(of_values([0.0, 0.0, 0.0, 0.2, 9.0])),
}
CHANNELS = {
    "linear": make_channel("linear", 2),
    "noisy linear": make_channel("linear", 64, noise=1e-9),
    "softmax": make_channel("softmax", 3),
    "hardmax": make_channel("hardmax", 2),
    "hardmax of three": make_channel("hardmax", 3),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_provided_channels_are_unique_at_every_alpha(channel, prior):
    found = uniqueness(phases(CHANNELS[channel], PRIORS[prior]))
    assert found.by == FACTORS
    assert max(found.denoiser, found.channel) <= 1e-6


@pytest.mark.parametrize("name", ["linear", "softmax", "hardmax"])
def test_untied_channels_are_unique_at_every_alpha(name):
    assert uniqueness(phases(make_channel(name, 2, untied=True), Product(0.3))).by == FACTORS


def test_a_hidden_sign_makes_several():
    """The share that |h_12| explains falls to zero at Q = 1, and to 2 % of its largest value at rho = 0.05."""
    found = uniqueness(phases(SampledChannel(Size(2, 0.0, 0.01)), 0.05))
    assert found.by == SEVERAL
    assert found.channel > 0.5
    assert found.denoiser <= 1e-6


def test_a_sign_with_noise_is_unique():
    assert uniqueness(phases(SampledChannel(GaussianNoise(NoiselessShape(2, "sign"), 0.3)), 0.5)).by == FACTORS


class Falling:
    """V information rises up to V = 0.4 and falls by a few percent beyond, where V / D falls faster."""

    tokens, law, equations, ties, closed_form = 2, SYMMETRIC, None, None, True

    def uncertainty(self, V, Q):
        return 0.0

    def information(self, V, Q):
        return (1.3 - 0.3 * V) / (V + 0.05)


def test_a_curve_that_falls_is_followed_where_a_factor_does_not():
    found = uniqueness(phases(Falling(), 1.0))
    assert found.by == FOLLOWED
    assert 0.01 < found.channel < 0.2


class Unknown(Falling):
    """The same, sampled, and not resolved between V = 0.1 and V = 0.2."""

    closed_form = False

    def uncertainty(self, V, Q):
        return np.where((np.asarray(V) > 0.1) & (np.asarray(V) < 0.2), np.nan, 0.01)

    def small_errors(self, Q):
        return 0.0, 0.0

    def least(self, Q):
        return 1e-4

    def resolved(self, low, high, Q):
        return not (low < 0.2 and high > 0.1)


def test_an_information_that_is_not_known_certifies_nothing():
    assert np.isnan(uniqueness(phases(Unknown(), 1.0)).by)


def models():
    """The different models of all curves of one layer in `config/`, except those of the published hardmax, no posterior."""
    experiments = load_project(ROOT, {"scale": "laptop", "families": "all"}).experiments["attention_indexed"].values()
    found = {}
    for experiment in experiments:
        for part in (part for name, part in experiment.estimators.items() if name in OF_ONE_LAYER):
            scanned = {key: part.grid[key] for key in ("ratio", "tokens", "output_noise") if key in part.grid}
            for values in itertools.product(*scanned.values()):
                model = {**part.model, **dict(zip(scanned, values, strict=True))}
                if model["channel"] != "hardmax_published":
                    found[str(sorted(model.items()))] = model
    return list(found.values())


@pytest.mark.slow
def test_every_curve_of_one_layer_is_bayes_optimal():
    """Figures call all of them Bayes-optimal."""
    channels, wrong = {}, []
    for model in models():
        key = str({name: value for name, value in model.items() if name not in ("ratio", "spectrum", "aspect")})
        channel = channels.setdefault(key, None) or load_channel(model, ROOT)
        channels[key] = channel
        found = uniqueness(phases(channel, SmallWidth() if model["ratio"] == 0 else load_prior(model, ROOT)))
        wrong += [(model, found)] if found.by != FACTORS else []
    assert len(channels) > 10
    assert not wrong
