"""The channel of one field with any likelihood, and the posterior that a link gives itself."""

import numpy as np
import pytest
from scipy.special import log_expit, ndtr
from smi_tools import channel_of, draw_channels, gradient_and_hessian

from attention_limits.sequence_multi_index.channels.half_line import half_line_moments
from attention_limits.sequence_multi_index.channels.one_field import one_field_moments
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import ONE_FIELD, OWN, SAMPLING, Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise


class Logistic(Link):
    """Labels y = 1 or -1 with the probability 1 / (1 + exp(-3 y h))."""

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "none", 1

    def forward(self, h):
        return np.tanh(1.5 * h[..., 0, 0])

    def observe(self, h, noise=None):
        return np.where(noise[:, 0] < 0, 1.0, -1.0) * np.where(np.abs(noise[:, 0]) < 2.0, 1.0, -1.0)

    def log_likelihood(self, observed, h):
        return log_expit(3.0 * observed[:, None] * h[..., 0, 0])


class Counts(Link):
    """More discrete outputs than the program lists: the cells of a width of 0.01."""

    rows, tokens, sign_symmetry = 1, 1, "none"

    def forward(self, h):
        return np.floor(100.0 * h[..., 0, 0])

    def log_likelihood(self, observed, h):
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)


class Jump(Link):
    """A likelihood with a jump, for the output 1 alone."""

    rows, tokens, sign_symmetry, noise_dimension = 1, 1, "none", 1

    def forward(self, h):
        return np.ones(h.shape[:-2])

    def log_likelihood(self, observed, h):
        values = np.log(np.where(h[..., 0, 0] < 0, 2.0, 1.0) / 3.0)
        return np.where(observed[:, None] == 1.0, values, -np.inf)


@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-8])
@pytest.mark.parametrize("V", [1.0, 1e-4])
def test_linear_output_with_noise_has_the_posterior_of_two_gaussians(noise, V):
    link = OutputNoise(load_link({"link": "linear", "rows": 1, "tokens": 1}, "."), noise)
    channel = channel_of(link)
    assert channel.method == ONE_FIELD
    rng = np.random.default_rng(3)
    omega = np.sqrt(1.0 - V) * rng.standard_normal((200, 1, 1))
    y = omega + np.sqrt(V) * rng.standard_normal(omega.shape) + np.sqrt(noise) * rng.standard_normal(omega.shape)
    found, rest = channel.posterior(y, omega, np.array([[V]])), (y - omega)[:, 0, 0]
    assert found.resolved.all()
    np.testing.assert_allclose(
        found.log_z, -0.5 * rest**2 / (V + noise) - 0.5 * np.log(2 * np.pi * (V + noise)), atol=1e-9
    )
    np.testing.assert_allclose(found.mean[:, 0, 0], V / (V + noise) * rest, atol=1e-9)
    np.testing.assert_allclose(found.covariance.reshape(-1), V * noise / (V + noise), rtol=1e-6)


@pytest.mark.parametrize(
    "link",
    [Logistic(), OutputNoise(load_link({"link": "phase_retrieval"}, "."), 1e-4),
     OutputNoise(load_link({"link": "monomial", "exponents": [3]}, "."), 0.1)],
    ids=["logistic", "narrow peaks", "cube"],
)  # fmt: skip
def test_moments_are_derivatives_of_log_z_and_log_z_is_an_integral(link):
    V = np.array([[0.6]])
    observed, omega, _ = draw_channels(link, V, 12, 5)
    channel = channel_of(link)
    found = channel.posterior(observed, omega, V)
    assert found.resolved.all()
    gradient, hessian = gradient_and_hessian(
        lambda index, points: channel.posterior(observed[index], points, V).log_z, omega, V, np.full(12, 0.02)
    )
    mean = found.mean[:, :, 0] / np.sqrt(V[0])
    square = found.covariance.reshape(-1) / V[0, 0] - 1.0
    sharp = 1.0 + gradient**2
    np.testing.assert_array_less(np.abs(mean - gradient), 1e-5 * sharp)
    np.testing.assert_array_less(np.abs(square - hessian.reshape(-1)), 1e-3 * sharp[:, 0] ** 2)
    grid = np.linspace(-12.0, 12.0, 400_001)
    values = link.log_likelihood(observed[:, ...], np.broadcast_to(grid[None, :, None, None], (12, len(grid), 1, 1)))
    density = np.exp(values - 0.5 * (grid - omega[:, :, 0]) ** 2 / V[0, 0]) / np.sqrt(2 * np.pi * V[0, 0])
    np.testing.assert_allclose(np.exp(found.log_z), density.sum(axis=1) * (grid[1] - grid[0]), rtol=1e-6)


