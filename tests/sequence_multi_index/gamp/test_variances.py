"""GAMP with the variance of every sample and relaxed belief propagation: both against a direct program, and against GAMP as D
grows."""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels, gamp_settings

import attention_limits as al
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.gamp.sample_variance import finite_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.wrappers import BlockMultiIndex
from attention_limits.sequence_multi_index.priors.correlated_dimensions import CorrelatedDimensions
from attention_limits.sequence_multi_index.priors.mixture import binary
from attention_limits.sequence_multi_index.priors.spectrum import Spectrum

pytestmark = pytest.mark.slow

ONE_LAYER = DeepAttention(depth=1)
CHANNEL = channel_of(ONE_LAYER)
START = 0.3


def data_of(dimension, seed, link=ONE_LAYER, alpha=0.6, prior=None):
    return gamp.gaussian_dataset(link, dimension, int(alpha * dimension), np.random.default_rng(seed), prior)


def run(data, variance, iterations, channel=CHANNEL, prior=None, **options):
    settings = gamp_settings(
        variance=variance, max_iterations=iterations, tolerance=0.0, start_overlap=START, **options
    )
    return gamp.run(channel, data, np.random.default_rng(5), settings, prior)


def direct(data, iterations, messages):
    """W_hat of one layer after each iteration, by loops over samples and dimensions; messages, or their expansion."""
    (N, M, D), u = data.sequences.shape, data.observed
    x = data.sequences / np.sqrt(D)
    estimate = np.sqrt(START) * np.random.default_rng(5).standard_normal((1, D))[0]
    m, c = np.tile(estimate, (N, 1)), np.full((N, D), 1.0 - START)
    g_before, found = np.zeros((N, M)), []
    for _ in range(iterations):
        b, A = np.zeros((N, D)), np.zeros((N, D))
        for mu in range(N):
            V = (x[mu] * c[mu]) @ x[mu].T
            omega = x[mu] @ m[mu] - (0.0 if messages else V @ g_before[mu])
            for i in range(D):
                xi = x[mu, :, i]
                cavity = (omega - xi * m[mu, i], V - c[mu, i] * np.outer(xi, xi)) if messages else (omega, V)
                g, dg = _denoise(u[mu], *cavity)
                b[mu, i], A[mu, i] = xi @ g, -xi @ dg @ xi
                if not messages:
                    b[mu], A[mu] = x[mu].T @ g, -np.einsum("ai,ab,bi->i", x[mu], dg, x[mu])
                    g_before[mu] = g
                    break
        total, precision = b.sum(axis=0) + (0.0 if messages else A.sum(axis=0) * m[0]), 1.0 + A.sum(axis=0)
        found.append(total / np.maximum(precision, 0.5))
        if messages:
            c = 1.0 / np.maximum(precision - A, 0.5)
            m = (total - b) * c
        else:
            m, c = np.tile(found[-1], (N, 1)), np.tile(1.0 / np.maximum(precision, 0.5), (N, 1))
    return np.array(found)


def _denoise(u, omega, V):
    away = np.array([u - omega, -u - omega])
    weight = np.exp([-0.5 * a @ np.linalg.solve(V, a) for a in away])
    weight /= weight.sum()
    mean, inverse = weight @ away, np.linalg.inv(V)
    covariance = (away - mean).T @ np.diag(weight) @ (away - mean)
    return inverse @ mean, inverse @ covariance @ inverse - inverse


@pytest.mark.parametrize("variance", ["sample", "message"])
def test_both_agree_with_loops_over_samples_and_dimensions(variance):
    data = data_of(24, 31)
    expected = direct(data, 3, variance == "message")
    np.testing.assert_allclose(run(data, variance, 3).weights[0], expected[-1], atol=1e-9)


