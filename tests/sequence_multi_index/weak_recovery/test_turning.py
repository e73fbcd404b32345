"""The jump of the direction that is learned first."""

import numpy as np
import pytest
import xarray as xr
from smi_tools import channel_of, node_sets, search_settings

from attention_limits.numerics.probability.statistics import mean_and_error, student
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.priors.mixture import binary
from attention_limits.sequence_multi_index.readings import jump_and_error
from attention_limits.sequence_multi_index.state_evolution.fixed_point import Steps, solve
from attention_limits.sequence_multi_index.weak_recovery import turning
from attention_limits.sequence_multi_index.weak_recovery.turning import turning_point

pytestmark = pytest.mark.slow

LINK = DeepAttention(1.0)
LAST = np.array([[0.0], [1.0]])


def test_binary_weights_jump_where_the_branch_of_the_last_layer_turns():
    """0.345(1) by an independent program on 8192 nodes. Six scramblings of 2048 nodes, five standard errors of the difference:
    with five degrees of freedom a false alarm rate of 4e-3 over the choice of the seed, which is fixed."""
    found = [
        turning_point(channel_of(LINK, 0.75), nodes, LAST, binary(2, 0.0)) for nodes in node_sets(LINK, 2048, 6, 81)
    ]
    mean, error = mean_and_error([alpha for alpha, _ in found])
    assert error < 2e-3
    assert abs(mean - 0.345) <= 5.0 * np.hypot(error, 1e-3)


@pytest.mark.parametrize("seed", [82, 83])
def test_below_the_jump_the_uninformed_start_stays_below_its_overlap(seed):
    """On common nodes: both follow one map, which turns at this alpha exactly."""
    nodes, channel, prior = node_sets(LINK, 256, 1, seed)[0], channel_of(LINK, 0.75), binary(2, 0.0)
    alpha, overlap = turning_point(channel, nodes, LAST, prior)
    below = solve(channel, alpha - 0.004, nodes, 1e-3, search_settings(tolerance=1e-4), prior=prior)
    assert below.converged
    assert 0.2 < below.value[1, 1] < overlap[1, 1]
    # A jump: above alpha the first of the many iterations to exact recovery already pass the overlap at alpha.
    above = solve(
        channel,
        alpha + 0.02,
        nodes,
        overlap[1, 1],
        search_settings(max_iterations=12),
        prior=prior,
        steps=Steps(lookahead=0),
    )
    assert above.value[1, 1] > overlap[1, 1]


def test_normal_weights_do_not_jump():
    alpha, _ = turning_point(channel_of(LINK, 0.75), node_sets(LINK, 256, 1, 84)[0], LAST)
    assert np.isnan(alpha)


def test_a_jump_that_some_replicas_do_not_have_is_missing():
    jumps = xr.DataArray([[0.34, 0.35], [0.34, np.nan]], dims=("skip", "replica"))
    mean, error = jump_and_error(xr.Dataset({"jump": jumps}))
    np.testing.assert_allclose(mean, [0.345, np.nan])
    np.testing.assert_allclose(error, [0.005 * student(2), np.nan])


@pytest.mark.parametrize("turn", [0.5, 1.0, 2.5, 5.0, np.inf])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3])
def test_every_level_that_a_fall_could_reach_is_followed(turn, share):
    """Alpha rises to a turn and falls by a share behind it: the fall is that of all levels, and so is the largest alpha."""

    def alpha_at(level):
        rise = 1.0 + 0.8 * min(level, turn)
        return rise * (1.0 - share * min(max(level - turn, 0.0), 1.0))

    everywhere = np.array([alpha_at(level) for level in turning.LEVELS])
    followed = list(turning._followed(lambda number: everywhere[number]))
    assert sorted(set(followed)) == followed
    fell, fell_anywhere = (
        np.any(values < (1.0 - turning.FALL) * np.maximum.accumulate(values))
        for values in (everywhere[followed], everywhere)
    )
    assert fell == fell_anywhere
    top = int(everywhere.argmax())
    if turn == np.inf:
        assert len(followed) <= len(turning.LEVELS) // 2 + 5
    elif fell:
        # The first level of the largest alpha that is followed is the largest one, or its neighbour.
        assert abs(followed[int(everywhere[followed].argmax())] - top) <= 1
