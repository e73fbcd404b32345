"""Growth of the layers on the branch of a learned layer."""

import numpy as np
import pytest

from agreement import assert_mean
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.branch_growth import growth_by_row, next_threshold
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.channel_averages import node_dimension
from attention_limits.sequence_multi_index.links.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.links.multi_index import product
from attention_limits.sequence_multi_index.staircase import branch_point

pytestmark = pytest.mark.slow


def at(depth, nodes, overlap, seed=0):
    link = DeepAttention(depth=depth)
    channel = Channel(link, 0.5, np.random.default_rng([seed, 0]))
    drawn = gaussian_nodes(node_dimension(link), nodes, np.random.default_rng([seed, 1]))
    return channel, drawn, growth_by_row(channel, drawn, depth - 1, overlap)


def test_two_layers_have_the_growth_of_the_staircase():
    channel, nodes, found = at(2, 512, 0.95)
    point = branch_point(channel, nodes, np.array([[0.0], [1.0]]), -np.log(0.05), np.eye(1))
    np.testing.assert_allclose([found.alpha, found.factor[0]], [point.alpha, point.growth], rtol=1e-10)
    assert 0 < found.error[0] < 0.2 * found.factor[0]


def test_layer_one_of_four_is_ahead_of_the_others():
    """Where layer 1 begins to grow, at about 1.15, layers 2 and 3 have factors .75(5) and .40(3) (16 scramblings of 8192 nodes).

    Limits at five standard errors of the mean of four scramblings of 2048 nodes (Student, three degrees of freedom): with another
    seed a correct program fails in at most five per cent of the cases.
    """
    growth = np.array([at(4, 2048, 0.9735, seed)[2].factor for seed in range(4)])
    mean, error = growth.mean(axis=0), growth.std(axis=0, ddof=1) / 2
    expected, known = np.array([1.0, 0.75, 0.40]), np.array([0.037, 0.051, 0.027])
    assert np.all(np.abs(mean - expected) < 5 * np.hypot(error, known))


def test_layer_one_of_three_is_ahead_of_the_second():
    """Layer 1 begins to grow at .987(13), where layer 2 has the factor .73(3) (4 scramblings of 4096 nodes).

    `agreement.assert_mean` over eight scramblings of 1024 nodes, false-alarm rate 1e-4; the root of a noisy factor has a bias
    of the squared relative error of one scrambling, below one per cent.
    """
    found = next_threshold(DeepAttention(depth=3), 1024, 8)
    assert_mean([point.factor[0] for point in found], 1.0, allowance=0.02)
    values = [(point.alpha, point.factor[1]) for point in found]
    assert_mean(values, [0.987, 0.73], allowance=[0.01, 0.01], error=np.array([0.013, 0.03]))
    assert np.mean([point.factor[1] for point in found]) < 1.0


def test_wrong_arguments_are_refused():
    channel, nodes, _ = at(2, 16, 0.5)
    with pytest.raises(ValueError, match="overlap must be above 0"):
        growth_by_row(channel, nodes, 1, 1.0)
    link = product(2)
    with pytest.raises(ValueError, match="sign symmetry"):
        growth_by_row(Channel(link, 0.5, np.random.default_rng(0)), nodes, 1, 0.5)
