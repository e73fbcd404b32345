"""The exact channel of one or two fields with few discrete outputs."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import ncx2
from smi_tools import assert_derivatives, channel_of, draw_channels

from attention_limits.sequence_multi_index.links.intervals import intervals_of
from attention_limits.sequence_multi_index.links.link import INTERVALS, Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import CorrelatedTokens, OutputNoise


class Discrete(Link):
    """Links of a user with a few outputs."""

    rows, tokens, sign_symmetry = 1, 1, "none"

    def log_likelihood(self, observed, h):
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)


class Symmetric(Discrete):
    """The symmetric perceptron with a narrow cell: two boundaries at +-kappa."""

    kappa = 0.03

    def forward(self, h):
        return np.where(np.abs(h[..., 0, 0]) < self.kappa, 1.0, -1.0)


class Circle(Discrete):
    """Two rows; the cell is a circle, whose lines end at vertical tangents."""

    rows = 2
    square = 1.3

    def forward(self, h):
        return np.where(h[..., 0, 0] ** 2 + h[..., 1, 0] ** 2 < self.square, 1.0, -1.0)


class Steps(Discrete):
    """One row that reads two tokens; five outputs between hyperbolas, as vectors."""

    tokens = 2

    def forward(self, h):
        level = np.clip(np.floor(2.0 * h[..., 0, 0] * h[..., 0, 1]), -2.0, 2.0)
        return np.stack([level, level**2], axis=-1)

    def log_likelihood(self, observed, h):
        return np.where(np.all(self.forward(h) == observed[:, None], axis=-1), 0.0, -np.inf)


class Fine(Discrete):
    """Cells that no step of the program resolves."""

    def forward(self, h):
        return np.sign(np.sin(300.0 * h[..., 0, 0]) + 1e-3)


class Biased(Circle):
    """A likelihood that contradicts the output."""

    def log_likelihood(self, observed, h):
        return super().log_likelihood(observed, 1.01 * h)


@pytest.mark.parametrize("link", [Symmetric(), Circle(), Steps()], ids=lambda link: type(link).__name__)
@pytest.mark.parametrize("scale", [1.0, 1e-4], ids=["wide", "narrow"])
def test_moments_are_derivatives_of_the_probability(link, scale):
    """log Z alone fixes all moments; its differences have an error of 1e-6. The probabilities of all outputs add up to one."""
    V = scale * np.array([[0.7, 0.2], [0.2, 0.4]])[: link.rows, : link.rows]
    channel = channel_of(link)
    assert channel.method == INTERVALS
    observed, omega, _ = draw_channels(link, V, 24, 5)
    found = channel.posterior(observed, omega, V)
    # Fields far from every boundary say nothing, and cells of a probability below 1e-12 are not drawn.
    assert found.resolved.all()
    every = [np.broadcast_to(y, (24, *np.shape(y))) for y in channel.outputs]
    total = sum(np.exp(channel.posterior(outputs, omega, V).log_z) for outputs in every)
    np.testing.assert_allclose(total, 1.0, atol=1e-8)
    assert_derivatives(channel, observed, omega, V, slope=1e-5, curvature=1e-3)


def test_probability_of_one_field_is_a_difference_of_normal_distributions():
    """Down to cells in the tail of the prior: relative accuracy at a probability of 1e-9."""
    kappa, omega, V = Symmetric.kappa, np.linspace(0.0, 5.0, 11), 0.7
    found = channel_of(Symmetric()).posterior(np.ones(11), omega[:, None, None], np.array([[V]]))
    width = np.sqrt(V)
    np.testing.assert_allclose(
        np.exp(found.log_z), ndtr((kappa - omega) / width) - ndtr((-kappa - omega) / width), rtol=1e-6
    )


def test_probability_of_a_circle_is_the_noncentral_distribution_of_chi_squared():
    rng, V = np.random.default_rng(3), 0.5
    omega = rng.standard_normal((16, 2, 1))
    found = channel_of(Circle()).posterior(np.ones(16), omega, V * np.eye(2))
    wanted = ncx2.cdf(Circle.square / V, 2, np.sum(omega[..., 0] ** 2, axis=1) / V)
    np.testing.assert_allclose(np.exp(found.log_z), wanted, atol=1e-8)


def test_an_unlikely_output_is_not_resolved():
    found = channel_of(Circle()).posterior(np.array([1.0]), np.full((1, 2, 1), 30.0), 0.1 * np.eye(2))
    assert not found.resolved[0]
    assert np.all(np.isfinite(found.mean))
    np.testing.assert_array_equal(found.covariance[0, :, 0, :, 0], 0.1 * np.eye(2))


@pytest.mark.parametrize(
    "link",
    [Fine(), Biased(), OutputNoise(Circle(), 0.1), load_link({"link": "committee", "rows": 3}, "."),
     load_link({"link": "phase_retrieval"}, "."), load_link({"link": "product", "rows": 2}, ".")],
    ids=["fine", "biased", "noisy", "three", "continuous", "product"],
)  # fmt: skip
def test_other_links_have_no_intervals(link):
    assert intervals_of(link) is None


def test_correlated_tokens_keep_the_intervals():
    link = CorrelatedTokens(Steps(), [[1.0, 0.5], [0.5, 1.0]])
    assert channel_of(link).method == INTERVALS
