"""The exact channel of discrete outputs of two fields."""

import numpy as np
import pytest
from smi_tools import assert_derivatives, channel_of, draw_channels, node_sets

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.links.link import SECTORS, Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.sectors import sectors_of
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

pytestmark = pytest.mark.slow


class Wedges(Link):
    """A link of a user: one row that reads two tokens, five sectors of different widths with three outputs."""

    rows, tokens, sign_symmetry = 1, 2, "none"
    edges, labels = np.array([0.3, 0.5, 2.0, 4.0, 5.5]), np.array([0.0, 1.0, 2.0, 0.0, 2.0, 0.0])

    def forward(self, h):
        angle = np.arctan2(h[..., 0, 1], h[..., 0, 0]) % (2.0 * np.pi)
        return self.labels[np.searchsorted(self.edges, angle)]

    def log_likelihood(self, observed, h):
        return np.where(self.forward(h) == observed[:, None], 0.0, -np.inf)


class Shifted(Wedges):
    """Its cells are not sectors."""

    def forward(self, h):
        return super().forward(h + 0.5)


def provided(name, **parameters):
    return load_link({"link": name, **parameters}, ".")


LINKS = [provided("committee", rows=2), provided("sign_product", rows=2), provided("largest_row", rows=2), Wedges()]
OTHERS = [provided("committee", rows=3), provided("product", rows=2), provided("linear", rows=2), Shifted(),
          provided("largest_row", rows=2, tokens=2), OutputNoise(provided("committee", rows=2), 0.1)]  # fmt: skip


@pytest.mark.parametrize("link", LINKS, ids=lambda link: type(link).__name__)
def test_moments_are_derivatives_of_the_probability(link):
    """log Z alone fixes all moments: differences of it, whose error is 1e-6 for a Z that is exact to rounding; and Z is that of
    400 000 draws, within five standard errors. The probabilities of all outputs add up to one."""
    V = np.array([[0.7, 0.2], [0.2, 0.4]])[: link.rows, : link.rows]
    channel = channel_of(link)
    assert channel.method == SECTORS
    observed, omega, _ = draw_channels(link, V, 24, 5)
    found = channel.posterior(observed, omega, V)
    assert found.resolved.all()
    every = [np.broadcast_to(y, (24, *np.shape(y))) for y in channel.outputs]
    total = sum(np.exp(channel.posterior(outputs, omega, V).log_z) for outputs in every)
    np.testing.assert_allclose(total, 1.0, atol=1e-13)
    noise = np.random.default_rng(6).standard_normal((400_000, link.rows, link.tokens))
    h = omega[:, None] + np.einsum("pq,sqa->spa", np.linalg.cholesky(V), noise)
    hits = np.all(np.reshape(link.forward(h) == observed[:, None], (24, 400_000, -1)), axis=2).mean(axis=1)
    z = np.exp(found.log_z)
    assert np.all(np.abs(hits - z) <= 5.0 * np.sqrt(z * (1.0 - z) / 400_000) + 1e-9)
    assert_derivatives(channel, observed, omega, V, slope=1e-6, curvature=1e-5)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: type(link).__name__)
def test_fields_of_mean_zero_have_the_limit_of_small_means(link):
    """The mean zero has no direction. log Z is smooth: a mean of 1e-7 changes no moment by more than 1e-6."""
    channel, V = channel_of(link), 0.5 * np.eye(link.rows)
    observed = np.stack([np.asarray(y) for y in channel.outputs])
    shape = (len(observed), link.rows, link.tokens)
    zero, small = (channel.posterior(observed, np.full(shape, size), V) for size in (0.0, 1e-7))
    for name in ("log_z", "mean", "covariance"):
        np.testing.assert_allclose(getattr(zero, name), getattr(small, name), atol=1e-6)


@pytest.mark.parametrize("link", OTHERS, ids=lambda link: type(link).__name__)
def test_other_links_have_no_sectors(link):
    assert sectors_of(link) is None


def test_an_unlikely_output_is_not_resolved():
    """Thirty standard deviations from its cell; the moments stay finite."""
    link = LINKS[0]
    found = channel_of(link).posterior(np.array([2.0]), np.full((1, 2, 1), -30.0), 0.1 * np.eye(2))
    assert not found.resolved[0]
    assert np.all(np.isfinite(found.mean))
    assert np.all(np.isfinite(found.covariance))


def test_both_estimators_of_the_information_agree():
    """The Nishimori identity E g g^T = -E dg on the mean over all outputs: 16 scramblings of 256 nodes, five standard errors."""
    link, overlap = LINKS[0], np.array([[0.5, 0.1], [0.1, 0.6]])
    channel = channel_of(link)
    averages = [channel_averages(channel, overlap, nodes) for nodes in node_sets(link, 256, 16, seed=7)]
    fine = channel_averages(channel, overlap, node_sets(link, 1 << 14, 1, seed=8)[0])
    values = np.array([one.information for one in averages])
    error = values.std(axis=0, ddof=1) / 4.0
    assert np.all(np.abs(values.mean(axis=0) - fine.information) <= 5.0 * error)
    assert all(one.resolved == pytest.approx(1.0, abs=1e-9) for one in averages)
    # One scrambling of 256 nodes is exact to one per cent.
    assert np.all(values.std(axis=0, ddof=1) < 0.01 * np.abs(np.diag(fine.information)).max())
