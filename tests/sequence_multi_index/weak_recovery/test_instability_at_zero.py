"""Thresholds of weak recovery as a search along a branch, with the branch itself given."""

import numpy as np
import pytest
from smi_tools import channel_of

from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.state_evolution.linear_response import Instability
from attention_limits.sequence_multi_index.weak_recovery import staircase as module
from attention_limits.sequence_multi_index.weak_recovery.branch import BranchPoint
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import FirstThreshold
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

FIRST, LAST = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])


class NoNodes(tuple):
    """Nodes that the given branch does not need."""

    def blocks(self, count):
        return [self] * count


@pytest.fixture
def steps(monkeypatch):
    """steps(alpha, growth): the staircase of a branch with these functions of Q_22, above a first threshold of 0.2."""

    def found(alpha, growth, first=0.2, tolerance=1e-10, significant=True):
        def branch(channel, nodes, subspace, level, start, tolerance=1e-3, prior=None, known=None):
            np.testing.assert_array_equal(subspace @ subspace.T, LAST)
            # Nothing is recovered before the first branch.
            assert known.shape == (2, 0)
            overlap = -np.expm1(-level)
            precision = np.array([[np.expm1(level)]])
            return BranchPoint(alpha(overlap), precision, growth(overlap), True, 1.0)

        def grows(channel, nodes, overlap, subspace, prior):
            return Instability(1.0, 0.1, 1.0, 0.1, significant, np.eye(1)), 1.0

        monkeypatch.setattr(module, "branch_point", branch)

        def with_halves(*given):
            found, resolved = grows(*given)
            return found, resolved, [found, found]

        monkeypatch.setattr(module, "instability_at", grows)
        monkeypatch.setattr(module, "instability_and_halves", with_halves)
        at_zero = FirstThreshold(first, 0.01, 0.5, LAST, 1.0)
        monkeypatch.setattr(module, "first_threshold", lambda channel, nodes, prior: at_zero)
        return staircase(channel_of(DeepAttention(1.0)), NoNodes(), None, tolerance)

    return found


def test_a_growth_that_never_reaches_one_gives_a_missing_threshold_where_nothing_grows_beyond_recovery(steps):
    """The branch ends in exact recovery at alpha = 3, below which nothing more is learned."""
    first, second = steps(lambda q: 3.0, lambda q: 0.5, significant=False)
    assert first.alpha == 0.2
    assert np.isnan(second.alpha)
    assert np.all(np.isnan(second.direction))
    assert second.bound == 3.0


def test_a_growth_that_never_reaches_one_goes_on_beyond_recovery(steps):
    """The threshold is that of the recovery, or alpha = 1 where a small overlap grows beside the recovered layer, if larger."""
    for recovery, threshold in ((3.0, 3.0), (0.5, 1.0)):
        _, second = steps(lambda q, recovery=recovery: recovery, lambda q: 0.5)
        assert second.alpha == threshold
        np.testing.assert_array_equal(second.direction, FIRST)
        np.testing.assert_allclose(second.overlap, LAST, atol=2e-5)


def test_a_growth_that_crosses_one_gives_the_threshold_there(steps):
    _, second = steps(lambda q: 2.0 * q, lambda q: q / 0.9)
    assert second.alpha == pytest.approx(1.8, abs=1e-9)
    np.testing.assert_allclose(second.overlap, 0.9 * LAST, atol=1e-9)
    np.testing.assert_array_equal(second.direction, FIRST)


def test_where_alpha_turns_back_the_largest_on_the_way_is_the_threshold(steps):
    """The overlap jumps there: the branch between is not reached from below. The maximum is met to the length of a step."""
    _, second = steps(lambda q: 0.7 - (q - 0.5) ** 2, lambda q: q / 0.95)
    assert 0.65 < second.alpha <= 0.7


def test_a_branch_that_is_lost_gives_a_missing_threshold(steps):
    _, second = steps(lambda q: np.nan, lambda q: np.nan)
    assert np.isnan(second.alpha)


def test_nothing_to_learn_is_a_missing_first_threshold(steps):
    (only,) = steps(lambda q: 1.0, lambda q: 0.5, first=np.inf)
    assert np.isnan(only.alpha)
    assert only.bound == 0.5


def test_a_growth_that_the_noise_explains_is_no_step(steps):
    """Other nodes do not show it."""
    first, second = steps(lambda q: 2.0 * q, lambda q: q / 0.9, significant=False)
    assert first.alpha == 0.2
    assert np.isnan(second.alpha)
