"""The staircase goes on where a branch ends in exact recovery: the learned rows are known, and the rest has its own threshold."""

import numpy as np
import pytest

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise
from attention_limits.sequence_multi_index.weak_recovery.branch import branch_point
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold
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
    expected = first_threshold(channel_of(alone), nodes_of(alone, 4096)).alpha
    assert expected > 1.3
    link = Independent([0.0, NOISE])
    first, second, third = staircase(channel_of(link), nodes_of(link, 4096), nodes_of(link, 4096, 1), 1e-3)
    assert abs(first.alpha - 0.5) < 0.02
    # Four standard errors: a false alarm of 6e-5.
    assert abs(second.alpha - expected) < 4.0 * np.hypot(second.error, second.shift)
    assert second.error < 0.1 * expected
    assert np.argmax(np.diag(second.direction)) == 1
    assert np.allclose(np.diag(second.overlap), [1.0, 0.0, 0.0], atol=1e-4)
    # The row that is not seen is never learned.
    assert np.isnan(third.alpha)
    assert third.bound > 1e6


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
