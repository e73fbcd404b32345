"""Channels of every kind of link: Nishimori identities, exact formulas, the two estimates of importance sampling.

Averages over outputs and over scramblings of the nodes: each replica has its own of both, false-alarm rate 1e-4 per call of
`assert_mean`. A mean of importance sampling is a ratio of sums, biased by about one over the effective sample size in posterior
standard deviations: twice that is allowed for.
"""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels

from agreement import assert_mean, t_threshold
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.channel import denoiser
from attention_limits.sequence_multi_index.channels.sampling.importance import fibre_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import SumOfSquares, phase_retrieval
from attention_limits.sequence_multi_index.links.wrappers import OutputNoise

pytestmark = pytest.mark.slow

REPLICAS = 16
# (link, method, outputs per replica)
LINKS = {
    "three layers": (DeepAttention(1.0, 1.0, 3), "importance sampling over two tokens", 200),
    "three layers without skip": (DeepAttention(0.0, 1.0, 3), "importance sampling over two tokens", 200),
    "linear attention": (DeepAttention(1.0, 1.0, 2, 2, "linear"), "importance sampling", 60),
    "three tokens": (DeepAttention(1.0, 1.0, 2, 3), "importance sampling", 40),
    "one layer": (DeepAttention(1.0, 1.0, 1, 3), "finite sum", 1000),
    "phase retrieval": (phase_retrieval(), "finite sum", 1000),
    "sum of squares": (SumOfSquares(2), "importance sampling", 100),
    "noisy attention": (OutputNoise(DeepAttention(1.0, 1.0, 1), 0.1), "importance sampling", 60),
}


@pytest.fixture(params=LINKS, scope="module")
def replicas(request):
    """(V, allowance, replicas of (h - omega, Posterior)) of a link at an overlap with correlations."""
    link, method, outputs = LINKS[request.param]
    overlap = 0.4 * np.eye(link.rows) + 0.1 * (np.ones((link.rows, link.rows)) - np.eye(link.rows))
    V = np.eye(link.rows) - overlap
    found = []
    for seed in range(REPLICAS):
        channel = channel_of(link, 0.5 if link.rows < 3 else 1.0, seed=(231, seed))
        assert channel.method == method
        observed, omega, h = draw_channels(link, V, outputs, seed=(232, seed), overlap=overlap)
        found.append((h - omega, channel.posterior(observed, omega, V)))
    # Each half has half of the effective samples; deviations are at most one.
    allowance = 4.0 * np.mean([np.mean(1.0 / np.maximum(moments.effective, 1.0)) for _, moments in found])
    assert allowance < 0.03
    return V, allowance, found


def test_information_is_minus_the_derivative_of_the_denoiser(replicas):
    """E sum_a g_a g_a^T = -E sum_a dg_aa, from the two estimates of g; V^-1 is at most two."""
    V, allowance, found = replicas
    values = []
    for _, moments in found:
        (first, second), dg = denoiser(moments, V)
        values.append(np.mean(np.einsum("npa,nqa->npq", first, second) + dg, axis=0))
    tokens = found[0][0].shape[2]
    values = np.array(values)
    assert_mean(values + values.transpose(0, 2, 1), allowance=8.0 * tokens * allowance)


def test_truth_and_estimate_overlap_like_two_estimates(replicas):
    """E[mean (h - omega - mean)^T] = 0: the truth is one more posterior draw."""
    _, allowance, found = replicas
    assert_mean(
        [np.einsum("npa,nqb->paqb", m.means[0], truth - m.means[1]) / len(truth) for truth, m in found], 0.0, allowance
    )


def test_squared_deviations_of_the_truth_match_the_posterior_covariance(replicas):
    """Also when weighted with the width that was predicted."""
    _, allowance, found = replicas
    plain, weighted = [], []
    for truth, moments in found:
        deviations = truth - moments.means
        product = np.einsum("npa,nqb->npaqb", deviations[0], deviations[1])
        excess = product - moments.covariance
        width = np.einsum("npapa->n", moments.covariance)
        plain.append(excess.mean(axis=0))
        weighted.append(np.mean(np.tanh(width)[:, None, None, None, None] * excess, axis=0))
    assert_mean(plain, 0.0, 2.0 * allowance)
    assert_mean(weighted, 0.0, 2.0 * allowance)


