"""The free entropy generates the state evolution: dPsi/dQ = 1/2 E sum g g^T, and fixed points are its stationary points."""

from functools import cache

import numpy as np
import pytest
from smi_tools import channel_of, node_sets, search_settings

from agreement import assert_mean, t_threshold
from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.priors.gaussian import prior_free_entropy
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.free_entropy import free_entropy

pytestmark = pytest.mark.slow

DIRECTIONS = {
    "first layer": np.diag([1.0, 0.0]),
    "second layer": np.diag([0.0, 1.0]),
    "between layers": np.array([[0.0, 1.0], [1.0, 0.0]]),
}
REPLICAS = 16


def derivative(function, step):
    """At 0, by central differences of fourth order."""
    values = [function(k * step) for k in (-2, -1, 1, 2)]
    return (values[0] - 8.0 * values[1] + 8.0 * values[2] - values[3]) / (12.0 * step)


def psi_derivative(channel, overlap, direction, nodes, step):
    """Derivative of Psi along a direction on common nodes."""
    return derivative(lambda t: channel_averages(channel, overlap + t * direction, nodes).log_z, step)


@pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
@pytest.mark.parametrize(
    ("skip", "overlap"),
    [
        (1.0, np.array([[0.3, 0.1], [0.1, 0.6]])),
        (1.0, np.array([[0.6, -0.05], [-0.05, 0.95]])),
        (0.3, np.array([[0.5, 0.2], [0.2, 0.4]])),
    ],
    ids=["skip1", "skip1-late", "skip0.3"],
)
def test_derivative_of_psi_is_half_the_information(skip, overlap, direction):
    """False-alarm rate 1e-4 per case, over independent scramblings. With steps of a twentieth of the distance to the
    boundary of the positive matrices the truncation error of the difference is below 1e-3 of the derivative's scale."""
    channel = channel_of(DeepAttention(skip))
    margin = min(np.linalg.eigvalsh(overlap)[0], np.linalg.eigvalsh(np.eye(2) - overlap)[0])
    excess, scale = [], []
    for nodes in node_sets(channel.link, 512, REPLICAS, seed=41):
        information = channel_averages(channel, overlap, nodes).information
        half = 0.5 * np.sum(information * direction)
        excess.append(psi_derivative(channel, overlap, direction, nodes, margin / 20.0) - half)
        scale.append(0.5 * np.trace(information @ direction @ direction))
    assert_mean(excess, allowance=1e-3 * np.mean(scale))


@pytest.mark.parametrize("overlap", [np.diag([0.2, 0.7]), np.array([[0.5, 0.3], [0.3, 0.6]])])
def test_prior_part_is_the_extremum_over_the_precision(overlap):
    """At Q_hat = (I - Q)^-1 - I, a minimum in Q_hat: -1/2 log det(I + Q_hat) is convex."""

    def value(q_hat):
        return -0.5 * np.sum(overlap * q_hat) + 0.5 * np.trace(q_hat) - 0.5 * np.linalg.slogdet(np.eye(2) + q_hat)[1]

    best = np.linalg.inv(np.eye(2) - overlap) - np.eye(2)
    np.testing.assert_allclose(prior_free_entropy(overlap), value(best), atol=1e-12)
    for direction in DIRECTIONS.values():
        for step in (-1e-2, 1e-2):
            assert value(best + step * direction) > prior_free_entropy(overlap) + 1e-7


def free_entropy_slope(channel, overlap, direction, alpha, nodes, side_information=0.0):
    """d Phi / dQ along a direction; a hint of signal-to-noise ratio s adds 1/2 s tr Q to the free entropy."""

    def value(t):
        shifted = overlap + t * direction
        return free_entropy(shifted, alpha, channel_averages(channel, shifted, nodes).log_z)

    hint = 0.5 * side_information / (1.0 - side_information) * np.trace(direction)
    margin = min(np.linalg.eigvalsh(np.eye(2) - overlap)[0], 0.1)
    return derivative(value, margin / 20.0) + hint


@pytest.mark.parametrize("alpha", [0.35, 0.6])
def test_fixed_point_with_one_layer_learned_is_stationary(alpha):
    """Slope in Q_22 at the fixed point, on nodes independent of it: its own error is in the spread over replicas.

    False-alarm rate 1e-4 per case; the allowance covers the second-order bias that the scatter (below 3 %) of the fixed
    point leaves in the slope, relative to the two terms of size 1/2 / (1 - Q) that cancel.
    """
    channel = channel_of(DeepAttention(1.0))
    sets = node_sets(channel.link, 512, 2 * REPLICAS, seed=42)
    slopes, scale = [], []
    for first, second in zip(sets[::2], sets[1::2], strict=True):
        overlap = solve(channel, alpha, first, 0.01, search_settings()).value
        assert overlap[0, 0] == 0
        slopes.append(free_entropy_slope(channel, overlap, DIRECTIONS["second layer"], alpha, second))
        scale.append(0.5 / (1.0 - overlap[1, 1]))
    assert_mean(slopes, allowance=3e-3 * np.mean(scale))


@pytest.mark.parametrize("alpha", [0.5, 0.85])
def test_learning_raises_the_free_entropy(alpha):
    """Q = 0 is a fixed point at every alpha: beyond weak recovery the other one must win, here by more than the t-threshold."""
    channel = channel_of(DeepAttention(1.0))
    gains = []
    for nodes in node_sets(channel.link, 256, 8, seed=44):
        overlap = solve(channel, alpha, nodes, 0.01, search_settings(tolerance=1e-3)).value
        values = [free_entropy(q, alpha, channel_averages(channel, q, nodes).log_z) for q in (overlap, 0.0 * overlap)]
        gains.append(values[0] - values[1])
    assert np.mean(gains) > t_threshold(1, len(gains) - 1) * np.std(gains, ddof=1) / np.sqrt(len(gains))


@cache
def fixed_points(alpha, side_information):
    """Pairs of a fixed point with side information and of nodes independent of it."""
    channel = channel_of(DeepAttention(1.0))
    sets = node_sets(channel.link, 512, 2 * REPLICAS, seed=43)
    settings = search_settings(side_information=side_information)
    return [
        (solve(channel, alpha, first, 0.01, settings).value, second)
        for first, second in zip(sets[::2], sets[1::2], strict=True)
    ]


@pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
def test_fixed_point_with_side_information_is_stationary_in_every_direction(direction):
    """With both layers known in part the fixed point has three free numbers. Errors and allowance as above."""
    channel = channel_of(DeepAttention(1.0))
    alpha, side_information = 0.5, 0.3
    slopes = []
    for overlap, second in fixed_points(alpha, side_information):
        assert overlap[0, 0] > side_information
        slopes.append(free_entropy_slope(channel, overlap, direction, alpha, second, side_information))
    assert_mean(slopes, allowance=3e-3 * np.trace(0.5 * np.linalg.inv(np.eye(2) - overlap) @ direction @ direction))
