import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from smi_tools import channel_of, gamp_settings, search_settings

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import channel_averages, node_dimension, sample_outputs
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.priors.overlaps import (
    LARGEST_OVERLAP,
    clip_spectrum,
    overlap_from_precision,
    symmetric_root,
    symmetrized,
)
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.weak_recovery.branch import branch_point

MODEL = DeepAttention(1.0)
CHANNEL = channel_of(MODEL)
NODES = gaussian_nodes(8, 32, np.random.default_rng(1))
matrices = st.lists(st.floats(-2, 2), min_size=4, max_size=4).map(lambda x: np.reshape(x, (2, 2)))


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": -0.1}, {"start": 0.0}, {"start": 1.0}],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="need alpha >= 0 and 0 < start < 1"):
        solve(CHANNEL, **{"alpha": 0.5, "start": 0.1, **wrong}, nodes=NODES, settings=search_settings())


@pytest.mark.slow
def test_not_converging_is_reported():
    found = solve(CHANNEL, 0.5, NODES, 0.01, search_settings(max_iterations=2))
    assert not found.converged
    assert found.iterations == 2
    assert found.value.shape == (2, 2)


@given(matrices)
def test_symmetric_root(root):
    matrix = root @ root.T
    found = symmetric_root(matrix)
    np.testing.assert_allclose(found @ found, matrix, atol=1e-12)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


@given(matrices)
def test_clipped_spectrum_is_clipped_and_otherwise_kept(matrix):
    symmetric = 0.5 * (matrix + matrix.T)
    values = np.linalg.eigvalsh(clip_spectrum(matrix, 0.0, 1.0))
    np.testing.assert_allclose(values, np.clip(np.linalg.eigvalsh(symmetric), 0.0, 1.0), atol=1e-12)
    np.testing.assert_allclose(clip_spectrum(matrix, -100.0, 100.0), symmetric, atol=1e-12)


@given(matrices)
def test_overlap_of_a_precision(root):
    q_hat = root @ root.T
    found = overlap_from_precision(q_hat)
    np.testing.assert_allclose(found, q_hat @ np.linalg.inv(np.eye(2) + q_hat), atol=1e-12)


def test_overlap_stays_below_one():
    assert np.linalg.eigvalsh(overlap_from_precision(1e12 * np.eye(2))).max() == pytest.approx(
        LARGEST_OVERLAP, abs=1e-12
    )


class Transparent(Link):
    """Shows its fields and its noise."""

    rows, tokens, noise_dimension = 2, 2, 3

    def observe(self, h, noise=None):
        return np.concatenate([h.reshape(len(h), -1), noise], axis=1)


def test_sampled_fields_have_the_covariances_asked_for():
    """Exactly, on nodes whose second moments are exact: the corners of a cross of half-width sqrt(dimension). The link shows
    the fields themselves, and the noise."""
    overlap = np.array([[0.4, 0.1], [0.1, 0.7]])
    V = np.eye(2) - overlap
    link = Transparent()
    size = node_dimension(link)
    points = np.sqrt(size) * np.concatenate([np.eye(size), -np.eye(size)])
    omega, observed = sample_outputs(link, overlap, V, points)
    h, noise = observed[:, :4].reshape(-1, 2, 2), observed[:, 4:]

    def covariance(x, y):
        return np.einsum("npa,nqb->paqb", x, y) / len(points)

    tokens = np.eye(2)
    np.testing.assert_allclose(covariance(omega, omega), np.einsum("pq,ab->paqb", overlap, tokens), atol=1e-12)
    np.testing.assert_allclose(covariance(h, h), np.einsum("pq,ab->paqb", np.eye(2), tokens), atol=1e-12)
    np.testing.assert_allclose(covariance(h, omega), np.einsum("pq,ab->paqb", overlap, tokens), atol=1e-12)
    np.testing.assert_allclose(noise.T @ noise / len(points), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(noise.T @ h.reshape(-1, 4), 0.0, atol=1e-10)


def test_averages_at_zero_overlap_carry_no_information():
    """E[h | y] = 0 by the two signs and the evenness of the attention in the first layer."""
    found = channel_averages(CHANNEL, np.zeros((2, 2)), NODES)
    np.testing.assert_allclose(found.information, 0.0, atol=1e-12)
    assert found.resolved == 1.0


class Broken(Link):
    """A likelihood that is no number for some outputs."""

    rows, tokens = 1, 1

    def forward(self, h):
        return h[..., 0, 0]

    def log_likelihood(self, observed, h):
        return np.where(observed[:, None] > 1.0, np.nan, -((observed[:, None] - h[..., 0, 0]) ** 2))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("warm_up", [1, 2])
def test_a_channel_that_breaks_gives_a_missing_fixed_point(warm_up):
    link = Broken()
    found = solve(
        channel_of(link, 0.5),
        0.5,
        gaussian_nodes(2, 32, np.random.default_rng(2)),
        0.1,
        search_settings(warm_up=warm_up),
    )
    assert not found.converged
    assert found.value.shape == (1, 1)
    assert np.all(np.isnan(found.value))


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_channel_that_breaks_ends_gamp_and_the_branch():
    link, rng = Broken(), np.random.default_rng(3)
    channel = channel_of(link, 0.5)
    run = gamp.run(channel, gamp.gaussian_dataset(link, 20, 40, rng), rng, gamp_settings(max_iterations=5))
    assert not run.converged
    wide = BrokenPair()
    nodes = gaussian_nodes(node_dimension(wide), 32, rng)
    point = branch_point(channel_of(wide, 0.5), nodes, np.array([[1.0], [0.0]]), 0.5, np.eye(1))
    assert not point.converged
    assert np.isnan(point.alpha)
    assert np.isnan(point.growth)


class BrokenPair(Broken):
    """The same with a row on which the output does not depend."""

    rows = 2


@pytest.mark.parametrize("symmetry", ["rows", "all", "none"])
def test_symmetrised_matrices(symmetry):
    matrix = np.array([[1.0, 0.3], [0.3, 2.0]])
    expected = np.diag([1.0, 2.0]) if symmetry == "rows" else matrix
    np.testing.assert_array_equal(symmetrized(symmetry, matrix), expected)