def test_density_is_normalised(replicas, request):
    """E[Z(y; omega', V') / Z(y; omega, V)] = 1 over y drawn at (omega, V), for any other prior."""
    link = LINKS[request.node.callspec.params["replicas"]][0]
    _, allowance, _ = replicas
    identity, ratios = np.eye(link.rows), []
    for seed in range(REPLICAS):
        channel = channel_of(link, 0.5 if link.rows < 3 else 1.0, seed=(233, seed))
        observed, omega, _ = draw_channels(link, identity, 100, seed=(234, seed))
        other = np.full_like(omega, 0.4)
        wide, narrow = channel.posterior(observed, omega, identity), channel.posterior(observed, other, 0.7 * identity)
        ratios.append(np.mean(np.exp(narrow.log_z - wide.log_z)))
    assert_mean(ratios, 1.0, allowance)


class Plus(Link):
    """y = h_1 + h_2 with noise: everything Gaussian."""

    rows, tokens, noise_dimension, variance = 2, 1, 1, 0.2
    sign_symmetry = "none"

    def forward(self, h):
        return h.sum(axis=(-2, -1))

    def observe(self, h, noise=None):
        return self.forward(h) + np.sqrt(self.variance) * noise[:, 0]

    def log_likelihood(self, observed, h):
        return -0.5 * (observed[:, None] - self.forward(h)) ** 2 / self.variance - 0.5 * np.log(
            2 * np.pi * self.variance
        )


@pytest.mark.parametrize("V", [np.array([[0.9, 0.2], [0.2, 1.0]]), np.array([[0.5, 0.2], [0.2, 0.9]])])
def test_sampling_of_a_gaussian_channel_is_conditioning(V):
    """Z and Z times the moments, relative to the exact Z: without bias. Rows that stay and rows that follow omega."""
    link = Plus()
    y, omega, _ = draw_channels(link, V, 6, seed=236, overlap=0.5 * np.eye(2))
    variance = V.sum() + link.variance
    residual = y - omega.sum(axis=(1, 2))
    exact = -0.5 * residual**2 / variance - 0.5 * np.log(2 * np.pi * variance)
    gain = V.sum(axis=1) / variance
    mean, covariance = residual[:, None] * gain, V - np.outer(gain, gain) * variance
    second = covariance + np.einsum("np,nq->npq", mean, mean)
    expected = np.concatenate([np.ones((6, 1)), mean, second.reshape(6, 4)], axis=1)
    values = []
    for generator in np.random.default_rng(237).spawn(REPLICAS):
        log_z, mean, second, _ = fibre_moments(link, y, omega, V, gaussian_nodes(2, 512, generator, 1.0).points)
        moments = np.concatenate([np.ones((6, 1)), mean, second.reshape(6, 4)], axis=1)
        values.append(np.exp(log_z - exact)[:, None] * moments)
    assert_mean(values, expected)
    # For most outputs Z is good to a percent, so that a wrong normalisation shows; outputs far out are harder.
    assert np.median(np.std(values, axis=0, ddof=1)[:, 0]) / np.sqrt(REPLICAS) < 0.01


def test_the_two_estimates_are_independent():
    """The product of their errors averages to zero, the square of one does not: that is what two estimates are for.

    Errors are against 256 times the nodes; what that reference lacks, and the bias of a ratio, enter squared, and stay below
    a hundredth of the average square.
    """
    link, V = DeepAttention(1.0, 1.0, 3), np.diag([1.0, 0.5, 0.3])
    u, omega, _ = draw_channels(link, V, 8, seed=238)
    exact = channel_of(link, 8.0, seed=239).posterior(u, omega, V)
    products, squares = [], []
    for seed in range(64):
        found = channel_of(link, 0.5, seed=(240, seed)).posterior(u, omega, V)
        errors = (found.means - exact.mean)[:, :, 1:]
        products.append(errors[0] * errors[1])
        squares.append(0.5 * np.sum(errors**2, axis=0))
    allowance = 0.01 * np.mean(squares, axis=0)
    assert_mean(products, 0.0, allowance)
    total = np.sum(squares, axis=(1, 2, 3))
    assert total.mean() > t_threshold(1, 63) * total.std(ddof=1) / 8.0
    # In sum over outputs the product is a small part of the square, as it must be to be of use.
    product = np.sum(products, axis=(1, 2, 3))
    assert abs(product.mean()) < 0.2 * total.mean()
