"""The staircase goes on where a branch ends in exact recovery: the learned rows are known, and the rest has its own threshold."""

from pathlib import Path

import numpy as np
import pytest

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise
from attention_limits.sequence_multi_index.priors.gaussian import standard_normal
from attention_limits.sequence_multi_index.weak_recovery.branch import branch_point
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import (
    first_threshold,
    instability_and_halves,
    instability_at,
)
from attention_limits.sequence_multi_index.weak_recovery.known import aligned, recovered_overlap
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

NOISE = 8.0


def channel_of(link):
    return Channel(link, 0.75, np.random.default_rng(0))


def nodes_of(link, count, seed=0):
    return gaussian_nodes(node_dimension(link), count, np.random.default_rng(seed))


class Independent(Link):
    """Outputs h_p^2, one for each row of `noises`, with Gaussian noise of these variances; the last row is not seen.

    The posterior is that of the rows alone, for diagonal V.
    """

    tokens, sign_symmetry = 1, "rows"

    def __init__(self, noises):
        self.rows, self.noises, self.noise_dimension = len(noises) + 1, np.array(noises), len(noises)
        self._parts = [channel_of(OutputNoise(phase_retrieval(), x) if x else phase_retrieval()) for x in noises]

    def forward(self, h):
        return h[..., :-1, 0] ** 2

    def observe(self, h, noise=None):
        return self.forward(h) + np.sqrt(self.noises) * noise

    def log_likelihood(self, observed, h):
        raise NotImplementedError

    def moments(self, observed, omega, V):
        n = len(observed)
        log_z, mean, covariance = np.zeros(n), np.zeros(omega.shape), np.zeros((n, self.rows, 1, self.rows, 1))
        covariance[:, -1, 0, -1, 0] = V[-1, -1]
        for p, part in enumerate(self._parts):
            # Without noise the first output of each row is h_p^2 itself; phase retrieval observes it.
            found = part.posterior(observed[:, p], omega[:, [p]], V[[p]][:, [p]])
            log_z += found.log_z
            mean[:, p], covariance[:, p, 0, p, 0] = found.mean[:, 0], found.covariance[:, 0, 0, 0, 0]
        return log_z, mean, covariance


@pytest.mark.slow
def test_the_next_threshold_is_that_of_the_rest_alone():
    """Row 1 without noise is recovered near 1.13; row 2 with noise is learned at its own threshold, as if it were alone."""
    alone = OutputNoise(phase_retrieval(), NOISE)
    expected = first_threshold(channel_of(alone), nodes_of(alone, 1024)).alpha
    assert expected > 1.3
    link = Independent([0.0, NOISE])
    first, second, third = staircase(channel_of(link), nodes_of(link, 1024), nodes_of(link, 1024, 1), 1e-3)
    assert abs(first.alpha - 0.5) < 0.02
    # Four standard errors: a false alarm of 6e-5.
    assert abs(second.alpha - expected) < 4.0 * np.hypot(second.error, second.shift)
    assert second.error < 0.1 * expected
    assert np.argmax(np.diag(second.direction)) == 1
    assert np.allclose(np.diag(second.overlap), [1.0, 0.0, 0.0], atol=1e-4)
    # The row that is not seen is never learned.
    assert np.isnan(third.alpha)
    assert third.bound > 1e6


