"""Importance sampling of deep attention: against itself in NumPy, against the quadrature, and against derivatives of log Z.

Of given nodes the estimate of Z is a smooth function of omega and V, and unbiased over scramblings: so are Z times the moments.
"""

import numpy as np
import pytest
from smi_tools import Generic, channel_of, draw_channels, gradient_and_hessian

from agreement import assert_mean
from attention_limits.numerics.differences import FIRST, OFFSETS
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.sampling.importance import (
    fibre_moments,
    own_proposals,
    shared_proposal,
)
from attention_limits.sequence_multi_index.channels.sampling.two_tokens import two_token_moments
from attention_limits.sequence_multi_index.channels.sampling.two_tokens_kernels import PASS
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention

pytestmark = pytest.mark.slow

REPLICAS = 16
# Rounding errors in single precision of log Z and of moments in units of the prior standard deviations.
SINGLE = 2e-5


def covariance(*variances):
    """V with these variances and correlations of +-0.3."""
    deviations = np.sqrt(variances)
    sign = np.where(np.add.outer(np.arange(len(deviations)), np.arange(len(deviations))) % 3 == 1, -1.0, 1.0)
    correlation = np.where(np.eye(len(deviations), dtype=bool), 1.0, 0.3 * sign)
    return correlation * np.outer(deviations, deviations)


# Rows of variance above 0.9 stay where they are, below 0.7 they follow omega: all of one kind, in between, and in every order.
COVARIANCES = {
    "depth 2, unknown": covariance(0.95, 0.4),
    "depth 2, between": covariance(0.8, 0.4),
    "depth 2, known": covariance(0.5, 0.3),
    "depth 3, unknown": covariance(1.0, 0.9, 0.2),
    "depth 3, unknown first": covariance(0.9, 0.3, 0.6),
    "depth 3, known first": covariance(0.3, 0.9, 0.6),
    "depth 3, known": covariance(0.6, 0.3, 0.1),
    "depth 4, mixed": covariance(0.2, 0.95, 0.5, 0.3),
    "depth 4, mixed again": covariance(0.9, 0.4, 0.99, 0.7),
}


def node_points(link, count, generator):
    return gaussian_nodes(link.free_rows * link.tokens, count, generator, 1.0).points


def kernel_moments(link, u, omega, V, nodes, proposals=None):
    """`fibre_moments` by the compiled kernel."""
    proposals = shared_proposal(V, omega, link.free_rows) if proposals is None else proposals
    return two_token_moments(link, np.ascontiguousarray(u), np.ascontiguousarray(omega), V, nodes, proposals)


def adapted(link, u, omega, V, nodes):
    """The shared proposal and one that each output has from these nodes."""
    shared = shared_proposal(V, omega, link.free_rows)
    _, *found = kernel_moments(link, u, omega, V, nodes, shared)
    return shared.joined(own_proposals(V, omega, *found, link.free_rows), np.arange(len(u)))


def overlap_of(V):
    return 0.5 * np.eye(len(V))


