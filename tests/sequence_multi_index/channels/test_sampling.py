"""Importance sampling against an exact formula, and its two estimates.

Averages over scramblings of the nodes: each replica has its own, false-alarm rate 1e-4 per call of `assert_mean`.
"""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels

from agreement import assert_mean, t_threshold
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.sampling.importance import fibre_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.link import Link

pytestmark = pytest.mark.slow

REPLICAS = 16


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
