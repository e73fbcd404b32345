"""Directions that the output of a link does not see: read off the output, and without any overlap."""

import numpy as np
import pytest
from links_under_test import LINKS
from smi_tools import channel_of, gamp_settings, node_sets, search_settings

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.invariances import invariant_rows
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise
from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve

pytestmark = pytest.mark.slow


class Difference(Link):
    """y = tanh(h_1 - 2 h_2), of three rows: the output sees one direction of three."""

    rows, tokens, sign_symmetry = 3, 1, "none"

    def forward(self, h):
        return np.tanh(h[..., 0, 0] - 2.0 * h[..., 1, 0])


THREE = load_link({"link": "largest_row", "rows": 3}, ".")
NOISY = OutputNoise(Difference(), 0.2)


@pytest.mark.parametrize("name", LINKS)
def test_only_the_largest_row_has_invariant_rows(name):
    """Every provided link: a change of the fields along one of the candidates e_p, e_p + e_q, e_p - e_q and the sum of all rows
    changes the output, unless the link says that it is invariant. 64 random fields."""
    link = LINKS[name]
    invariant = invariant_rows(link)
    rng, P = np.random.default_rng(1), link.rows
    unit = np.eye(P)
    pairs = [unit[p] + sign * unit[q] for p in range(P) for q in range(p) for sign in (1.0, -1.0)]
    h, x = rng.standard_normal((2, 64, P, link.tokens))
    before = np.reshape(link.forward(h), (64, -1))
    for v in [*unit, np.ones(P), *pairs]:
        after = np.reshape(link.forward(h + 3.0 * v[:, None] * x[:, :1]), (64, -1))
        unseen = np.max(np.abs(after - before)) <= 1e-9 * np.max(np.abs(before))
        assert unseen == bool(np.linalg.norm(v - invariant @ (invariant.T @ v)) < 1e-6)


def test_invariant_rows_of_a_smooth_and_of_a_discrete_link():
    np.testing.assert_allclose(invariant_rows(THREE) @ invariant_rows(THREE).T, np.ones((3, 3)) / 3.0, atol=1e-9)
    seen = np.array([1.0, -2.0, 0.0]) / np.sqrt(5.0)
    for link in (Difference(), NOISY):
        found = invariant_rows(link)
        np.testing.assert_allclose(found @ found.T, np.eye(3) - np.outer(seen, seen), atol=1e-6)


@pytest.mark.parametrize("alpha", [2.0, 50.0])
@pytest.mark.parametrize("start", [1e-3, 0.999])
def test_the_sum_of_all_rows_has_no_overlap(alpha, start):
    """For every number of iterations, converged or not; the diagonal is at most 2 / 3."""
    found = solve(
        channel_of(THREE, 0.35), alpha, node_sets(THREE, 64, 1, 3)[0], start, search_settings(max_iterations=12)
    )
    assert abs(np.sum(found.value)) < 1e-9
    assert np.all(np.diag(found.value) <= 2.0 / 3.0 + 1e-9)


@pytest.mark.parametrize("prior", [None, GaussianRows([[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]])])
def test_the_information_of_a_sampled_channel_has_no_invariant_direction(prior):
    overlap = np.diag([0.2, 0.3, 0.4])
    for link in (THREE, NOISY):
        information = channel_averages(channel_of(link, 0.35), overlap, node_sets(link, 64, 1, 4)[0], prior=prior)
        np.testing.assert_allclose(information.information @ invariant_rows(link), 0.0, atol=1e-9)


def test_gamp_learns_nothing_in_the_invariant_direction():
    """The data carry no precision for the sum of all rows: its posterior variance stays at the start of GAMP."""
    rng = np.random.default_rng(5)
    data = gamp.gaussian_dataset(THREE, 100, 300, rng)
    found = gamp.run(channel_of(THREE, 0.35), data, rng, gamp_settings(max_iterations=4))
    ones = np.ones(3)
    np.testing.assert_allclose(
        found.variance[1:] @ ones, np.broadcast_to(ones, (len(found.variance) - 1, 3)), atol=1e-3
    )
    assert np.all(np.linalg.eigvalsh(found.variance[-1])[0] < 0.9)
