"""Nishimori identities: averaged over outputs of the model, the posterior behaves like the truth.

Plain Monte Carlo, so that nothing is shared with the nodes of state evolution: one false alarm in 1e4 per call of
`assert_mean`, errors from the paired differences.
"""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels

from agreement import assert_mean
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention

pytestmark = pytest.mark.slow

CASES = [
    (1.0, np.array([[0.0, 0.0], [0.0, 0.5]])),
    (1.0, np.array([[0.4, 0.1], [0.1, 0.8]])),
    (0.2, np.array([[0.3, -0.1], [-0.1, 0.6]])),
    (4.0, np.array([[0.5, 0.2], [0.2, 0.3]])),
]


@pytest.fixture(params=CASES, ids=lambda case: f"skip{case[0]}-Q22={case[1][1, 1]}", scope="module")
def sample(request):
    skip, overlap = request.param
    model = DeepAttention(skip)
    V = np.eye(2) - overlap
    u, omega, h = draw_channels(model, V, 6000, seed=31, overlap=overlap)
    return V, h - omega, channel_of(model).posterior(u, omega, V)


def test_information_is_minus_the_derivative_of_the_denoiser(sample):
    """E sum_a g_a g_a^T = -E sum_a dg_aa."""
    V, _, moments = sample
    g, dg = denoiser(moments, V)
    assert_mean(np.einsum("npa,nqa->npq", *g) + dg)


def test_posterior_mean_averages_to_the_prior_mean(sample):
    _, _, moments = sample
    assert_mean(moments.mean)


def test_posterior_spread_and_movement_add_up_to_the_prior(sample):
    """E[Cov] + E[mean mean^T] = V x I over layers and tokens."""
    V, _, moments = sample
    second = moments.covariance + np.einsum("npa,nqb->npaqb", moments.mean, moments.mean)
    assert_mean(second, np.einsum("pq,ab->paqb", V, np.eye(2)))


def test_truth_and_estimate_overlap_like_two_estimates(sample):
    """E[(h - omega) mean^T] = E[mean mean^T]: the truth is one more posterior draw."""
    _, truth, moments = sample
    assert_mean(np.einsum("npa,nqb->npaqb", truth - moments.mean, moments.mean))


def test_squared_deviations_of_the_truth_match_the_posterior_covariance(sample):
    """Also when weighted with what was predicted: a calibrated covariance sample by sample, not only on average."""
    _, truth, moments = sample
    deviation = truth - moments.mean
    excess = np.einsum("npa,nqb->npaqb", deviation, deviation) - moments.covariance
    assert_mean(excess)
    assert_mean(excess * np.tanh(moments.mean[:, 1, 0] * moments.mean[:, 1, 1])[:, None, None, None, None])
    width = np.einsum("npapa->n", moments.covariance)
    assert_mean(excess * (width / width.mean())[:, None, None, None, None])