class Staircase(Link):
    """y = h_3^2 + sign(h_1 h_2 h_3), with its posterior where rows 1 and 2 are not known: omega = 0 and V = 1 for them."""

    rows, tokens, sign_symmetry = 3, 1, "none"

    def forward(self, h):
        return h[..., 2, 0] ** 2 + np.sign(np.prod(h[..., 0], axis=-1))

    def log_likelihood(self, observed, h):
        raise NotImplementedError

    def moments(self, observed, omega, V):
        n, sign = len(observed), np.array([1.0, -1.0, 1.0, -1.0])
        square = observed[:, None] - sign
        size = np.sqrt(np.maximum(square, 1e-300))
        third = size * np.array([1.0, 1.0, -1.0, -1.0])
        log_weight = np.where(square > 0, -np.log(size) - 0.5 * (third - omega[:, 2]) ** 2 / V[2, 2], -np.inf)
        log_z = np.logaddexp.reduce(log_weight, axis=1)
        weight = np.exp(log_weight - log_z[:, None])
        mean, covariance = np.zeros((n, 3, 1)), np.zeros((n, 3, 1, 3, 1))
        mean[:, 2, 0] = np.sum(weight * third, axis=1)
        pair = 2.0 / np.pi * np.sum(weight * sign * np.sign(third), axis=1)
        covariance[:, 0, 0, 0, 0] = covariance[:, 1, 0, 1, 0] = 1.0
        covariance[:, 0, 0, 1, 0] = covariance[:, 1, 0, 0, 0] = pair
        covariance[:, 2, 0, 2, 0] = np.sum(weight * (third - mean[:, 2]) ** 2, axis=1)
        return log_z, mean, covariance


def test_the_sign_of_a_recovered_field_is_known():
    """Rows 1 and 2 beside row 3 are a parity of two signs, (pi / 2)^2. At 1 - Q = 2e-5 small fields have no sign: 2.4756."""
    unit = np.eye(3)
    overlap = recovered_overlap(unit[:, [2]], standard_normal(3))
    found, _ = instability_at(channel_of(Staircase()), nodes_of(Staircase(), 8192), overlap, unit[:, :2])
    # Of 8192 outputs none or one has a field of the order of the root of 1 - Q: an error below 2e-4.
    assert 1.0 / found.eigenvalue == pytest.approx(0.25 * np.pi**2, rel=3e-4)


def test_a_recovered_direction_becomes_exact():
    """The directions of few nodes are wrong by percents: then row 1 would be read through y, and pi^2 / 4 become 1.4."""
    link = load_link({"link": "docs/models/staircase.py:Staircase"}, Path(__file__).parents[3])
    wrong = np.array([[0.05], [-0.03], [1.0]]) / np.linalg.norm([0.05, -0.03, 1.0])
    found = aligned(channel_of(link), nodes_of(link, 128), wrong, standard_normal(3))
    assert np.abs(found[:2]).max() < 1e-6 < np.abs(wrong[:2]).max()


@pytest.mark.slow
def test_a_branch_beside_recovered_rows_is_that_without_them():
    both, alone = Independent([0.0, NOISE]), Independent([NOISE])
    unit = np.eye(3)
    with_known = branch_point(
        channel_of(both), nodes_of(both, 8192), unit[:, [1]], 0.5, np.eye(1), known=unit[:, [0]]
    )  # fmt: skip
    without = branch_point(channel_of(alone), nodes_of(alone, 8192), np.eye(2)[:, [0]], 0.5, np.eye(1))
    # Different nodes of the same averages: four scramblings scatter by 0.5 %.
    assert abs(with_known.alpha / without.alpha - 1.0) < 0.03
    assert abs(with_known.growth) < 1e-6
    assert abs(without.growth) < 1e-6


def test_an_exact_channel_gives_the_halves_without_new_moments():
    link, unit = Staircase(), np.eye(3)
    channel, nodes = channel_of(link), nodes_of(link, 128)
    overlap, prior = recovered_overlap(unit[:, [2]], standard_normal(3)), standard_normal(3)
    whole, resolved, halves = instability_and_halves(channel, nodes, overlap, unit[:, :2], prior)
    expected = [instability_at(channel, some, overlap, unit[:, :2], prior) for some in (nodes, *nodes.blocks(2))]
    assert resolved == expected[0][1]
    for found, (one, _) in zip((whole, *halves), expected, strict=True):
        assert found.eigenvalue == one.eigenvalue
        assert found.error == one.error
        np.testing.assert_array_equal(found.direction, one.direction)
    assert halves[0].eigenvalue != halves[1].eigenvalue
