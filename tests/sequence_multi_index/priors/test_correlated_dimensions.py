"""Correlated dimensions of a token: ridge regression in closed form, first thresholds, and GAMP beside state evolution.

`reports/test_check_prior.py` holds the identities of the prior.
"""

import numpy as np
import pytest
from scipy.optimize import brentq
from smi_tools import (
    channel_of,
    informed_paths,
    informed_runs,
    node_sets,
    path_settings,
    search_settings,
    symmetric_overlaps,
)

from agreement import assert_mean
from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.linear import Linear
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise
from attention_limits.sequence_multi_index.priors.correlated_dimensions import CorrelatedDimensions
from attention_limits.sequence_multi_index.priors.gaussian import standard_normal
from attention_limits.sequence_multi_index.priors.spectrum import of_values, power_law
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.free_entropy import free_entropy
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold

NOISE, SPECTRUM = 0.3, power_law(16, 0.4)
PRIOR = CorrelatedDimensions(np.eye(1), SPECTRUM)


def ridge_error(alpha):
    """V = (1/D) tr Sigma Cov(w | data) of y = w.x / sqrt(D) + noise, by the equation of Silverstein 1995.

    1 / v = lambda + <s / (1 + s v)> / alpha for the companion transform v at -lambda, lambda = NOISE / alpha the best ridge, and
    NOISE + V = NOISE / (lambda v), the predictive risk of Dobriban and Wager 2018, Ann. Stat. 46, 247.
    """
    ridge = NOISE / alpha
    s, shares = SPECTRUM.values, SPECTRUM.shares
    v = brentq(lambda v: 1.0 / v - ridge - shares @ (s / (1.0 + s * v)) / alpha, 1e-9, 1.0 / ridge, xtol=1e-14)
    return NOISE / (ridge * v) - NOISE


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
def test_state_evolution_of_linear_regression_is_ridge_in_closed_form(alpha):
    """Over scramblings of few nodes, which are the only error; false-alarm rate 1e-4."""
    channel, found = channel_of(OutputNoise(Linear(), NOISE)), []
    for nodes in node_sets(channel.link, 512, 4, seed=1):
        point = solve(channel, alpha, nodes, 1e-3, search_settings(tolerance=1e-6), prior=PRIOR)
        assert point.converged
        found.append(1.0 - point.value[0, 0])
    assert_mean(np.array(found), ridge_error(alpha))
    assert np.std(found) < 1e-3 * ridge_error(alpha)


def test_ridge_of_simulated_data_has_the_error_of_the_closed_form():
    """tr Sigma (I + X^T X / (D NOISE))^-1 / D at D = 640, whose mean differs by O(1 / D); false-alarm rate 1e-4."""
    dimension, alpha, found = 640, 1.0, []
    s = SPECTRUM.of_dimensions(dimension)
    for generator in np.random.default_rng(2).spawn(6):
        x = generator.standard_normal((int(alpha * dimension), dimension)) * np.sqrt(s)
        covariance = np.linalg.inv(np.eye(dimension) + x.T @ x / (dimension * NOISE))
        found.append(np.sum(s * np.diag(covariance)) / dimension)
    assert_mean(np.array(found), ridge_error(alpha), allowance=2.0 / dimension)


@pytest.mark.parametrize("link", [phase_retrieval(), DeepAttention(1.0)], ids=["phase retrieval", "two layers"])
def test_first_threshold_is_that_of_independent_dimensions_times_the_participation_ratio(link):
    channel, nodes = channel_of(link), node_sets(link, 1024, 1, seed=3)[0]
    prior = CorrelatedDimensions(np.eye(link.rows), SPECTRUM)
    found, independent = (first_threshold(channel, nodes, one) for one in (prior, standard_normal(link.rows)))
    assert found.alpha == pytest.approx(0.4 * independent.alpha, rel=1e-9)
    assert found.error == pytest.approx(0.4 * independent.error, rel=1e-9)
    assert found.bound == pytest.approx(0.4 * independent.bound, rel=1e-9)