def test_narrow_cells_are_left_to_sampling():
    """Points of a quadrature could miss one of several cells; the effective sample size shows it."""
    assert channel_of(Counts()).method == SAMPLING


def test_a_likelihood_may_jump():
    """Fields below zero are twice as probable: the closed form is that of a normal law that is cut at zero."""
    link, V, omega = Jump(), np.array([[0.5]]), np.linspace(-2.0, 2.0, 9)
    found = channel_of(link).posterior(np.ones(9), omega[:, None, None], V)
    below = ndtr(-omega / np.sqrt(0.5))
    assert found.resolved.all()
    np.testing.assert_allclose(np.exp(found.log_z), (2.0 * below + (1.0 - below)) / 3.0, rtol=1e-7)


def test_an_output_that_no_field_explains_is_not_resolved():
    found = channel_of(Jump()).posterior(np.array([7.0]), np.zeros((1, 1, 1)), np.ones((1, 1)))
    assert not found.resolved[0]
    assert found.mean[0, 0, 0] == 0.0


class Own(Link):
    """The sign of a field, with its posterior; `wrong` breaks it in one of several ways."""

    rows, tokens, sign_symmetry, wrong = 1, 1, "none", ""

    def forward(self, h):
        return np.where(h[..., 0, 0] < 0, -1.0, 1.0)

    def log_likelihood(self, observed, h):
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)

    def moments(self, observed, omega, V):
        log_z, mean, second, _ = half_line_moments(observed, omega, V + (0.2 if self.wrong == "law" else 0.0))
        mean = mean * (1.05 if self.wrong == "mean" else 1.0)
        variance = (second[:, 0, 0] - mean[:, 0] ** 2) * (1.02 if self.wrong == "covariance" else 1.0)
        if self.wrong == "log_z":
            log_z = log_z[:, None]
        if self.wrong == "output":
            # A consistent posterior of another output.
            log_z, mean, variance = np.zeros(len(mean)), np.zeros_like(mean), np.full(len(mean), V[0, 0])
        return log_z, mean[:, :, None], variance[:, None, None, None, None]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [("mean", "the mean of moments is not V times the derivative of its log_z"),
     ("covariance", "the covariance of moments is not V times the derivative of its mean"),
     ("law", "the mean of moments is not V times"), ("log_z", "moments must return log_z of shape (16384,)"),
     ("output", "log_z of moments is 0, and -1.5")],
)  # fmt: skip
def test_a_posterior_of_a_link_that_contradicts_it_is_refused(wrong, words):
    link = Own()
    link.wrong = wrong
    (found,) = problems_of(link)
    assert found.startswith(words), found


def test_the_posterior_of_a_link_is_taken():
    channel = channel_of(Own())
    assert problems_of(Own()) == []
    assert channel.method == OWN
    observed, omega, _ = draw_channels(Own(), np.array([[0.5]]), 20, 3)
    provided = channel_of(load_link({"link": "sign_product", "rows": 1}, "."))
    found, wanted = (one.posterior(observed, omega, np.array([[0.5]])) for one in (channel, provided))
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, wanted.covariance, rtol=1e-9)


def test_a_posterior_beyond_the_panels_is_not_resolved():
    """An estimate that ran away, omega = 1860 sqrt(V): the fields +-1 that explain the output lie 1860 deviations away."""
    link = OutputNoise(load_link({"link": "phase_retrieval"}, "."), 0.01)
    observed, omega = np.ones(300), np.linspace(-1860.0, 1860.0, 300)[:, None, None]
    _, mean, second, effective = one_field_moments(link, observed, omega, np.ones((1, 1)))
    far = np.abs(omega[:, 0, 0]) > 200.0
    assert np.all(effective[far] == 0.0)
    assert np.all(mean[far] == 0.0)
    assert np.all(second[far] == 1.0)
    near = np.abs(omega[:, 0, 0]) < 100.0
    assert np.all(np.isinf(effective[near]))
    # The nearer of the fields +-1 has all of the weight, within its deviation of sqrt(0.01) / 2.
    assert mean[near, 0] + omega[near, 0, 0] == pytest.approx(np.sign(omega[near, 0, 0]), abs=0.2)
