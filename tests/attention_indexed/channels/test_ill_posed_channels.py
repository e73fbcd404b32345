"""An ill-posed channel of a file is refused by its quick check with an example."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

from attention_limits.attention_indexed.channels.files import problems_of
from attention_limits.attention_indexed.channels.output import GaussianNoise, OutputChannel

STREAM = np.random.default_rng(0)


@dataclass(frozen=True)
class Sound(OutputChannel):
    """y = h_12 + N(0, 1)."""

    def output(self, h):
        return h[..., 0, 1].copy()

    def draw(self, h, generator):
        return h[:, 0, 1] + generator.standard_normal(len(h))

    def log_likelihood(self, observed, h):
        return -0.5 * (observed[:, None] - h[..., 0, 1]) ** 2


@dataclass(frozen=True)
class Coin(OutputChannel):
    """y = 1 with the probability (1 + tanh h_12) / 2, else 0, and a likelihood with these factors."""

    ones: float = 1.0
    sign: float = 1.0

    def output(self, h):
        return np.tanh(h[..., 0, 1])

    def draw(self, h, generator):
        return (generator.random(len(h)) < 0.5 + 0.5 * self.output(h)).astype(int)

    def log_likelihood(self, observed, h):
        probability = 0.5 + 0.5 * self.sign * self.output(h)
        return np.where(observed[:, None] == 1, np.log(self.ones * probability), np.log(1.0 - probability))


def changed(self, h):
    h += 1.0
    return h[..., 0, 1].copy()


def overwritten(self, observed, h):
    values = Sound.log_likelihood(self, observed, h)
    h *= 0.0
    return values


@dataclass(frozen=True)
class Sign(OutputChannel):
    """y = sign h_12, with its posterior mean times a factor; the factor one is right."""

    factor: float = 1.0

    def output(self, h):
        return np.sign(h[..., 0, 1])

    def posterior(self, observed, omega, V):
        place = observed * omega[:, 0, 1] / np.sqrt(V)
        moved = self.factor * observed * np.sqrt(V) * np.exp(norm.logpdf(place) - norm.logcdf(place))
        mean = omega.copy()
        mean[:, 0, 1] += moved
        mean[:, 1, 0] += moved
        return mean


@dataclass(frozen=True)
class Rows(OutputChannel):
    """The first row of scores with noise, and the likelihood of another row."""

    row: int = 0

    def output(self, h):
        return h[..., 0, :].copy()

    def draw(self, h, generator):
        return h[:, 0] + 0.5 * generator.standard_normal(h[:, 0].shape)

    def log_likelihood(self, observed, h):
        return -2.0 * np.sum((observed[:, None] - h[..., self.row, :]) ** 2, axis=-1)


ILL_POSED = {
    "the output does not depend on the scores: h = [[": {
        "output": lambda self, h: np.zeros(h.shape[:-2]), "draw": lambda self, h, generator: generator.standard_normal(len(h)),
    },
    "log_likelihood does not depend on the scores": {"log_likelihood": lambda self, y, h: np.zeros(h.shape[:2])},
    "output must be finite: h = [[": {"output": lambda self, h: np.log(h[..., 0, 1])},
    "output must be real numbers (n = 32, ...), got complex128": {"output": lambda self, h: 1j * h[..., 0, 1]},
    "output must be real numbers (n = 32, ...), got float64 of shape ()": {"output": lambda self, h: h.sum()},
    "output changes the scores": {"output": changed},
    "output is random": {"output": lambda self, h: h[..., 0, 1] + STREAM.standard_normal()},
    "draw must return finite real outputs": {"draw": lambda self, h, generator: np.log(h[:, 0, 1])},
    "log_likelihood is nan for y = ": {"log_likelihood": lambda self, y, h: np.log(h[..., 0, 1]) + 0.0 * y[:, None]},
    "log_likelihood must return real numbers (n, S)": {"log_likelihood": lambda self, y, h: h[..., 0, 1] + 0j},
    "log_likelihood is random": {
        "log_likelihood": lambda self, y, h: Sound.log_likelihood(self, y, h) + STREAM.standard_normal()
    },
    "log_likelihood changes the outputs or the scores": {"log_likelihood": overwritten},
    "the true scores have likelihood zero": {"log_likelihood": lambda self, y, h: np.where(h[..., 0, 1] < 0, -np.inf, 0.0)},
}  # fmt: skip


def test_sound_channels_have_no_problems():
    assert list(problems_of(Sound(2))) == list(problems_of(GaussianNoise(Sound(3), 0.1))) == []
    assert [list(problems_of(Coin(2), seed=seed)) for seed in range(4)] == [[]] * 4


@pytest.mark.parametrize("wrong", [Coin(2, ones=2.0), Coin(2, sign=-1.0)], ids=["not normalised", "another law"])
def test_a_likelihood_that_contradicts_discrete_outputs_is_refused(wrong):
    """A frequency that is six errors away: a right likelihood fails with a probability of about 1e-8, over the seeds."""
    (problem,) = problems_of(wrong)
    assert problem.startswith("log_likelihood contradicts draw: at h = [[")


@pytest.mark.parametrize("seed", range(8))
def test_right_posteriors_and_likelihoods_fulfil_the_identities(seed):
    """Six standard errors: a right channel fails with a probability of about 1e-8 for each of 30 entries and seed."""
    assert list(problems_of(Sign(2), seed=seed)) == list(problems_of(Rows(3), seed=seed)) == []


@pytest.mark.parametrize("wrong", [Sign(2, 0.8), Sign(3, -1.0)], ids=["too small", "other sign"])
def test_an_exact_posterior_that_contradicts_the_output_is_refused(wrong):
    (problem,) = problems_of(wrong)
    assert problem.startswith(
        "posterior contradicts output: with m the posterior mean of a score h, E[f (h - m)] = 0 for f ="
    )


def test_a_likelihood_that_contradicts_continuous_outputs_is_refused():
    narrow = {"log_likelihood": lambda self, y, h: 4.0 * Sound.log_likelihood(self, y, h)}
    for wrong in (Rows(2, 1), type("Narrow", (Sound,), narrow)(2)):
        (problem,) = problems_of(wrong)
        assert problem.startswith("log_likelihood contradicts draw: with m the posterior mean")


def test_noise_below_the_last_digits_of_the_output_is_refused():
    """Rounding leaves 1e-16 of the output; outputs of 1e5 standard deviations of the noise are sampled as before."""
    large = type("Large", (Sound,), {"output": lambda self, h: 1e300 * h[..., 0, 1]})(2)
    (problem,) = problems_of(GaussianNoise(large, 1.0))
    assert "e+300 at h = [[" in problem
    assert "is lost in its last digits" in problem
    assert not list(problems_of(GaussianNoise(Sound(2), 1e-10)))


@pytest.mark.parametrize("message", ILL_POSED)
def test_an_ill_posed_channel_is_refused(message):
    found = list(problems_of(type("Ill", (Sound,), ILL_POSED[message])(2)))
    assert any(message in problem for problem in found), found
