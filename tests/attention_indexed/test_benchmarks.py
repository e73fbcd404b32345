"""The naive peers of the attention-indexed benchmarks compute the same."""

import importlib

import numpy as np
import pytest

from attention_limits.attention_indexed.amp import sample_sums
from attention_limits.attention_indexed.model.scores import attention, draw_sequences, draw_weights, scores
from attention_limits.attention_indexed.priors.denoisers.wishart import mmse
from attention_limits.attention_indexed.training.gradient_descent import TrainingLoss
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers
from toycodes import attention_indexed as toy

pytestmark = pytest.mark.slow

# The benchmarks are scripts beside the package, not part of it.
naive = importlib.import_module("naive_attention_indexed")


def problem(tokens):
    rng = np.random.default_rng(0)
    W, S = draw_weights(9, 4, rng)
    X = draw_sequences(15, tokens, 9, rng)
    return rng, W, S, X


@pytest.mark.parametrize("tokens", [2, 3])
def test_sums_over_samples(tokens):
    rng, _, S, X = problem(tokens)
    F = naive.tensor(X)
    h = naive.tensor_fields(F, S)
    np.testing.assert_allclose(h, sample_sums.all_scores(X, S), atol=1e-12)
    G = rng.standard_normal(h.shape)
    G = G + G.transpose(0, 2, 1)
    np.testing.assert_allclose(naive.tensor_backward(F, G), sample_sums.backward(X, G), atol=1e-12)


def test_gradient():
    rng, W, S, X = problem(2)
    y = attention(scores(X, S))
    start = rng.standard_normal(W.shape)
    _, gradient = TrainingLoss(X, y, 1.0, float)(start[:, None])
    np.testing.assert_allclose(naive.gradient(start, X, y, 1.0), gradient[:, 0], rtol=1e-9, atol=1e-12)


def test_error_of_the_denoiser():
    for ratio, noise in ((0.5, 0.3), (2.0, 1.0)):
        assert toy.mmse(ratio, noise) == pytest.approx(float(mmse(ratio, noise)), abs=1e-5)


def test_posterior_of_two_layers():
    a, means, V = np.array([1.3, -0.4]), np.array([[0.7, -1.1], [0.2, 0.9]]), np.array([0.4, 0.2])
    log_z, z, _, resolved = TwoLayers().posterior(a[None], means[None], V)
    assert resolved.all()
    plain_log_z, plain = naive.two_layer_moments(a, means, V, 1.0, 1.0)
    assert log_z[0] == pytest.approx(plain_log_z, abs=1e-3)
    np.testing.assert_allclose(z[0], plain, atol=1e-3)


def test_error_of_weight_decay():
    """The grid of 400 eigenvalues leaves an error of 1 %."""
    assert naive.decay_point(1.2, 0.5, 0.1, 0.1) == pytest.approx(0.12047, rel=0.01)
