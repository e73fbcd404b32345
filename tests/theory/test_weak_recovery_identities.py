"""Weak recovery is the linear response of the state evolution, and the branch Q_11 = 0 is one of its fixed points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_limits.sequence_multi_index.channel import posterior
from attention_limits.sequence_multi_index.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.state_evolution import channel_averages, sample_fields, solve
from attention_limits.sequence_multi_index.weak_recovery import (
    first_instability,
    linear_response,
    second_instability,
    unlearnt_first_layer,
)
from theory.tools import assert_mean, node_sets

REPLICAS = 16


def prior_moments(model, nodes):
    omega, h = sample_fields(model, np.zeros((2, 2)), np.eye(2), nodes.points)
    return posterior(model, model.preactivation(h), omega, np.eye(2))


@pytest.mark.parametrize("skip", [0.5, 1.0])
@pytest.mark.parametrize(
    "direction",
    [np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.array([[0.5, 0.4], [0.4, 1.0]])],
    ids=["first", "second", "mixed"],
)
def test_linear_response_is_one_step_from_a_small_overlap(skip, direction):
    """E sum g g^T at Q = eps X against eps F(X), per entry, over independent scramblings; false-alarm rate 1e-4 per case.

    F(X) is of order one to six and the second-order term removed by extrapolation in eps leaves O(eps^2): with eps = 0.005 and
    coefficients of the order of F^3 the allowance 0.01 covers it.
    """
    model = DeepAttention(skip)
    eps = 0.005
    excess = []
    for nodes in node_sets(model, 512, REPLICAS, seed=61):
        response = linear_response(prior_moments(model, nodes), nodes.weights, direction[None])[0]
        full, half = (channel_averages(model, e * direction, nodes).information / e for e in (eps, 0.5 * eps))
        excess.append(2.0 * half - full - response)
    assert_mean(excess, allowance=0.01)


def test_linear_response_is_the_sum_over_pairs_of_tokens():
    """F(X) = E sum_ab T_ab X T_ab^T with explicit loops, on a skewed distribution of outputs with nonzero posterior means."""
    model = DeepAttention(0.5)
    rng = np.random.default_rng(62)
    h = rng.standard_normal((7, 2, 2))
    omega = 0.5 * rng.standard_normal((7, 2, 2))
    moments = posterior(model, model.preactivation(h), omega, np.eye(2))
    weights = rng.uniform(0.5, 2.0, 7)
    X = np.array([[[1.0, 0.3], [0.3, 0.4]], [[0.2, -0.5], [-0.5, 2.0]]])
    expected = np.zeros((2, 2, 2))
    for n in range(7):
        for a in range(2):
            for b in range(2):
                T = moments.covariance[n, :, a, :, b] + np.outer(moments.mean[n, :, a], moments.mean[n, :, b])
                T = T - np.eye(2) * (a == b)
                for k in range(2):
                    expected[k] += weights[n] / 7 * T @ X[k] @ T.T
    np.testing.assert_allclose(linear_response(moments, weights, X), expected, atol=1e-12)


MOMENTS = {}


@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4))
@settings(max_examples=50)
def test_linear_response_keeps_matrices_positive(numbers):
    if not MOMENTS:
        model = DeepAttention(1.0)
        nodes = node_sets(model, 256, 1, seed=63)[0]
        MOMENTS["prior"] = prior_moments(model, nodes), nodes.weights
    root = np.reshape(numbers, (2, 2))
    image = linear_response(*MOMENTS["prior"], (root @ root.T)[None])[0]
    np.testing.assert_allclose(image, image.T, atol=1e-12 * (1 + np.trace(image)))
    assert np.linalg.eigvalsh(image)[0] >= -1e-12 * (1 + np.trace(image))


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_first_instability_is_the_top_eigenpair_of_the_response(skip):
    """F(X) = X / alpha for the returned direction X, which is positive and of unit trace; without data-dependent means F is
    diagonal in the layers and the last layer goes first."""
    model = DeepAttention(skip)
    nodes = node_sets(model, 512, 1, seed=64)[0]
    found = first_instability(model, nodes)
    image = linear_response(prior_moments(model, nodes), nodes.weights, found.direction[None])[0]
    np.testing.assert_allclose(image, found.direction / found.alpha, atol=1e-9)
    np.testing.assert_allclose(found.direction, np.diag([0.0, 1.0]), atol=1e-6)


def test_strong_skip_limit_of_the_first_threshold_is_one_sixth():
    """c -> infinity: y gives z_2 up to its sign, and E || z z^T - I ||_F^2 = M^2 + M = 6 for M = 2 tokens. The attention adds
    relative corrections of order 1/c to z_2; F is even in them at leading order, so 6/c is generous."""
    skip = 1000.0
    values = [1.0 / first_instability(DeepAttention(skip), nodes).alpha
              for nodes in node_sets(DeepAttention(skip), 2048, REPLICAS, seed=65)]  # fmt: skip
    assert_mean(values, 6.0, allowance=6.0 / skip)


@pytest.mark.parametrize("overlap", [0.3, 0.77, 0.9])
def test_branch_alpha_is_that_of_the_state_evolution(overlap):
    """Deterministic: the same nodes and equations, solved backwards; tolerance 1e-6 per iteration of the solver.

    The solver's seed in Q_11 shifts sums over few nodes by sqrt(seed): it is made negligible here.
    """
    model = DeepAttention(1.0)
    nodes = node_sets(model, 256, 1, seed=66)[0]
    point = unlearnt_first_layer(model, overlap, nodes)
    found = solve(model, point.alpha, nodes, 0.05, tolerance=1e-6, seed_overlap=1e-10)
    assert found.value[0, 0] == 0
    np.testing.assert_allclose(found.value[1, 1], overlap, atol=1e-4)


@pytest.mark.parametrize("overlap", [0.5, 0.9, 0.97])
def test_growth_is_one_step_from_a_small_first_overlap(overlap):
    """alpha E sum g_1^2 / eps at Q = diag(eps, Q_22), extrapolated in eps, against alpha f_11; false-alarm rate 1e-4 per case.
    Allowance: second-order terms of relative size (eps / (1 - Q_22))^2 = 1e-4."""
    model = DeepAttention(1.0)
    eps = 0.01 * (1.0 - overlap)
    excess = []
    for nodes in node_sets(model, 512, REPLICAS, seed=67):
        point = unlearnt_first_layer(model, overlap, nodes)
        full, half = (
            point.alpha * channel_averages(model, np.diag([e, overlap]), nodes).information[0, 0] / e
            for e in (eps, 0.5 * eps)
        )
        excess.append((2.0 * half - full) / point.growth - 1.0)
    assert_mean(excess, allowance=1e-3)


def test_layers_are_learnt_one_after_the_other():
    """The last layer first, and at its threshold alpha_1 the growth factor of the first is one."""
    for skip in (0.5, 1.0, 4.0):
        model = DeepAttention(skip)
        nodes = node_sets(model, 256, 1, seed=68)[0]
        alpha, overlap = second_instability(model, nodes)
        assert 2.0 * first_instability(model, nodes).alpha < alpha < 1.0
        point = unlearnt_first_layer(model, overlap, nodes)
        assert point.alpha == alpha
        # The root is known to 1e-4 in log(1 / (1 - Q_22)), in which log growth has a slope of order one.
        assert abs(point.growth - 1.0) < 1e-3


def test_first_layer_is_learnt_exactly_beyond_its_threshold():
    """On common nodes, where the threshold is sharp: state evolution from a small overlap just below and above alpha_1."""
    model = DeepAttention(4.0)
    nodes = node_sets(model, 256, 1, seed=69)[0]
    alpha, _ = second_instability(model, nodes)
    assert solve(model, 0.95 * alpha, nodes, 0.05).value[0, 0] == 0
    assert solve(model, 1.05 * alpha, nodes, 0.05).value[0, 0] > 0.01
