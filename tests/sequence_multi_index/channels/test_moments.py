"""log Z_out and the posterior moments against integrations that share nothing with the channel's own quadrature."""

import numpy as np
import pytest
from scipy.integrate import cubature
from scipy.special import expit
from smi_tools import channel_of, draw_channels

from agreement import t_threshold
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention

pytestmark = pytest.mark.slow

ROWS, COLUMNS = np.triu_indices(4)


def branches(z, u, omega, V, skip, beta):
    """Both preimages +-z_2 of u at nodes z (n, 2) of layer 1, and their weights relative to the density of z_1 given omega_1.

    The weight is N(z_2 | z_1; omega, V) / |det A(z_1)|, written straight from the definition, A inverted numerically.
    """
    attention = np.empty((len(z), 2, 2))
    attention[:, 0, 0] = expit(beta * z[:, 0] * (z[:, 0] - z[:, 1]))
    attention[:, 1, 1] = expit(beta * z[:, 1] * (z[:, 1] - z[:, 0]))
    attention[:, 0, 1], attention[:, 1, 0] = 1.0 - attention[:, 0, 0], 1.0 - attention[:, 1, 1]
    matrix = attention + skip * np.eye(2)
    preimage = np.linalg.solve(matrix, np.broadcast_to(u[:, None], (len(z), 2, 1)))[..., 0]
    center = omega[1] + V[0, 1] / V[0, 0] * (z - omega[0])
    variance = V[1, 1] - V[0, 1] ** 2 / V[0, 0]
    values, weights = [], []
    for sign in (1.0, -1.0):
        squares = np.sum((sign * preimage - center) ** 2, axis=1)
        weights.append(np.exp(-0.5 * squares / variance) / (2.0 * np.pi * variance) / np.abs(np.linalg.det(matrix)))
        values.append(np.concatenate([z, sign * preimage], axis=1) - omega.ravel())
    return np.array(values), np.array(weights)


@pytest.mark.parametrize(("skip", "beta"), [(0.5, 1.0), (1.0, 1.0), (1.0, 2.0), (4.0, 0.5)])
def test_moments_and_log_z_agree_with_importance_sampling(skip, beta):
    """Draws of z_1 from its prior, both preimages z_2 weighted by density and Jacobian: ratio estimates, errors by the delta
    method. 6 channels times 15 numbers per case, false-alarm rate 1e-4 per case (the weights are bounded for c > 0)."""
    model = DeepAttention(skip, beta)
    V = np.array([[0.7, -0.2], [-0.2, 0.4]])
    u, omega, _ = draw_channels(model, V, 6, seed=21)
    found = channel_of(model).posterior(u, omega, V)
    rng = np.random.default_rng(22)
    limit = t_threshold(len(u) * 15, np.inf)
    for k in range(len(u)):
        z = omega[k, 0] + np.sqrt(V[0, 0]) * rng.standard_normal((60_000, 2))
        values, weights = branches(z, u[k], omega[k], V, skip, beta)
        total = weights.sum(axis=0)
        assert_within(np.log(total.mean()), total / total.mean(), found.log_z[k], limit)
        mean = np.einsum("sn,sni->i", weights, values) / weights.sum()
        centred = values - mean
        influence = np.einsum("sn,sni->ni", weights, centred) / total.mean()
        assert_within(mean, influence, found.mean[k].ravel(), limit)
        products = centred[..., ROWS] * centred[..., COLUMNS]
        covariance = np.einsum("sn,sni->i", weights, products) / weights.sum()
        influence = np.einsum("sn,sni->ni", weights, products - covariance) / total.mean()
        assert_within(covariance, influence, found.covariance[k].reshape(4, 4)[ROWS, COLUMNS], limit)


def assert_within(estimate, influence, exact, limit):
    error = influence.std(axis=0) / np.sqrt(len(influence))
    assert np.all(np.abs(estimate - exact) <= limit * error), (estimate, exact, error)


