"""Every provided channel and channels of a user pass all checks of `check_channel`; each check finds a channel that breaks it.

A correct channel fails each of its statistical checks, about twenty, with the probability 1e-4; the seeds are fixed.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from attention_limits.attention_indexed.channels.linear import Linear, Softmax
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.channels.protocol import Gradient
from attention_limits.attention_indexed.reports.check_channel import check_channel

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[1] / "channels_of_files.py"
CONFIG = Path(__file__).parents[3] / "config/attention_indexed/channels/next_token.py"
PROVIDED = [
    {"channel": name, "tokens": tokens, "untied": untied, "beta": beta}
    for name in ("linear", "softmax", "hardmax")
    for untied in (False, True)
    for tokens, beta in ((2, 1.0), (3, 4.0) if name == "softmax" else (3, 1.0))
]
NOISY = [
    {"channel": name, "tokens": 2, "untied": untied, "output_noise": 0.4}
    for name, untied in (("linear", False), ("linear", True), ("softmax", False), ("hardmax", False))
]
OF_USERS = [
    {"channel": f"{CONFIG}:NextToken", "tokens": 3, "parameters": {"sharpness": 2.0}},
    {"channel": f"{FILE}:FirstScore", "tokens": 2},
    {"channel": f"{FILE}:NoisyFirstScore", "tokens": 2},
    {"channel": f"{FILE}:Size", "tokens": 2, "parameters": {"spread": 0.1}},
    {"channel": f"{FILE}:OwnSoftmax", "tokens": 2, "output_noise": 0.1},
]


def label(model):
    return " ".join(str(value).rpartition(":")[2] for value in model.values())


def failed(found):
    return {check.name for check in found if check.failed}


@pytest.mark.parametrize("model", [*PROVIDED, *NOISY, *OF_USERS], ids=label)
def test_channels_pass_all_checks(model):
    found = check_channel(load_channel(model, Path()))
    assert [str(check) for check in found if not check.passed] == []
    assert len(found) > 20


def test_the_published_hardmax_has_no_posterior_to_check():
    assert check_channel(load_channel({"channel": "hardmax_published", "tokens": 2}, Path())) == []


@pytest.mark.parametrize(
    ("name", "parameters"), [("HalfPosterior", {}), ("NoisyFirstScore", {"claimed": 0.25}), ("WrongShape", {})]
)
def test_wrong_channels_of_users_fail(name, parameters):
    """The smaller violation of the identity is 16 standard errors."""
    channel = load_channel({"channel": f"{FILE}:{name}", "tokens": 2, "parameters": parameters}, Path())
    names = failed(check_channel(channel, seed=1))
    assert any(words in text for text in names for words in ("Nishimori identity with posterior mean", "problems"))


class Half(Linear):
    """The gradient of twice the variance."""

    def gradient(self, observed, omega, V):
        return super().gradient(observed, omega, 2.0 * V)


class Skewed(Linear):
    """A gradient that is not symmetric."""

    def gradient(self, observed, omega, V):
        found = super().gradient(observed, omega, V)
        return replace(found, G=found.G * np.array([[1.0, 1.1], [1.0, 1.0]]))


class Cut(Linear):
    """A gradient of the wrong shape."""

    def gradient(self, observed, omega, V):
        found = super().gradient(observed, omega, V)
        return Gradient(found.G[:, :1], found.power)


class Missing(Linear):
    """No posterior for some outputs."""

    def gradient(self, observed, omega, V):
        found = super().gradient(observed, omega, V)
        found.G[::20] = np.nan
        return found


class Constant(Linear):
    """A posterior mean that is off by a constant."""

    def gradient(self, observed, omega, V):
        found = super().gradient(observed, omega, V)
        return replace(found, G=found.G + 0.2)


class Power(Linear):
    """Another power than that of its gradient."""

    def gradient(self, observed, omega, V):
        found = super().gradient(observed, omega, V)
        return replace(found, power=1.2 * found.power)


class Informed(Linear):
    """More information than its gradient."""

    def information(self, V, Q):
        return 1.2 * super().information(V, Q)


class Wide(Linear):
    """A variance that is too large."""

    def variance(self, observed, omega):
        return 1.2 * super().variance(observed, omega)


class Far(Softmax):
    """Outputs that are further apart than stated."""

    def distance(self, mixing, nodes):
        mean, error = super().distance(mixing, nodes)
        return 0.8 * mean, error


class Scales(Linear):
    """The scale of the scores is in the output, against the declaration; so is a constant."""

    scale_free = shift_free = True

    def observe(self, h, generator=None):
        return h**3

    def gradient(self, observed, omega, V):
        return super().gradient(np.cbrt(observed) + 0.1, omega, V)


class Ties(Linear):
    """The law of ties, with the information of equations."""

    equations, ties = None, 1.0

    def information(self, V, Q):
        return 6.0 / V

    def variance(self, observed, omega):
        return None


BROKEN = {
    "Nishimori identity with posterior mean, q = 1, V = 0.5": Half(2),
    "gradient minus its transpose, q = 1, V = 0.5": Skewed(2),
    "wrong shapes of the posterior, q = 1, V = 0.5": Cut(2),
    "share of unresolved posteriors, q = 1, V = 0.5": Missing(2),
    "Nishimori identity with one, q = 1, V = 0.5": Constant(2),
    "4 sum G^2, q = 1, V = 0.5": Power(2),
    "information, q = 1, V = 0.5": Informed(2),
    "information minus K / V": Informed(2),
    "variance from the outputs over V, q = 1, V = 0.5": Wide(2),
    "distance of two outputs": Far(2),
    "gradient, change with the scale of the scores": Scales(2),
    "gradient, change with a constant in the scores": Scales(2),
    "sum of the gradient": Scales(2),
    "information sqrt(V Q) at small V": Ties(2),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_channel_fails(name):
    assert name in failed(check_channel(BROKEN[name]))


class Following(Linear):
    """A posterior mean that follows omega."""

    def gradient(self, observed, omega, V):
        found = super().gradient(observed, omega, V)
        return replace(found, G=found.G + 0.1 * omega)


@pytest.mark.parametrize("weight", ["omega", "omega |omega|"])
def test_a_posterior_that_follows_omega_fails(weight):
    assert f"Nishimori identity with {weight}, q = 1, V = 0.5" in failed(check_channel(Following(2)))
