"""Weak-recovery thresholds of two-layer attention against independently computed values.

Sources: `own`, an independent program for the same equations (plain Monte Carlo and Sobol nodes, error of the mean where it was
recorded, else one unit of the last digit); `published`, alpha_critical.csv released with Troiani et al. 2025
(arXiv:2502.00901). False-alarm rate 1e-3 per test, t-statistics over independent scramblings.
"""

import functools

import numpy as np
import pytest
from smi_tools import channel_of, node_sets

from agreement import assert_mean
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.weak_recovery.branch import branch_point
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold, instability_at
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

pytestmark = pytest.mark.slow

# skip: (own value, its error)
SECOND_LAYER = {
    0.0: (0.2759, 0.0012),
    0.5: (0.2019, 0.0001),
    1.0: (0.1849, 0.0007),
    2.0: (0.1741, 0.0001),
    4.0: (0.1692, 0.0001),
}
FIRST_LAYER = {
    0.0: (0.7565, 0.0035),
    0.5: (0.7212, 0.0001),
    1.0: (0.7221, 0.0019),
    2.0: (0.7222, 0.0001),
    4.0: (0.7224, 0.0001),
}
PUBLISHED_AT_UNIT_SKIP = {"alpha_1": 0.793646302451566, "alpha_2": 0.14358446549404996}


def second_layer_thresholds(skip):
    model = DeepAttention(skip)
    # Without a skip the channel needs ten times as many quadrature nodes: fewer outputs.
    count = 2048 if skip == 0 else 8192
    return [first_threshold(channel_of(model), nodes).alpha for nodes in node_sets(model, count, 8, seed=111)]


def first_layer_thresholds(skip):
    model = DeepAttention(skip)
    # One set of nodes does for both steps: only the second is read here.
    return [staircase(channel_of(model), nodes, nodes, 1e-3)[1].alpha for nodes in node_sets(model, 512, 8, seed=112)]


@pytest.mark.parametrize("skip", SECOND_LAYER)
def test_threshold_of_the_second_layer(skip):
    value, error = SECOND_LAYER[skip]
    assert_mean(second_layer_thresholds(skip), value, error=error, false_alarm=1e-3)


@pytest.mark.parametrize("skip", FIRST_LAYER)
def test_threshold_of_the_first_layer(skip):
    """The threshold is a nonlinear function of averages over 512 nodes: its bias is of the order of the variance of a single
    scrambling (relative error 0.02), below 0.001, and is allowed for."""
    value, error = FIRST_LAYER[skip]
    assert_mean(first_layer_thresholds(skip), value, allowance=0.001, error=error, false_alarm=1e-3)


def test_published_thresholds_are_not_reproduced():
    """(!) The released alpha_critical.csv is at odds with the model at c = 1 by far more than five standard errors, and with
    the released state-evolution curve, whose second layer is learned from alpha = 0.18 on."""
    for name, values in (("alpha_2", second_layer_thresholds(1.0)), ("alpha_1", first_layer_thresholds(1.0))):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert abs(np.mean(values) - PUBLISHED_AT_UNIT_SKIP[name]) > 5 * error


# Three layers, skip 1, by the same independent program: threshold of the last layer with its error, and the branch on which it
# alone is learned, Q_33: (alpha, growth of layer 1).
LAST_OF_THREE = (0.2095, 0.0026)
BRANCH_OF_THREE = {0.7: (0.5239, 0.174), 0.95: (0.7792, 0.584), 0.98: (1.002, 0.999)}
THREE = DeepAttention(1.0, 1.0, 3)


def test_threshold_of_the_last_of_three_layers():
    values = [
        first_threshold(channel_of(THREE, 0.5, seed=(113, seed)), nodes).alpha
        for seed, nodes in enumerate(node_sets(THREE, 1024, 8, seed=114))
    ]
    value, error = LAST_OF_THREE
    assert_mean(values, value, error=error, false_alarm=1e-3)


