"""The channel of every provided link is a probability density with the moments that are derivatives of its log Z."""

import numpy as np
import pytest
from links_under_test import EXACT, LINKS

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.sampling.importance import fibre_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.large_depth import LargeDepth
from attention_limits.sequence_multi_index.links.attention.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.links.attention.sequence_output import SequenceOutput
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.reports.density_tests import density_tests

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", LINKS)
def test_density_and_nishimori_identity(name):
    # Two tests of false-alarm rate 1e-4 each, on a fixed seed.
    for test in density_tests(LINKS[name], outputs=384, resolution=0.5):
        assert test.passed, f"{test.name}: {test.report}"


class WrongWeight(MultiHeadAttention):
    """Two heads without the Jacobian of the second."""

    def fibre(self, observed, free, angles):
        candidates, log_weight = super().fibre(observed, free, angles)
        return candidates, np.where(np.isfinite(log_weight), 0.0, -np.inf)


def test_a_wrong_density_is_found():
    assert not all(test.passed for test in density_tests(WrongWeight(), outputs=1024, resolution=0.5))


def prior(link, seed, q=0.4):
    rng = np.random.default_rng(seed)
    mix = 0.15 * rng.standard_normal((link.rows, link.rows))
    V = (1.0 - q) * np.eye(link.rows) + mix @ mix.T
    omega = np.sqrt(q) * rng.standard_normal((6, link.rows, link.tokens))
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal(omega.shape))
    return link.observe(h, rng.standard_normal((6, link.noise_dimension))), omega, V


def numerical_gradient(log_z, omega, step):
    gradient = np.empty_like(omega)
    for p, a in np.ndindex(omega.shape[1:]):
        shift = np.zeros_like(omega)
        shift[:, p, a] = step
        difference = log_z(omega + shift) - log_z(omega - shift)
        gradient[:, p, a] = difference / (2.0 * step)
    return gradient


@pytest.mark.parametrize("name", EXACT)
def test_moments_of_finite_sums_are_derivatives(name):
    link = LINKS[name]
    observed, omega, V = prior(link, 1)
    channel = Channel(link, 1.0, np.random.default_rng(0))
    assert channel.method == "finite sum"
    moments = channel.posterior(observed, omega, V)
    gradient = numerical_gradient(lambda x: channel.posterior(observed, x, V).log_z, omega, 1e-4)
    score = np.einsum("pq,nqa->npa", np.linalg.inv(V), moments.mean)
    # Central differences: an error of step^2 times a third derivative, which is of the order of the cube of the score.
    assert np.allclose(gradient, score, rtol=1e-5, atol=1e-5 * np.abs(score).max() ** 3)


SAMPLED = [name for name in LINKS if name not in EXACT and LINKS[name].rows * LINKS[name].tokens <= 4]


@pytest.mark.parametrize("name", SAMPLED)
def test_moments_of_sampled_channels_are_derivatives(name):
    """Independent scramblings of the nodes; a t-test over them for each entry, false-alarm rate 1e-4 over all of them."""
    link = LINKS[name]
    # Likelihoods that jump have no derivative at nodes that move with omega: those of hardly known rows do not move.
    observed, omega, V = prior(link, 2, 0.1 if hasattr(link, "log_likelihood") else 0.4)
    dimension = (
        link.rows * link.tokens if hasattr(link, "log_likelihood") else link.free_rows * link.tokens + link.angles
    )
    differences, scores = [], []
    for child in np.random.default_rng(5).spawn(12):
        nodes = gaussian_nodes(dimension, 1024, child, 1.0).points

        def log_z(x, nodes=nodes):
            return fibre_moments(link, observed, x, V, nodes)[0]

        mean = fibre_moments(link, observed, omega, V, nodes)[1].reshape(omega.shape)
        scores.append(np.einsum("pq,nqa->npa", np.linalg.inv(V), mean))
        differences.append(numerical_gradient(log_z, omega, 1e-3) - scores[-1])
    # Self-normalised sums have a bias of the order of their variance, which is below 3 % of the scores here.
    assert_mean(differences, allowance=0.03 * (1.0 + np.abs(np.mean(scores, axis=0))))


def assert_same_posterior(first: Link, second: Link):
    h = np.random.default_rng(3).standard_normal((20, 1, 2))
    omega, V = 0.3 * np.random.default_rng(4).standard_normal(h.shape), np.array([[0.7]])
    moments = [
        Channel(link, 1.0, np.random.default_rng(0)).posterior(link.observe(h), omega, V) for link in (first, second)
    ]
    assert np.allclose(moments[0].mean, moments[1].mean, rtol=1e-7, atol=1e-9)
    assert np.allclose(moments[0].covariance, moments[1].covariance, rtol=1e-7, atol=1e-9)


def test_one_head_is_one_layer_of_deep_attention():
    assert_same_posterior(MultiHeadAttention(heads=1, beta=1.3), DeepAttention(depth=1, beta=1.3))


def test_one_layer_has_the_same_posterior_by_its_sequence_as_by_its_attention():
    assert_same_posterior(SequenceOutput(depth=1, skip=0.4, beta=0.8), DeepAttention(depth=1, beta=0.8))


def test_the_limit_of_many_layers_has_the_posterior_of_one_layer():
    # The average transfer is invertible: y gives h up to its sign, for any kappa.
    assert_same_posterior(LargeDepth(ratio=1.5), DeepAttention(depth=1))


def test_phase_retrieval_posterior_is_that_of_two_points():
    channel = Channel(phase_retrieval(), 1.0, np.random.default_rng(0))
    size, omega, V = np.array([0.3, 1.7]), np.array([0.5, -0.2]), 0.6
    moments = channel.posterior(size**2, omega[:, None, None], np.array([[V]]))
    mean = size * np.tanh(size * omega / V)
    assert np.allclose(moments.mean[:, 0, 0] + omega, mean, rtol=1e-12)
    assert np.allclose(moments.covariance[:, 0, 0, 0, 0], size**2 - mean**2, rtol=1e-12)
