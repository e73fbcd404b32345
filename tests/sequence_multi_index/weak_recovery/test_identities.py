"""Weak recovery is the linear response of the state evolution, and a branch with unlearned layers is one of its fixed points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smi_tools import channel_of, node_sets, search_settings

from agreement import assert_mean
from attention_limits.sequence_multi_index.channels.averages import channel_averages, sample_outputs
from attention_limits.sequence_multi_index.channels.posterior import Posterior, denoiser
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.state_evolution.fixed_point import Steps, solve
from attention_limits.sequence_multi_index.state_evolution.linear_response import excess_moments, linear_response
from attention_limits.sequence_multi_index.weak_recovery.branch import branch_point
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold
from attention_limits.sequence_multi_index.weak_recovery.staircase import staircase

pytestmark = pytest.mark.slow

REPLICAS = 16


def response_at_zero(channel, nodes, directions):
    """F on symmetric matrices (j, P, P) at zero overlap; omega, which is zero, does not enter the weights."""
    identity = np.eye(channel.link.rows)
    omega, observed = sample_outputs(channel.link, 0.0 * identity, identity, nodes.points)
    moments = channel.posterior(observed, omega, identity)
    weights = nodes.without_first(channel.link.rows * channel.link.tokens).weights
    return linear_response(excess_moments(moments, identity, identity), weights, directions)


def last_layer_branch(channel, overlap, nodes):
    """The branch of two-layer attention with Q_11 = 0, at a given Q_22."""
    return branch_point(channel, nodes, np.array([[0.0], [1.0]]), -np.log1p(-overlap), np.eye(1))


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
    channel = channel_of(DeepAttention(skip))
    eps = 0.005
    excess = []
    for nodes in node_sets(channel.link, 512, REPLICAS, seed=61):
        response = response_at_zero(channel, nodes, direction[None])[0]
        full, half = (channel_averages(channel, e * direction, nodes).information / e for e in (eps, 0.5 * eps))
        excess.append(2.0 * half - full - response)
    assert_mean(excess, allowance=0.01)


def test_linear_response_is_the_sum_over_pairs_of_tokens():
    """F(X) = E sum_ab T_ab X T_ab^T with explicit loops. The moments are arbitrary; one of three rows is learned, in a rotated
    basis. The two estimates of T enter as a symmetrised product."""
    rng = np.random.default_rng(62)
    basis, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    learned, rest = basis[:, :1], basis[:, 1:]
    V = np.eye(3) - 0.6 * learned @ learned.T
    covariances = rng.standard_normal((2, 7, 3, 2, 3, 2))
    covariances = covariances + covariances.transpose(0, 1, 4, 5, 2, 3)
    moments = Posterior(np.zeros(7), rng.standard_normal((2, 7, 3, 2)), covariances, np.ones(7), np.ones(7, bool))
    weights = rng.uniform(0.5, 2.0, 7)
    X = np.array([[[1.0, 0.3], [0.3, 0.4]], [[0.2, -0.5], [-0.5, 2.0]]])
    inverse = np.linalg.inv(V)
    expected = np.zeros((2, 2, 2))
    for n in range(7):
        for a in range(2):
            for b in range(2):
                T = [
                    rest.T @ (inverse @ covariances[e, n, :, a, :, b] @ inverse - inverse * (a == b)) @ rest
                    for e in range(2)
                ]
                for k in range(2):
                    product = T[0] @ X[k] @ T[1].T
                    expected[k] += 0.5 * weights[n] / 7 * (product + product.T)
    np.testing.assert_allclose(
        linear_response(excess_moments(moments, V, rest), weights, X), expected, rtol=1e-12, atol=1e-12
    )


@pytest.fixture(scope="module")
def response():
    """F of two-layer attention, as a matrix on the symmetric 2 x 2 matrices."""
    channel = channel_of(DeepAttention(1.0))
    basis = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    return response_at_zero(channel, node_sets(channel.link, 256, 1, seed=63)[0], basis)


@given(st.lists(st.floats(-3, 3), min_size=4, max_size=4))
@settings(max_examples=50)
def test_linear_response_keeps_matrices_positive(response, numbers):
    root = np.reshape(numbers, (2, 2))
    matrix = root @ root.T
    image = np.einsum("k,kpq->pq", [matrix[0, 0], matrix[1, 1], matrix[0, 1]], response)
    np.testing.assert_allclose(image, image.T, atol=1e-12 * (1 + np.trace(image)))
    assert np.linalg.eigvalsh(image)[0] >= -1e-12 * (1 + np.trace(image))


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_first_threshold_is_the_top_eigenpair_of_the_response(skip):
    """F(X) = X / alpha for the returned direction X, which is positive and of unit trace; without data-dependent means F is
    diagonal in the layers and the last layer goes first."""
    channel = channel_of(DeepAttention(skip))
    nodes = node_sets(channel.link, 512, 1, seed=64)[0]
    found = first_threshold(channel, nodes)
    image = response_at_zero(channel, nodes, found.direction[None])[0]
    np.testing.assert_allclose(image, found.direction / found.alpha, atol=1e-9)
    np.testing.assert_allclose(found.direction, np.diag([0.0, 1.0]), atol=1e-6)


def test_strong_skip_limit_of_the_first_threshold_is_one_sixth():
    """c -> infinity: y gives z_2 up to its sign, and E || z z^T - I ||_F^2 = M^2 + M = 6 for M = 2 tokens. The attention adds
    relative corrections of order 1/c to z_2; F is even in them at leading order, so 6/c is generous."""
    skip = 1000.0
    channel = channel_of(DeepAttention(skip))
    values = [1.0 / first_threshold(channel, nodes).alpha for nodes in node_sets(channel.link, 2048, REPLICAS, seed=65)]
    assert_mean(values, 6.0, allowance=6.0 / skip)


@pytest.mark.parametrize("overlap", [0.3, 0.77, 0.9])
def test_branch_alpha_is_that_of_the_state_evolution(overlap):
    """Deterministic: the same nodes and equations, solved backwards; tolerance 1e-6 per iteration of the solver.

    The solver's seed in Q_11 shifts sums over few nodes by sqrt(seed): it is made negligible here.
    """
    channel = channel_of(DeepAttention(1.0))
    nodes = node_sets(channel.link, 256, 1, seed=66)[0]
    point = last_layer_branch(channel, overlap, nodes)
    np.testing.assert_allclose(point.precision, [[overlap / (1.0 - overlap)]], rtol=1e-12)
    found = solve(channel, point.alpha, nodes, 0.05, search_settings(tolerance=1e-6), steps=Steps(1e-10))
    assert found.value[0, 0] == 0
    np.testing.assert_allclose(found.value[1, 1], overlap, atol=1e-4)


@pytest.mark.parametrize("overlap", [0.5, 0.9, 0.97])
def test_growth_is_one_step_from_a_small_first_overlap(overlap):
    """alpha E sum g_1^2 / eps at Q = diag(eps, Q_22), extrapolated in eps, against alpha f_11; false-alarm rate 1e-4 per case.
    Allowance: second-order terms of relative size (eps / (1 - Q_22))^2 = 1e-4."""
    channel = channel_of(DeepAttention(1.0))
    eps = 0.01 * (1.0 - overlap)
    excess = []
    for nodes in node_sets(channel.link, 512, REPLICAS, seed=67):
        point = last_layer_branch(channel, overlap, nodes)
        full, half = (
            point.alpha * channel_averages(channel, np.diag([e, overlap]), nodes).information[0, 0] / e
            for e in (eps, 0.5 * eps)
        )
        excess.append((2.0 * half - full) / point.growth - 1.0)
    assert_mean(excess, allowance=1e-3)


def test_layers_are_learned_one_after_the_other():
    """The last layer first, and at its threshold alpha_1 the growth factor of the first is one."""
    for skip in (0.5, 1.0, 4.0):
        channel = channel_of(DeepAttention(skip))
        nodes = node_sets(channel.link, 256, 1, seed=68)[0]
        last, first = staircase(channel, nodes, nodes, 1e-3)
        np.testing.assert_allclose(last.direction, np.diag([0.0, 1.0]), atol=1e-12)
        np.testing.assert_allclose(first.direction, np.diag([1.0, 0.0]), atol=1e-12)
        assert last.alpha == first_threshold(channel, nodes).alpha
        assert 2.0 * last.alpha < first.alpha < 1.0
        point = last_layer_branch(channel, first.overlap[1, 1], nodes)
        # The level of the threshold is known to 1e-3, and the alpha and log growth have slopes of order one in it.
        assert abs(point.alpha - first.alpha) < 1e-3
        assert abs(point.growth - 1.0) < 1e-3


def test_first_layer_is_learned_exactly_beyond_its_threshold():
    """On common nodes, where the threshold is sharp: state evolution from a small overlap just below and above alpha_1."""
    channel = channel_of(DeepAttention(4.0))
    nodes = node_sets(channel.link, 256, 1, seed=69)[0]
    alpha = staircase(channel, nodes, nodes, 1e-3)[1].alpha
    assert solve(channel, 0.95 * alpha, nodes, 0.05, search_settings()).value[0, 0] == 0
    assert solve(channel, 1.05 * alpha, nodes, 0.05, search_settings()).value[0, 0] > 0.01


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_sampled_channels_respond_to_a_small_overlap(layer):
    """Three layers: the product of the two estimates of g at Q_ll = 1e-3, against F Q. The response of importance sampling must
    come through its weights: nodes that move with omega bury it in noise. Extrapolated as above; false-alarm rate 1e-4."""
    channel = channel_of(DeepAttention(1.0, 1.0, 3), 0.5)
    direction, eps = np.zeros((3, 3)), 1e-3
    direction[layer, layer] = 1.0
    excess, response = [], []
    for nodes in node_sets(channel.link, 256, REPLICAS, seed=70):

        def products(overlap, nodes=nodes):
            V = np.eye(3) - overlap
            omega, observed = sample_outputs(channel.link, overlap, V, nodes.points)
            (first, second), _ = denoiser(channel.posterior(observed, omega, V), V)
            return nodes.mean(np.einsum("npa,npa->np", first, second))

        full, half = (products(e * direction) / e for e in (eps, 0.5 * eps))
        response.append(np.diag(response_at_zero(channel, nodes, direction[None])[0]))
        excess.append(2.0 * half - full - response[-1])
    assert_mean(excess, allowance=0.01)
    # The comparison is not one of noise with noise: the error is a small part of what is compared.
    assert np.std(excess, axis=0, ddof=1)[layer] / np.sqrt(REPLICAS) < 0.05 * np.mean(response, axis=0)[layer]


class TwoSquares(Link):
    """y = (h_1^2, h_2^2) of one token, each with Gaussian noise of a different variance."""

    rows, tokens, noise_dimension, sign_symmetry = 2, 1, 2, "rows"

    def __init__(self, *variances):
        self.variances = np.array(variances)

    def observe(self, h, noise=None):
        return h[..., 0] ** 2 + np.sqrt(self.variances) * noise

    def log_likelihood(self, observed, h):
        return -0.5 * np.sum((observed[:, None] - h[..., 0] ** 2) ** 2 / self.variances, axis=-1)


def test_rows_without_anything_in_common_keep_their_thresholds():
    """Two problems in one: what is learned of one row changes nothing for the other.

    The threshold of the second row on its branch is that at zero overlap, on the same nodes but for the sampling of the first
    row; its relative error is taken from eight scramblings, false-alarm rate 1e-4, and the level of a threshold is known to 1e-3.
    The eigenvalues differ by more than the share MAX_EQUAL_LAG of the larger one: closer ones may be one step with so few nodes.
    """
    link, excess = TwoSquares(0.3, 6.0), []
    for seed, nodes in enumerate(node_sets(link, 256, 8, seed=72)):
        channel = channel_of(link, 0.5, seed=(73, seed))
        steps = staircase(channel, nodes, nodes, 1e-3)
        response = response_at_zero(channel, nodes, np.eye(2)[:, :, None] * np.eye(2)[:, None, :])
        expected = np.sort(1.0 / np.einsum("kkk->k", response))
        excess.append([step.alpha / value - 1.0 for step, value in zip(steps, expected, strict=True)])
    assert_mean(excess, 0.0, allowance=2e-3)


def test_rows_with_the_same_threshold_are_one_step():
    """Deterministic on these nodes: sampling noise must not make two steps of one."""
    link = TwoSquares(0.3, 0.3)
    for seed, nodes in enumerate(node_sets(link, 512, 2, seed=75)):
        steps = staircase(channel_of(link, 1.0, seed=(76, seed)), nodes, nodes, 1e-3)
        assert len(steps) == 1
        np.testing.assert_array_equal(steps[0].direction, 0.5 * np.eye(2))


def test_branch_with_two_of_three_layers_learned_is_a_fixed_point_of_the_state_evolution():
    """Deterministic, on common nodes; the shape of Q_hat is iterated to 1e-6, and so is the state evolution."""
    channel = channel_of(DeepAttention(1.0, 1.0, 3), 0.5)
    nodes = node_sets(channel.link, 256, 1, seed=74)[0]
    subspace = np.eye(3)[:, [2, 0]]
    point = branch_point(channel, nodes, subspace, 4.2, np.diag([57.0, 0.14]), tolerance=1e-6)
    assert point.converged
    overlap = subspace @ point.precision @ np.linalg.inv(np.eye(2) + point.precision) @ subspace.T
    np.testing.assert_allclose(-np.log(np.linalg.det(np.eye(3) - overlap)), 4.2, atol=1e-4)
    assert 0.02 < overlap[0, 0] < overlap[2, 2]
    assert point.growth < 1.0
    found = solve(
        channel, point.alpha, nodes, 0.5, search_settings(tolerance=1e-6, max_iterations=3000), steps=Steps(1e-10)
    )
    assert found.converged
    assert found.value[1, 1] == 0
    np.testing.assert_allclose(found.value, overlap, atol=1e-3)