@pytest.mark.parametrize(("alpha", "learned"), [(0.19, False), (0.21, True)])
def test_uninformed_start_leaves_zero_at_the_first_threshold(alpha, learned):
    """Phase retrieval has the threshold 1 / 2, here 0.2."""
    channel = channel_of(phase_retrieval())
    nodes = node_sets(channel.link, 4096, 1, seed=4)[0]
    found = solve(channel, alpha, nodes, 1e-3, search_settings(max_iterations=2000), prior=PRIOR)
    assert (found.value[0, 0] > 1e-3) == learned


def test_equal_eigenvalues_are_independent_dimensions():
    prior = CorrelatedDimensions(np.eye(2), of_values([1.0, 1.0]))
    precision = np.array([[0.7, 0.2], [0.2, 3.0]])
    one, other = standard_normal(2), prior
    np.testing.assert_allclose(other.overlap(precision), one.overlap(precision), rtol=1e-12)
    overlap = one.overlap(precision)
    assert other.free_entropy(overlap, precision) == pytest.approx(one.free_entropy(overlap, precision), rel=1e-12)


@pytest.mark.slow
def test_fixed_point_is_stationary_in_the_free_entropy():
    """dPhi / dt = 0 at t = 1 along Q(t Q_hat), two layers."""
    prior = CorrelatedDimensions(np.eye(2), SPECTRUM)
    channel = channel_of(DeepAttention(1.0), 2.0)
    nodes = node_sets(channel.link, 1024, 1, seed=5)[0]
    found = solve(channel, 0.5, nodes, 1e-3, search_settings(tolerance=1e-6), prior=prior)

    def parts(scale):
        precision = scale * found.precision
        overlap = prior.overlap(precision)
        log_z = channel_averages(channel, overlap, nodes, prior=prior).log_z
        return np.array([free_entropy(overlap, 0.0, log_z, prior=prior, precision=precision), 0.5 * log_z])

    slopes = (parts(1.05) - parts(0.95)) / 0.1
    # The slopes of the two parts cancel, up to the error of the nodes in Psi and in its derivative.
    assert slopes[0] < 0 < slopes[1]
    assert abs(slopes.sum()) < 0.03 * slopes[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "alpha"), [(DeepAttention(1.0), 0.3), (phase_retrieval(), 0.4)], ids=["two layers", "phase retrieval"]
)
def test_gamp_follows_state_evolution_from_an_informed_start(link, alpha):
    """W_hat W^T / D over four iterations at D = 512; bias O(iterations / D) allowed; false-alarm rate 1e-4."""
    dimension, start, iterations = 512, 0.3, 4
    prior, channel = CorrelatedDimensions(np.eye(link.rows), SPECTRUM), channel_of(link)
    paths = informed_paths(channel, prior, alpha, start, iterations, node_sets(link, 1024, 4, seed=6))
    generators = np.random.default_rng(7).spawn(24)
    runs = informed_runs(channel, prior, alpha, start, iterations, dimension, generators)
    error = np.std(paths, axis=0, ddof=1) / 2.0
    assert_mean(symmetric_overlaps(runs), np.mean(paths, axis=0), iterations / dimension, error)
    excess = np.array([run.variance + run.norm - np.eye(link.rows) for run in runs])
    assert_mean(excess, 0.0, iterations / dimension)


@pytest.mark.slow
def test_trajectory_ends_at_the_fixed_point():
    prior, channel = CorrelatedDimensions(np.eye(1), SPECTRUM), channel_of(OutputNoise(Linear(), NOISE))
    nodes = node_sets(channel.link, 512, 1, seed=8)[0]
    path = trajectory(channel, 1.0, nodes, path_settings(0.0, 60), prior)
    found = solve(channel, 1.0, nodes, 1e-3, search_settings(tolerance=1e-8), prior=prior)
    np.testing.assert_allclose(path.overlap[-1], found.value, atol=1e-6)
