"""Nodes of many variables: equal noisy outputs, and the variance of the weights."""

import numpy as np
import pytest

import attention_limits as al
from attention_limits.numerics.probability.gaussian_nodes import MOST_WIDE
from attention_limits.sequence_multi_index.channels.averages import node_dimension, output_nodes
from attention_limits.sequence_multi_index.links.linear import Linear
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

COPIES, SAMPLES = 40, 1.0


def copies(h):
    """The field, COPIES times."""
    return np.repeat(h[..., 0, :], COPIES, axis=-1)


def test_equal_noisy_outputs_are_one_output_of_less_noise():
    """COPIES outputs of variance COPIES are one output of variance 1: V = 1 / (1 + alpha / (1 + V)), for alpha = 1 the root of
    V^2 + V = 1. There Q_hat = V, and the information log(1 + V) / 2 + (log(1 + Q_hat) - Q_hat V) / 2 is log(1 + V) - V^2 / 2.
    Four scramblings, |t_3| < 25 beside the tolerance 1e-3 of the iteration: a false alarm in 7000 for each of both."""
    cube = al.compute(
        "sequence_multi_index.state_evolution",
        {"link": copies, "noise": float(COPIES)},
        {"alpha": [SAMPLES]},
        replicas=4,
        solver={"nodes": 64},
    )
    found = cube.overlap.squeeze().values
    V = (np.sqrt(5.0) - 1.0) / 2.0
    information = cube.mutual_information.squeeze().values
    for values, wanted in ((found, 1.0 - V), (information, np.log(1.0 + V) - 0.5 * V**2)):
        assert abs(values.mean() - wanted) < 25.0 * values.std(ddof=1) / 2.0 + 1e-3
    assert np.all(cube.resolved == 1.0)
    # Ten scramblings of wide noise scatter by a third of the overlap.
    assert found.std(ddof=1) < 0.01
    # One output of less noise has the deviation 0.1, that of its information for 64 nodes; the noise of all outputs alone
    # would add 0.6. A false alarm in 3000.
    assert information.std(ddof=1) < 0.25


def test_the_weights_of_many_variables_keep_their_variance():
    """Weights of mean one and variance v: the share of effective nodes is 1 / (1 + v). For MOST_WIDE wide variables v = 1.67."""
    for link in (OutputNoise(Linear(1, 100), 1.0), OutputNoise(Linear(1, 1), 1.0), Linear(1, 16), Linear(8, 8)):
        nodes = output_nodes(link, 4096, np.random.default_rng(0))
        assert nodes.points.shape == (4096, node_dimension(link))
        effective = nodes.weights.sum() ** 2 / np.sum(nodes.weights**2) / 4096
        assert effective > 0.8 / 2.67
    noise = OutputNoise(Linear(1, 20), 1.0)
    assert node_dimension(noise) > MOST_WIDE
    points = output_nodes(noise, 65536, np.random.default_rng(1)).points
    # The noise has the width of its law; 65 536 balanced nodes give the deviation to 1e-3.
    assert points[:, -20:].std() == pytest.approx(1.0, abs=1e-3)
