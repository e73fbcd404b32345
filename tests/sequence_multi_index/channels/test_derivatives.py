"""The posterior moments are derivatives of log Z_out with respect to omega: E[h - omega] = V grad, Cov = V + V hess V."""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels, gradient_and_hessian

from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention

pytestmark = pytest.mark.slow

COVARIANCES = [
    np.array([[0.6, 0.15], [0.15, 0.3]]),
    np.array([[0.9, -0.05], [-0.05, 0.05]]),
    np.array([[0.3, 0.1], [0.1, 0.7]]),
]
RESOLUTION = 3.0
# The sharpest feature of log Z is the competition of the two signs of z_2, log cosh(k omega_2) with k = |z_2| / deviation:
# steps of 0.1 / k keep the truncation errors below 12 k 0.1^8 and 16 k^2 0.1^8, and the largest k met is 15. At this
# resolution log Z is good to 4e-10, which the differences amplify by 3 k / 0.1 and 6 k^2 / 0.01.
GRADIENT_TOLERANCE = 3e-6
HESSIAN_TOLERANCE = 1e-4


def differences(model, u, omega, h, V):
    """Gradient and Hessian of log Z of the two-layer channel, with steps as above."""

    def log_z(index, points):
        return channel_of(model, RESOLUTION).posterior(u[index], points, V).log_z

    return gradient_and_hessian(log_z, omega, V, 0.1 / sharpness(h, V))


def sharpness(h, V):
    """k of the above, at least two."""
    return np.maximum(np.abs(h[:, -1]).sum(axis=1) / np.sqrt(V[-1, -1]), 2.0)


@pytest.mark.parametrize("V", COVARIANCES, ids=["wide", "narrow-last", "narrow-first"])
@pytest.mark.parametrize(("skip", "beta"), [(0.1, 1.0), (0.5, 0.5), (0.5, 2.0), (1.0, 1.0), (4.0, 1.0), (4.0, 2.0)])
def test_posterior_moments_are_derivatives_of_log_z(skip, beta, V):
    """In units of the prior standard deviations, for all pairs of layers and tokens."""
    model = DeepAttention(skip, beta)
    u, omega, h = draw_channels(model, V, 12, seed=3)
    moments = channel_of(model, RESOLUTION).posterior(u, omega, V)
    gradient, hessian = differences(model, u, omega, h, V)
    scale = np.repeat(np.sqrt(np.diag(V)), 2)
    prior = np.kron(V, np.eye(2))
    # The same prior in units of its standard deviations; derivatives in those units are already scaled.
    correlation = prior / np.outer(scale, scale)
    mean = moments.mean.reshape(-1, 4) / scale
    covariance = moments.covariance.reshape(-1, 4, 4) / np.outer(scale, scale)
    np.testing.assert_allclose(mean, gradient @ correlation, atol=GRADIENT_TOLERANCE)
    np.testing.assert_allclose(covariance, correlation + correlation @ hessian @ correlation, atol=HESSIAN_TOLERANCE)


def test_denoiser_is_gradient_and_trace_of_the_hessian():
    """Same units; dg is the sum over tokens of the same-token blocks, hence twice the tolerance."""
    model = DeepAttention(1.0)
    V = COVARIANCES[0]
    u, omega, h = draw_channels(model, V, 12, seed=4)
    g, dg = denoiser(channel_of(model, RESOLUTION).posterior(u, omega, V), V)
    gradient, hessian = differences(model, u, omega, h, V)
    scale = np.sqrt(np.diag(V))
    np.testing.assert_array_equal(g[0], g[1])
    np.testing.assert_allclose(g[0] * scale[:, None], gradient.reshape(-1, 2, 2), atol=GRADIENT_TOLERANCE)
    same_token = np.einsum("npaqa->npq", hessian.reshape(-1, 2, 2, 2, 2))
    np.testing.assert_allclose(dg * np.outer(scale, scale), same_token, atol=2 * HESSIAN_TOLERANCE)
