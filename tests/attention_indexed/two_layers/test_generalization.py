"""Generalisation errors of two layers: exact limits, other samples of the same law, and data.

Stochastic comparisons are t-tests of `agreement`, false-alarm rate 1e-4 each; the seeds are fixed.
"""

import numpy as np
import pytest

from agreement import assert_mean
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.two_layers.generalization import fresh_errors, output_errors
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.sampled import SampledLayers
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers

MODELS = (TwoLayers(1.0, 1.0), TwoLayers(0.0, 1.5), SampledLayers(3, 1.5, 0.8), HardmaxLayers(1.0, 1.0))


def errors(model, V, scramblings=4):
    """Bayes and plug-in errors (scramblings, 2)."""
    return np.array([output_errors(model, V, rng) for rng in np.random.default_rng(1).spawn(scramblings)])


@pytest.mark.parametrize("model", MODELS)
def test_known_layers_leave_no_error_and_the_posterior_mean_has_the_least(model):
    np.testing.assert_allclose(errors(model, [0.0, 0.0]), 0.0, atol=1e-12)
    for V in ([0.3, 0.6], [0.9, 0.05]):
        bayes, plug_in = errors(model, V).T
        assert np.all((bayes > 0) & (bayes < plug_in))


@pytest.mark.parametrize("model", MODELS)
def test_without_data_the_error_is_the_variance_of_the_output(model):
    """With f at other, independent scores; the estimate without data has the output of zero scores."""
    shape, rng = (40_000, model.tokens, model.tokens), np.random.default_rng(2)
    y = model.output(*(SYMMETRIC.scores(rng.standard_normal(shape), 1.0) for _ in range(2)))
    centre = model.output(np.zeros(shape)[:1], np.zeros(shape)[:1])
    bayes, plug_in = errors(model, [1.0, 1.0], 8).T
    # Each number of a scrambling scatters by less than two per cent; so does the sum over 40 000 outputs.
    assert bayes.mean() == pytest.approx(np.sum(y.var(axis=0)), rel=0.03)
    assert plug_in.mean() == pytest.approx(np.mean(np.sum((y - centre) ** 2, axis=(1, 2))), rel=0.03)


@pytest.mark.parametrize("skip", [0.0, 1.0, 3.0])
def test_flat_layers_have_the_error_of_linear_scores(skip):
    """At beta -> 0 the first layer mixes by B = c I + 1/2 and y_a1 = 1/2 + beta (h_a1 - h_a2)/4: both errors are
    (beta^2/4) V_2 (2 c^2 ((c + 1/2)^2 + 1/4) + c^4), for every V_1."""
    beta, V = 1e-3, np.array([0.7, 0.4])
    if skip == 0:
        # Without the residual connection a flat first layer makes both tokens equal: scores do not differ at this order.
        assert np.all(errors(TwoLayers(skip, beta), V) < 1e-12)
        return
    wanted = beta**2 / 4.0 * V[1] * (2.0 * skip**2 * ((skip + 0.5) ** 2 + 0.25) + skip**4)
    assert errors(TwoLayers(skip, beta), V, 8).mean(axis=0) == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3]])
def test_fresh_data_at_known_overlaps(model):
    """S_l = sqrt(1 - V_l) A + sqrt(V_l) B, A and B of the Gaussian orthogonal ensemble: the posterior mean sqrt(1 - V_l) A. The
    variances of the scores are exact at d -> infinity; at d = 120 their error of 1/d is below that of twelve pairs."""
    V, dimension, found = np.array([0.5, 0.2]), 120, []
    for rng in np.random.default_rng(3).spawn(12):
        noise = rng.standard_normal((2, 2, dimension, dimension))
        A, B = SYMMETRIC.scores(noise, 1.0) / np.sqrt(dimension)
        root = np.sqrt(V)[:, None, None]
        teachers, estimates = np.sqrt(1.0 - root**2) * A + root * B, np.sqrt(1.0 - root**2) * A
        found.append(fresh_errors(model, teachers, estimates, V, 800, rng))
    plug_in, bayes = np.array(found).T
    wanted = errors(model, V, 8).mean(axis=0)
    assert_mean(bayes - wanted[0], 0.0, allowance=0.02 * wanted[0])
    assert_mean(plug_in - wanted[1], 0.0, allowance=0.02 * wanted[1])


def test_an_estimate_that_diverged_has_no_error():
    S = np.zeros((2, 10, 10))
    assert np.all(np.isnan(fresh_errors(MODELS[0], S, S + np.nan, np.ones(2), 5, np.random.default_rng(0))))
    assert np.all(np.isnan(fresh_errors(MODELS[0], S, S, np.full(2, np.nan), 5, np.random.default_rng(0))))