def assert_equal_moments(found, expected, V):
    """log Z, moments in units of the prior standard deviations, effective sample size.

    Rounding: log-weights of size 100 are rounded to 1e-14 each, the exponential to 4e-15, the sums over nodes to 1e-14.
    """
    scale = np.repeat(np.sqrt(np.diag(V)), 2)
    for one, other, unit in zip(found, expected, (1.0, scale, np.outer(scale, scale), None), strict=True):
        if unit is None:
            np.testing.assert_allclose(one, other, rtol=1e-9)
        else:
            np.testing.assert_allclose(one / unit, other / unit, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize("V", COVARIANCES.values(), ids=COVARIANCES)
def test_kernel_computes_the_sums_of_the_general_sampling(V, several):
    """From the shared proposal, and from a mixture whose second one is cut to a tenth: the densities are then far apart."""
    link = DeepAttention(0.7, 1.3, len(V))
    u, omega, _ = draw_channels(link, V, 20, seed=201, overlap=overlap_of(V))
    nodes = node_points(link, 2 * PASS, np.random.default_rng(202))
    proposals = None
    if several == 2:
        proposals = adapted(link, u, omega, V, nodes)
        proposals.spread[:, 1] *= 0.1
    expected = fibre_moments(link, u, omega, V, nodes, proposals)
    assert_equal_moments(kernel_moments(link, u, omega, V, nodes, proposals), expected, V)


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize("skip", [0.1, 1.0, 9.0])
@pytest.mark.parametrize("smallest", [1.0, 1e-3, 1e-6])
def test_single_precision_has_five_digits(skip, smallest, several):
    """At the ends of the range in which `single_precision` allows it.

    The width of the last layer is sqrt(smallest) of its fields, so that a field, rounded to 6e-8 of itself and up to ten times
    as large behind a weak skip, has errors of 6e-7 / sqrt(smallest) widths, and a log-weight, at distances of up to five widths,
    five times as much.
    """
    link, V = (
        DeepAttention(skip, 1.0, 3),
        np.diag(np.minimum([30 * smallest, 40 * smallest, smallest], [0.5, 0.9, 0.5])),
    )
    u, omega, _ = draw_channels(link, V, 50, seed=218, overlap=np.eye(3) - V)
    nodes = node_points(link, 4 * PASS, np.random.default_rng(219))
    proposals = adapted(link, u, omega, V, nodes) if several == 2 else None
    exact = kernel_moments(link, u, omega, V, nodes, proposals)
    found = kernel_moments(link, u, omega, V, nodes.astype(np.float32), proposals)
    scale = np.repeat(np.sqrt(np.diag(V)), 2)
    enough = exact[3] >= 10
    assert enough.mean() > 0.3
    tolerance = SINGLE + 3e-6 / np.sqrt(smallest)
    for one, other, unit in zip(found[:3], exact[:3], (1.0, scale, np.outer(scale, scale)), strict=True):
        np.testing.assert_allclose((one / unit)[enough], (other / unit)[enough], rtol=tolerance, atol=tolerance)


def test_tokens_that_are_all_but_equal_have_no_weight_without_a_skip():
    """kappa = 1 - S_12 - S_21 is of the second order in the difference d of the tokens: a rounded difference of exponentials
    could be negative, and at d = 0 attention is singular."""
    link, V = DeepAttention(0.0, 1.0, 3), covariance(0.9, 0.8, 0.7)
    u, omega, _ = draw_channels(link, V, 20, seed=215, overlap=0.0 * np.eye(3))
    nodes = node_points(link, PASS, np.random.default_rng(216)).reshape(PASS, 2, 2)
    differences = np.logspace(-12, -2, PASS // 2)
    nodes[: PASS // 2, 0, 1] = nodes[: PASS // 2, 0, 0] + differences * np.resize([1.0, -1.0, 0.0], PASS // 2)
    nodes = nodes.reshape(PASS, 4)
    without = nodes.copy()
    without[: PASS // 2] = without[PASS // 2 :]
    log_z, mean, second, effective = kernel_moments(link, u, 0.0 * omega, V, nodes)
    assert np.all(np.isfinite(log_z))
    assert np.all(np.isfinite(mean))
    assert np.all(effective >= 1)
    assert np.all(np.linalg.eigvalsh(second) > -1e-12)
    # Half of the nodes are equal, the other half has no weight: d must be as small as u_1 - u_2 requires.
    expected, *_ = kernel_moments(link, u, 0.0 * omega, V, without)
    np.testing.assert_allclose(log_z, expected - np.log(2.0), atol=0.05)
    general, *_ = fibre_moments(link, u, 0.0 * omega, V, nodes)
    np.testing.assert_allclose(general, log_z, atol=0.05)


@pytest.mark.parametrize("skip", [0.0, 1.0])
def test_kernel_is_exact_far_out(skip):
    """Fields up to ten, where attention saturates and weights range over hundreds of orders of magnitude."""
    link, V = DeepAttention(skip, 1.0, 3), covariance(1.0, 0.5, 0.4)
    rng = np.random.default_rng(203)
    omega = 3.0 * rng.standard_normal((50, 3, 2))
    u = 5.0 * rng.standard_normal((50, 2))
    nodes = node_points(link, PASS, rng)
    found, expected = (moments(link, u, omega, V, nodes) for moments in (kernel_moments, fibre_moments))
    # Log-weights of 1e3 are rounded to 1e-13, and without a skip 1 / kappa amplifies the rounding of the attention.
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-6)


def test_channel_of_deep_attention_is_that_of_its_fibre():
    """The same nodes with and without the kernel, hence the same two estimates to rounding. The kernel computes in single
    precision: log-weights of size 100 are rounded to 6e-6, hence log Z, and moments in units of the prior deviations."""
    link, V = DeepAttention(1.0, 1.0, 3), COVARIANCES["depth 3, known first"]
    u, omega, _ = draw_channels(link, V, 20, seed=204, overlap=overlap_of(V))
    fast, slow = (channel_of(which, 0.5, seed=205).posterior(u, omega, V) for which in (link, Generic(link)))
    np.testing.assert_allclose(fast.log_z, slow.log_z, atol=SINGLE)
    np.testing.assert_allclose(fast.means, slow.means, atol=SINGLE)
    np.testing.assert_allclose(fast.covariances, slow.covariances, atol=SINGLE)
    np.testing.assert_allclose(fast.effective, slow.effective, rtol=10 * SINGLE)
    assert np.all(fast.means[0] != fast.means[1])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("name", ["depth 2, unknown", "depth 2, known"])
def test_sampling_agrees_with_the_quadrature(name, own):
    """Two layers: Z and Z times the moments, relative to the exact Z and without bias over scramblings; false-alarm rate 1e-4
    per case. The quadrature is good to 1e-8 at this resolution. Proposals are taken from other nodes: then they bias nothing."""
    link, V = DeepAttention(1.0), COVARIANCES[name]
    u, omega, _ = draw_channels(link, V, 12, seed=206, overlap=overlap_of(V))
    exact = channel_of(link, 2.0).posterior(u, omega, V)
    mean = exact.mean.reshape(-1, 4)
    second = exact.covariance.reshape(-1, 4, 4) + np.einsum("ni,nj->nij", mean, mean)
    expected = np.concatenate([np.ones((12, 1)), mean, second.reshape(12, 16)], axis=1)
    found = []
    for generator in np.random.default_rng(207).spawn(REPLICAS):
        nodes, others = (node_points(link, 1024, child) for child in generator.spawn(2))
        proposals = adapted(link, u, omega, V, others) if own else None
        log_z, mean, second, _ = kernel_moments(link, u, omega, V, nodes, proposals)
        moments = np.concatenate([np.ones((12, 1)), mean, second.reshape(12, 16)], axis=1)
        found.append(np.exp(log_z - exact.log_z)[:, None] * moments)
    assert_mean(found, expected, allowance=1e-7)


def steps_of(h, V):
    """A tenth of the narrowest feature, the competition of the signs of the last layer: truncation errors as in
    `test_channel_derivatives`, 12 k 0.1^8 and 16 k^2 0.1^8 with k below 10 here."""
    return 0.1 / np.maximum(np.abs(h[:, -1]).sum(axis=1) / np.sqrt(V[-1, -1]), 2.0)


def test_moments_on_fixed_nodes_are_exact_derivatives():
    """As long as no row is known the nodes do not move with omega: on any nodes, however few, the moments are the derivatives
    of that very estimate of log Z."""
    link, V = DeepAttention(1.0, 1.0, 3), COVARIANCES["depth 3, unknown"]
    u, omega, h = draw_channels(link, V, 6, seed=208, overlap=overlap_of(V))
    nodes = node_points(link, PASS, np.random.default_rng(209))

    def log_z(index, points):
        return kernel_moments(link, u[index], points, V, nodes)[0]

    gradient, hessian = gradient_and_hessian(log_z, omega, V, steps_of(h, V))
    _, mean, second, _ = kernel_moments(link, u, omega, V, nodes)
    scale = np.repeat(np.sqrt(np.diag(V)), 2)
    correlation = np.kron(V, np.eye(2)) / np.outer(scale, scale)
    covariance_found = (second - np.einsum("ni,nj->nij", mean, mean)) / np.outer(scale, scale)
    np.testing.assert_allclose(mean / scale, gradient @ correlation, atol=1e-5)
    np.testing.assert_allclose(covariance_found, correlation + correlation @ hessian @ correlation, atol=1e-4)


def v_slope(moments_at, V, direction):
    """(d log Z / dV along a direction by differences, the same from second moments of the deviations)."""
    step = 0.02 * np.linalg.eigvalsh(V)[0]
    slope = np.tensordot(FIRST, [moments_at(V + k * step * direction)[0] for k in OFFSETS], axes=1) / step
    _, second = moments_at(V)
    inverse = np.linalg.inv(V)
    rows = len(V)
    same_token = np.einsum("npaqa->npq", second.reshape(-1, rows, 2, rows, 2))
    response = inverse @ same_token @ inverse - 2.0 * inverse
    return slope, 0.5 * np.einsum("npq,pq->n", response, direction)


@pytest.mark.parametrize("entry", [(0, 0), (0, 2), (1, 2), (2, 2)])
def test_slope_in_v_is_half_the_second_derivative_in_omega(entry):
    """The heat equation of the Gaussian prior, exact on fixed nodes; truncation 0.02^8 times numbers of order 1e4."""
    link, V = DeepAttention(1.0, 1.0, 3), COVARIANCES["depth 3, unknown"]
    u, omega, _ = draw_channels(link, V, 6, seed=210, overlap=overlap_of(V))
    nodes = node_points(link, PASS, np.random.default_rng(211))
    direction = np.zeros((3, 3))
    direction[entry] = direction[entry[::-1]] = 1.0

    def moments_at(covariance):
        log_z, _, second, _ = kernel_moments(link, u, omega, covariance, nodes)
        return log_z, second

    slope, expected = v_slope(moments_at, V, direction)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("entry", [(0, 0), (0, 1), (1, 1)])
def test_slope_in_v_of_the_quadrature(entry):
    """Two layers; log Z is good to 4e-10, which the difference amplifies by 2 / (0.02 x 0.28) to 2e-7."""
    link, V = DeepAttention(1.0), COVARIANCES["depth 2, known"]
    u, omega, _ = draw_channels(link, V, 6, seed=212)
    direction = np.zeros((2, 2))
    direction[entry] = direction[entry[::-1]] = 1.0

    def moments_at(covariance):
        found = channel_of(link, 3.0).posterior(u, omega, covariance)
        return found.log_z, found.covariance.reshape(-1, 4, 4) + np.einsum(
            "ni,nj->nij", found.mean.reshape(-1, 4), found.mean.reshape(-1, 4)
        )

    slope, expected = v_slope(moments_at, V, direction)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["depth 3, known", "depth 3, known first", "depth 4, mixed"])
def test_moments_on_moving_nodes_are_derivatives_on_average(name):
    """Nodes of known rows move with omega: the slope of one estimate of Z differs from Z V^-1 E[h - omega], its average over
    scramblings does not. In units of a reference Z; false-alarm rate 1e-4 per case."""
    V = COVARIANCES[name]
    link = DeepAttention(1.0, 1.0, len(V))
    u, omega, h = draw_channels(link, V, 4, seed=213, overlap=overlap_of(V))
    steps, scale = steps_of(h, V), np.repeat(np.sqrt(np.diag(V)), 2)
    size, inverse = len(scale), np.kron(np.linalg.inv(V), np.eye(2))
    shifts = OFFSETS[:, None, None, None] * steps[:, None] * (np.eye(size) * scale)[:, None, :]
    points = (omega.reshape(4, size) + shifts).reshape(-1, link.depth, 2)
    reference = kernel_moments(link, u, omega, V, node_points(link, 8192, np.random.default_rng(214)))[0]
    excess = []
    for generator in np.random.default_rng(215).spawn(2 * REPLICAS):
        nodes = node_points(link, 512, generator)
        values = kernel_moments(link, np.tile(u, (9 * size, 1)), points, V, nodes)[0].reshape(9, size, 4)
        slope = np.tensordot(FIRST, np.exp(values - reference), axes=1).T / steps[:, None]
        log_z, mean, _, _ = kernel_moments(link, u, omega, V, nodes)
        excess.append(slope - np.exp(log_z - reference)[:, None] * (mean @ inverse) * scale)
    assert_mean(excess, allowance=1e-5)
    assert np.max(np.abs(excess)) > 1e-3


def test_nearly_recovered_layers_are_resolved():
    """1 - Q = (0.03, 0.04, 5e-4), against 64 times as many nodes. From the shared proposal alone a tenth of the outputs has fewer
    than 20 nodes that count, and the mean squared error of the posterior means is 0.010 to 0.066 V; deterministic."""
    link, V = DeepAttention(1.0, 1.0, 3), np.diag([0.03, 0.04, 5e-4])
    u, omega, _ = draw_channels(link, V, 200, seed=217, overlap=np.eye(3) - V)
    exact = channel_of(link, 4.0, seed=218).posterior(u, omega, V)
    found = channel_of(link, 0.5, seed=219).posterior(u, omega, V)
    assert np.mean(exact.resolved) == 1.0
    assert np.mean(found.resolved) > 0.97
    misses = np.mean((found.mean - exact.mean) ** 2, axis=(0, 2)) / np.diag(V)
    assert np.all(misses < 0.007)
