"""Exact channels for V = v I: the quadrature over the sphere, and the von Mises-Fisher law of the sum of squares."""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels, gradient_and_hessian, node_sets, path_settings, search_settings

from agreement import assert_mean
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.rotations.moments import rotated_moments
from attention_limits.sequence_multi_index.figures.thresholds import rank
from attention_limits.sequence_multi_index.links.attention.rank import RankAttention
from attention_limits.sequence_multi_index.links.link import LENGTH, ROTATION, SAMPLING, SPHERE
from attention_limits.sequence_multi_index.links.one_token import SumOfSquares
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold

pytestmark = pytest.mark.slow

LINKS = [RankAttention(3, beta=0.7, readout=(0.5,) * 3), RankAttention(4), SumOfSquares(2), SumOfSquares(5)]


def isotropic(link, resolution=0.75):
    return Channel(link, resolution, np.random.default_rng(0), isotropic=True)


@pytest.mark.parametrize("link", LINKS[::3], ids=repr)
def test_moments_are_those_of_importance_sampling(link):
    """Two times 33 000 nodes on outputs at Q = 0.4 I; their errors are below 0.05."""
    V = 0.6 * np.eye(link.rows)
    observed, omega, _ = draw_channels(link, V, 6, 1)
    exact = isotropic(link).posterior(observed, omega, V)
    sampled = channel_of(link, 4.0).posterior(observed, omega, V)
    assert exact.resolved.all()
    for name in ("log_z", "mean", "covariance"):
        np.testing.assert_allclose(getattr(exact, name), getattr(sampled, name), atol=0.05)


@pytest.mark.parametrize("v", [1.0, 0.3, 1e-2, 1e-5])
@pytest.mark.parametrize("link", LINKS, ids=repr)
def test_trace_of_the_covariance_is_the_laplacian_of_log_z(link, v):
    """Derivatives along isotropic steps need V = v I alone: d log Z / d omega = E[h - omega] / v, and its derivative."""
    V = v * np.eye(link.rows)
    observed, omega, _ = draw_channels(link, V, 4, 2)
    channel = isotropic(link, 1.5)
    moments = channel.posterior(observed, omega, V)
    gradient, hessian = gradient_and_hessian(
        lambda index, at: channel.posterior(observed[index], at, V).log_z, omega, V, np.full(4, 0.05)
    )
    size = link.rows * link.tokens
    np.testing.assert_allclose(gradient, moments.mean.reshape(4, size) / np.sqrt(v), atol=1e-5)
    covariance = moments.covariance.reshape(4, size, size)
    np.testing.assert_allclose(hessian, covariance / v - np.eye(size), atol=1e-4)


@pytest.mark.parametrize("v", [1.0, 0.1, 1e-4])
def test_sphere_of_two_dimensions_is_the_circle(v):
    """The quadrature over the angle of `angle_kernels` takes rank two: another derivation of the same integral."""
    link, V = RankAttention(2), v * np.eye(2)
    observed, omega, _ = draw_channels(link, V, 50, 3)
    sphere, circle = (rotated_moments(method, link, observed, omega, V, 2.0) for method in (SPHERE, ROTATION))
    for found, wanted, unit in zip(sphere, circle, (1.0, np.sqrt(v), v, 1.0), strict=True):
        np.testing.assert_allclose(found / unit, wanted / unit, atol=1e-8)


def test_quadrature_is_exact_to_rounding():
    """Against three times the resolution, down to exact recovery; in units of the width of the prior."""
    link = RankAttention(8)
    for v in (1.0, 0.3, 1e-2, 1e-6):
        V = v * np.eye(8)
        observed, omega, _ = draw_channels(link, V, 50, 4)
        coarse, fine = (isotropic(link, resolution).posterior(observed, omega, V) for resolution in (0.5, 1.5))
        np.testing.assert_allclose(coarse.mean / np.sqrt(v), fine.mean / np.sqrt(v), atol=1e-7)
        np.testing.assert_allclose(coarse.covariance / v, fine.covariance / v, atol=1e-7)


@pytest.mark.parametrize("p", [3, 8])
def test_threshold_is_the_exact_one(p):
    """1 / alpha = M (M + 1) / p - 2 (p - M + 1) / p^2, within four standard errors over four scramblings."""
    found = [first_threshold(isotropic(RankAttention(p)), nodes) for nodes in node_sets(RankAttention(p), 4096, 4, 5)]
    mean, error = mean_and_error(np.array([one.alpha for one in found]))
    assert error < 0.02 * mean
    assert abs(mean - rank.first_threshold(p, 2)) < 4 * max(error, found[0].error)


def test_state_evolution_is_that_of_the_sampled_channel():
    """Rank three, one iteration from Q = 0.3 I at alpha / p = 0.4, on ten scramblings of both; false-alarm rate 1e-4 and the bias
    of few nodes. The sampled channel knows nothing of isotropy: its overlap is a diagonal matrix."""
    link = RankAttention(3)
    paths = {True: [], False: []}
    for k, nodes in enumerate(node_sets(link, 128, 10, 6)):
        for way, found in paths.items():
            channel = Channel(link, 0.35, np.random.default_rng(k), isotropic=way)
            assert channel.method == (SPHERE if way else SAMPLING)
            found.append(trajectory(channel, 1.2, nodes, path_settings(0.3, 1)).overlap[-1])
    exact, sampled = (np.array(paths[way]) for way in (True, False))
    assert np.all(exact == exact[:, :1, :1] * np.eye(3))
    trace = np.trace(sampled, axis1=1, axis2=2) / 3.0
    assert_mean(trace[:, None] - exact[:, 0, :1], np.zeros(1), 0.01, np.zeros(1))


def test_learning_curve_of_rank_four():
    """Nothing below the threshold, exact recovery beyond n / (D p) = 1 / 2, an isotropic overlap in between."""
    channel = isotropic(RankAttention(4), 0.5)
    (nodes,) = node_sets(RankAttention(4), 256, 1, 7)
    low, middle, high = (solve(channel, alpha, nodes, 1e-3, search_settings()).value for alpha in (0.7, 1.6, 2.4))
    assert np.all(low == 0.0)
    assert 0.4 < middle[0, 0] < 0.8
    np.testing.assert_allclose(middle, middle[0, 0] * np.eye(4), atol=1e-12)
    assert high[0, 0] > 0.999


def test_only_a_promise_of_isotropy_selects_the_method():
    """Unequal weights, more layers or more tokens have none; a V that is not v I is refused."""
    for link in (RankAttention(3, readout=(1.0, 1.0, 0.5)), RankAttention(3, depth=2), RankAttention(3, tokens=3)):
        assert isotropic(link).method == SAMPLING
    assert isotropic(RankAttention(2)).method == ROTATION
    assert isotropic(SumOfSquares(3)).method == LENGTH
    assert channel_of(RankAttention(3)).method == SAMPLING
    with pytest.raises(ValueError, match="needs V = v I"):
        isotropic(RankAttention(3)).posterior(np.ones((1, 1, 2)), np.zeros((1, 3, 2)), np.diag([1.0, 0.9, 0.8]))