def test_the_variants_agree_as_the_dimension_grows():
    """Root mean square difference of W_hat after two iterations, 4 data sets each, at D = 64 and 576. Variances of samples and
    messages fluctuate like D^(-1/2): nine times the dimension divides it by three. The expansion of the messages leaves a
    relative error of the order of 1 / D, divided by nine. The limits are two and three times too generous."""
    apart = {}
    for dimension in (64, 576):
        squares = []
        for seed in range(4):
            data = data_of(dimension, (32, seed))
            average, sample, message = (run(data, name, 2).weights for name in ("average", "sample", "message"))
            squares.append([np.mean((sample - average) ** 2), np.mean((message - sample) ** 2), np.mean(average**2)])
        squares = np.mean(squares, axis=0)
        apart[dimension] = np.sqrt(squares[:2] / squares[2])
    assert apart[64][0] > 0.02
    assert apart[576][0] < apart[64][0] / 1.5
    assert apart[576][1] < apart[64][1] / 3.0
    assert apart[576][1] < apart[576][0]


def test_a_link_that_samples_agrees_too():
    """Two layers: the channel is a quadrature for the average, and importance sampling for the variances of samples. The last
    layer after two iterations at D = 400; at D = 100 their relative difference is about twice as large."""
    link = DeepAttention()
    data = data_of(400, 35, link)
    average, sample = (run(data, name, 2, channel_of(link)).weights[1] for name in ("average", "sample"))
    assert np.mean((sample - average) ** 2) < 0.1 * np.mean(average**2)
    assert np.any(sample != average)


@pytest.mark.parametrize("variance", ["sample", "message"])
def test_side_information_alone_gives_its_posterior(variance):
    """One sample moves V = 1 - kappa by a few times 1 / D."""
    data = data_of(2000, 33, alpha=1 / 2000)
    found = run(data, variance, 2, side_information=0.36)
    np.testing.assert_allclose(found.variance[-1], [[0.64]], atol=5e-3)
    assert abs(found.cosine[-1, 0] - 0.6) < 0.07


def test_binary_weights_are_recovered():
    """alpha = 3, far beyond exact recovery of one layer."""
    data = data_of(60, 34, alpha=3.0, prior=binary(1))
    found = run(data, "sample", 20, prior=binary(1))
    assert abs(found.cosine[-1, 0]) > 0.99


def test_moments_of_many_covariances_are_those_of_one_at_a_time():
    link = BlockMultiIndex(ONE_LAYER)
    observed, omega, _ = draw_channels(ONE_LAYER, np.array([[0.6]]), 5, seed=36)
    rng = np.random.default_rng(37)
    roots = rng.standard_normal((5, 2, 2))
    V = 0.3 * np.eye(2) + roots @ roots.transpose(0, 2, 1)
    mean, covariance, resolved = finite_moments(link, observed, omega.reshape(5, 2, 1), V)
    channel = Channel(link, 1.0, np.random.default_rng(0))
    for k in range(5):
        one = channel.posterior(observed[k : k + 1], omega[k].reshape(1, 2, 1), V[k])
        np.testing.assert_allclose(mean[k], one.mean[0, :, 0], atol=1e-12)
        np.testing.assert_allclose(covariance[k], one.covariance[0, :, 0, :, 0], atol=1e-12)
    assert resolved.all()


@pytest.mark.parametrize("variance", ["sample", "message"])
def test_held_rows_and_correlated_dimensions_have_the_average_alone(variance):
    data, settings = data_of(20, 38), gamp_settings(variance=variance)
    with pytest.raises(ValueError, match="allowed where rows are held: average"):
        gamp.run(CHANNEL, data, np.random.default_rng(0), settings, held=(0.5,))
    prior = CorrelatedDimensions(np.eye(1), Spectrum(np.array([0.5, 1.5]), np.array([0.5, 0.5])))
    with pytest.raises(ValueError, match="allowed where dimensions differ in their law: average"):
        gamp.run(CHANNEL, data, np.random.default_rng(0), settings, prior)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({}, "samples its fields, N D times"),
        ({"depth": 1, "prior": {"name": "binary"}}, "the weights are binary; allowed: gaussian, correlated"),
    ],
)
def test_relaxed_belief_propagation_refuses_what_it_does_not_take(model, message):
    with pytest.raises(ValueError, match=message):
        al.compute("sequence_multi_index.relaxed_belief_propagation", model, {"alpha": [0.5]}, solver={"dimension": 20})