@pytest.mark.parametrize(("skip", "beta"), [(0.0, 1.0), (0.1, 1.0), (1.0, 1.0), (4.0, 2.0)])
def test_moments_and_log_z_agree_with_adaptive_cubature(skip, beta):
    """An adaptive rule that knows nothing of the integrand, to 1e-8; the channel promises 4e-6 (1e-3 at c = 0) at
    resolution 1; the test takes resolution 2, where 1e-6 (prior deviations) holds for all of them."""
    model = DeepAttention(skip, beta)
    V = np.array([[0.5, 0.2], [0.2, 0.4]])
    u, omega, _ = draw_channels(model, V, 2, seed=23)
    found = channel_of(model, 2.0).posterior(u, omega, V)
    for k in range(len(u)):

        def integrand(z, k=k):
            # Shifted off z_1 = z_2, where A is singular without a skip (the weight vanishes there).
            values, weights = branches(z + np.array([0.0, 1e-13]), u[k], omega[k], V, skip, beta)
            prior = np.exp(-0.5 * np.sum((z - omega[k, 0]) ** 2, axis=1) / V[0, 0]) / (2.0 * np.pi * V[0, 0])
            products = values[..., ROWS] * values[..., COLUMNS]
            functions = np.concatenate([np.ones((2, len(z), 1)), values, products], axis=2)
            return prior[:, None] * np.einsum("sn,sni->ni", weights, functions)

        reach = 7.0 * np.sqrt(V[0, 0])
        result = cubature(integrand, omega[k, 0] - reach, omega[k, 0] + reach, rtol=1e-8, atol=1e-9)
        assert result.status == "converged"
        density, first, second = result.estimate[0], result.estimate[1:5], result.estimate[5:]
        mean = first / density
        np.testing.assert_allclose(found.log_z[k], np.log(density), atol=1e-6)
        np.testing.assert_allclose(found.mean[k].ravel(), mean, atol=1e-6)
        covariance = second / density - mean[ROWS] * mean[COLUMNS]
        np.testing.assert_allclose(found.covariance[k].reshape(4, 4)[ROWS, COLUMNS], covariance, atol=1e-6)


@pytest.mark.parametrize("skip", [0.5, 1.0, 4.0])
def test_small_variance_limit_is_linear_gaussian_conditioning(skip):
    """V -> 0: the model is linear around omega, and conditioning on u is that of a Gaussian vector with the Jacobian J of
    u(h). The neglected curvature is of relative order sqrt(V), here 1e-4 times numbers of order ten."""
    model = DeepAttention(skip)
    scale = 1e-8
    V = scale * np.array([[1.0, 0.3], [0.3, 0.5]])
    u, omega, _ = draw_channels(model, V, 5, seed=24, overlap=np.eye(2))
    found = channel_of(model).posterior(u, omega, V)
    prior = np.kron(V, np.eye(2))
    for k in range(len(u)):
        step = 1e-5 * np.eye(4).reshape(4, 2, 2)
        jacobian = ((model.preactivation(omega[k] + step) - model.preactivation(omega[k] - step)) / 2e-5).T
        seen = jacobian @ prior @ jacobian.T
        gain = prior @ jacobian.T @ np.linalg.inv(seen)
        residual = u[k] - model.preactivation(omega[k])
        covariance = prior - gain @ jacobian @ prior
        log_z = -0.5 * residual @ np.linalg.solve(seen, residual) - 0.5 * np.linalg.slogdet(2 * np.pi * seen)[1]
        np.testing.assert_allclose(found.mean[k].ravel() / np.sqrt(scale), gain @ residual / np.sqrt(scale), atol=5e-3)
        np.testing.assert_allclose(found.covariance[k].reshape(4, 4) / scale, covariance / scale, atol=5e-3)
        np.testing.assert_allclose(found.log_z[k], log_z, atol=5e-3)


def hard_attention_log_z(u, skip):
    """log-density of u for beta -> infinity and omega = 0, V = I.

    Both tokens attend to themselves when z_1 has opposite signs (probability 1/2), else both to the token of larger |z_1|
    (1/4 each); the two signs of z_2 weigh the same.
    """
    itself = np.eye(2)
    first, second = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    density = 0.0
    for probability, attention in ((0.5, itself), (0.25, first), (0.25, second)):
        matrix = attention + skip * np.eye(2)
        preimage = np.linalg.solve(matrix, u)
        gaussian = np.exp(-0.5 * preimage @ preimage) / (2.0 * np.pi)
        density += 2.0 * probability * gaussian / abs(np.linalg.det(matrix))
    return np.log(density)


@pytest.mark.parametrize("beta", [10.0, 100.0, 1000.0])
def test_large_beta_limit_is_hard_attention(beta):
    """Soft attention is left where |z_1a (z_11 - z_12)| < 1/beta, of probability of order log(beta)/beta."""
    u = np.array([[0.7, -0.4], [1.5, 0.3], [0.2, 2.0]])
    expected = [hard_attention_log_z(row, 1.0) for row in u]
    found = channel_of(DeepAttention(1.0, beta), 2.0).posterior(u, np.zeros((3, 2, 2)), np.eye(2))
    np.testing.assert_allclose(found.log_z, expected, atol=np.log(beta) / beta)
