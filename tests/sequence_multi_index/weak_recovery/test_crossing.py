"""Where a branch becomes unstable: on curves with a known crossing, and a part of the nodes against all nodes."""

import numpy as np
import pytest
from smi_tools import channel_of, node_sets

from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.priors.gaussian import standard_normal
from attention_limits.sequence_multi_index.weak_recovery import staircase
from attention_limits.sequence_multi_index.weak_recovery.branch import BranchPoint, branch_point
from attention_limits.sequence_multi_index.weak_recovery.crossing import Crossing, polish, search


class Curve:
    """Points of a branch whose growth and alpha are functions of the level; counts its evaluations."""

    def __init__(self, growth, alpha):
        self.growth, self.alpha, self.levels = growth, alpha, []

    def __call__(self, level, precision):
        self.levels.append(level)
        return BranchPoint(self.alpha(level), np.eye(1) * np.expm1(level), self.growth(level), True, 1.0)


def rising(level):
    """One at level 2.5; slope of its logarithm 0.4 there."""
    return np.exp(0.4 * (level - 2.5) + 0.1 * (level - 2.5) ** 2)


def test_search_finds_the_crossing_and_evaluates_no_level_twice():
    curve = Curve(rising, lambda level: 0.2 * level)
    found = search(curve, np.eye(1), 0.0, 11.0, 1e-6)
    assert found.level == pytest.approx(2.5, abs=1e-5)
    assert found.alpha == found.point.alpha == pytest.approx(0.5, abs=1e-5)
    assert not found.jumps
    assert len(curve.levels) == len(set(curve.levels))


def test_search_reports_the_largest_alpha_of_an_overlap_that_jumps():
    curve = Curve(rising, lambda level: 1.0 - 0.1 * level)
    found = search(curve, np.eye(1), 0.0, 11.0, 1e-6)
    assert found.jumps
    assert found.alpha == pytest.approx(1.0 - 0.1 * 0.3)


@pytest.mark.parametrize("level", [8.5, 10.9])
def test_search_finds_a_crossing_just_below_the_highest_level(level):
    found = search(Curve(lambda x: np.exp(0.4 * (x - level)), np.exp), np.eye(1), 0.0, 11.0, 1e-6)
    assert found.level == pytest.approx(level, abs=1e-5)


@pytest.mark.parametrize("highest", [1.0, 2.0])
def test_search_ends_without_a_crossing(highest):
    assert search(Curve(rising, np.exp), np.eye(1), 0.0, highest, 1e-6) is None
    ends = search(Curve(rising, np.exp), np.eye(1), 0.0, 11.0, 1e-6, lambda point: point.alpha > 2.0)
    assert ends is None


def test_polish_finds_the_crossing_in_few_steps():
    curve = Curve(rising, lambda level: 0.2 * level)
    guess = Crossing(curve(2.2, None), 2.2, 0.44, 0.3)
    curve.levels.clear()
    found = polish(curve, guess, 0.0, 11.0, 1e-5)
    assert found.level == pytest.approx(2.5, abs=2e-5)
    assert len(curve.levels) <= 5


@pytest.mark.parametrize(("level", "slope"), [(2.2, -0.3), (0.5, 0.4), (10.5, 0.4)])
def test_polish_gives_up_far_from_the_guess(level, slope):
    curve = Curve(rising, lambda level: 0.2 * level)
    assert polish(curve, Crossing(curve(level, None), level, 0.0, slope), 0.0, 11.0, 1e-5) is None


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "learned"), [(2, [1]), (3, [2])])
def test_thresholds_from_a_part_of_the_nodes_are_those_from_all(depth, learned):
    """The level agrees to the tolerances of both searches, and so does alpha, which changes by less than its level."""
    link = DeepAttention(1.0, depth=depth)
    channel, prior = channel_of(link, 0.35), standard_normal(depth)
    (nodes,) = node_sets(link, 512, 1, seed=4)
    columns, start, tolerance = np.eye(depth)[:, learned], staircase.SMALLEST_PRECISION * np.eye(1), 1e-3

    def at(level, precision):
        return branch_point(channel, nodes, columns, level, precision, prior=prior)

    known = np.zeros((depth, 0))
    found, end = staircase._next_threshold(channel, nodes, known, columns, start, 0.0, tolerance, prior)
    assert np.isnan(end)
    whole = search(at, start, 0.0, 11.0, tolerance)
    assert abs(found.level - whole.level) <= 2.0 * tolerance
    assert abs(found.alpha - whole.alpha) <= 2.0 * tolerance * found.alpha
    assert abs(np.log(found.point.growth)) <= 4.0 * tolerance