@pytest.mark.parametrize("overlap", BRANCH_OF_THREE)
def test_first_layer_grows_faster_than_the_second_on_the_branch_of_the_third(overlap):
    """The errors of the values are not recorded: 1.2 %, that of the threshold, is taken for them, and one unit of the last
    digit. At Q_33 = 0.98 the growth is one: the threshold alpha_1 of the first layer is 1.00."""
    found = []
    for seed, nodes in enumerate(node_sets(THREE, 512, 8, seed=115)):
        channel = channel_of(THREE, 1.0, seed=(116, seed))
        point = branch_point(channel, nodes, np.eye(3)[:, 2:], -np.log1p(-overlap), np.eye(1))
        grows, _ = instability_at(channel, nodes, np.diag([0.0, 0.0, overlap]), np.eye(3)[:, :2])
        # With so few nodes both may be taken for one.
        assert grows.direction[0, 0] > grows.direction[1, 1] - 1e-9
        found.append((point.alpha, point.growth))
    expected = np.array(BRANCH_OF_THREE[overlap])
    assert_mean(found, expected, error=0.0124 * expected, allowance=[0.0001, 0.001], false_alarm=1e-3)


def test_staircase_of_three_layers():
    """The last layer is learned first, and one of the others around alpha = 1: with so few nodes the order of those two is not
    resolved in every scrambling, they may be one step, and the thresholds scatter by 10 %. False-alarm rate 1e-3; the allowance
    is their bias."""
    found = []
    for seed, nodes in enumerate(node_sets(THREE, 256, 4, seed=117)):
        steps = staircase(channel_of(THREE, 0.35, seed=(118, seed)), nodes, nodes, tolerance=1e-2)
        learned = [np.flatnonzero(np.diag(step.direction) > 0.05).tolist() for step in steps]
        assert learned[0] == [2]
        assert sorted(np.concatenate(learned)) == [0, 1, 2]
        found.append([step.alpha for step in steps[:2]])
    assert_mean(found, [0.2095, 1.002], allowance=[0.0, 0.03], error=[0.0026, 0.0], false_alarm=1e-3)


# 1 / f_11 at Q = diag(0, 1 - delta), skip 1, by another independent program.
FULL_OVERLAP = {1e-2: (0.459, 0.016), 1e-3: (0.277, 0.009)}
# Published alpha_1 by skip (alpha_critical.csv), and 1 / f_11 at delta = 1e-3 as the audit quotes it, with its error.
PUBLISHED_FIRST_LAYER = {0.1: 0.422, 0.5: 0.755, 1.0: 0.794, 4.0: 0.196}
QUOTED = {0.1: (0.2268, 0.0022), 0.5: (0.2491, 0.0023), 1.0: (0.2743, 0.0024), 4.0: (0.4279, 0.0075)}


@functools.cache
def first_layer_at_overlap(skip, delta, count=256, replicas=8):
    """f_11 at Q = diag(0, 1 - delta), one value per scrambling."""
    model = DeepAttention(skip)
    overlap, first = np.diag([0.0, 1.0 - delta]), np.eye(2)[:, :1]
    sets = node_sets(model, count, replicas, seed=119)
    return np.array([instability_at(channel_of(model, 0.75), nodes, overlap, first)[0].eigenvalue for nodes in sets])


@pytest.mark.parametrize("delta", FULL_OVERLAP)
def test_first_layer_at_nearly_full_overlap_of_the_second(delta):
    """f_11 against the independent value, whose relative error is that of 1 / f_11."""
    value, error = FULL_OVERLAP[delta]
    assert_mean(first_layer_at_overlap(1.0, delta), 1.0 / value, error=error / value**2, false_alarm=1e-3)


@pytest.mark.parametrize("skip", QUOTED)
def test_full_overlap_of_the_second_layer_does_not_give_the_published_thresholds(skip):
    """(!) 1 / f_11 at Q = diag(0, 0.999) is more than five standard errors from the published alpha_1 at every skip: below it
    at c <= 1, above it at c = 4. The quoted value comes from the same seed: three errors are far more than rounding."""
    values = first_layer_at_overlap(skip, 1e-3)
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - 1.0 / PUBLISHED_FIRST_LAYER[skip]) > 5.0 * error
    assert (1.0 / values.mean() < PUBLISHED_FIRST_LAYER[skip]) == (skip <= 1.0)
    quoted, quoted_error = QUOTED[skip]
    assert abs(1.0 / values.mean() - quoted) < 3.0 * quoted_error
