"""Free entropy and mutual information: their derivatives, and quadratures that use no posterior mean."""

import numpy as np
import pytest
from scipy.special import xlogy

from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.priors.denoisers import wishart
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.wishart import SmallWidth, Wishart
from attention_limits.attention_indexed.state_evolution.curve import curve
from attention_limits.attention_indexed.state_evolution.free_entropy import (
    changes,
    constant,
    output_information,
    potential,
)
from attention_limits.attention_indexed.state_evolution.phases import compare, phases

V = np.array([1e-6, 0.01, 0.3, 1.0])


def test_noisy_linear_scores_have_the_capacity_of_gaussian_channels():
    """Symmetric: M (M - 1) / 2 entries with noise Delta / 2 and variance V, M with Delta and 2 V. Untied: M^2, Delta and V."""
    M, noise = 3, 0.4
    found, error = output_information(make_channel("linear", M, noise=noise), V, 1.5)
    entries = M * (M - 1) / 2 * np.log1p(V / (noise / 2)) + M * np.log1p(2 * V / noise)
    np.testing.assert_allclose(found, 0.5 * entries, rtol=1e-9)
    np.testing.assert_array_equal(error, 0.0)
    found, _ = output_information(make_channel("linear", M, untied=True, noise=noise), V, 1.0)
    np.testing.assert_allclose(found, 0.5 * M**2 * np.log1p(V / noise), rtol=1e-9)


@pytest.mark.parametrize("untied", [False, True])
def test_hardmax_without_data_tells_the_entropy_of_its_output(untied):
    """Tied and M = 2: the two signs have the correlation 1/3 or -1/3, so the orthant probabilities 1/4 + asin(1/3) / (2 pi) and
    1/4 - asin(1/3) / (2 pi). Untied: each of two rows has two equal outputs."""
    Q = 1.0 if untied else 1.7
    (found,), _ = output_information(make_channel("hardmax", 2, untied=untied), [Q], Q)
    p = 0.25 + np.arcsin(1.0 / 3.0) / (2.0 * np.pi) * np.array([1.0, 1.0, -1.0, -1.0])
    assert found == pytest.approx(2.0 * np.log(2.0) if untied else -np.sum(xlogy(p, p)), rel=1e-6)


def test_hardmax_of_many_untied_tokens_tells_t_log_t_within_its_bound():
    (found,), (error,) = output_information(make_channel("hardmax", 4, untied=True), [1.0], 1.0)
    assert abs(found - 4.0 * np.log(4.0)) <= error
    assert error < 0.01 * found


def test_an_output_that_gives_equations_tells_infinitely_much():
    found, error = output_information(make_channel("softmax", 3), [0.0, 0.5], 1.5)
    np.testing.assert_array_equal(found, [0.0, np.inf])
    assert np.isnan(error[1])


@pytest.mark.parametrize("ratio", [0.3, 1.0, 4.0])
def test_information_of_the_prior_is_the_entropy_of_the_eigenvalues(ratio):
    """i_prior = c q_hat V + B is the entropy of Y minus that of the noise: half of int int log|x - y| mu mu, plus
    1/8 - (log D) / 4. mu on [low, high] with the moments m_k of cos k theta has the integral
    log((high - low) / 4) - sum_k (2/k) m_k^2."""
    D, prior, channel = 0.8, Wishart(ratio), make_channel("linear", 2)
    ends = np.concatenate([wishart.spectrum(t, ratio, D).eigenvalue for t in wishart.panels(ratio, D)])
    low, high = ends.min(), ends.max()
    theta = np.pi * (np.arange(4000) + 0.5) / 4000
    places = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(theta)
    mass = wishart.density(places, ratio, D) * 0.5 * (high - low) * np.sin(theta) * np.pi / 4000
    assert mass.sum() == pytest.approx(1.0, abs=1e-6)
    k = np.arange(1, 400)
    moments = np.cos(np.outer(k, theta)) @ mass
    energy = np.log(0.25 * (high - low)) - np.sum(2.0 / k * moments**2)
    expected = 0.5 * energy + 0.125 - 0.25 * np.log(D)
    noise = np.geomspace(1e9, D, 600)
    found = potential(channel, prior, curve(channel, prior, noise)).prior[-1] + 0.25 * prior.mmse(D) / D
    assert found == pytest.approx(expected, rel=1e-5)


MODELS = [
    (make_channel("hardmax", 2), Wishart(0.5)),
    (make_channel("linear", 3, noise=0.3), Wishart(0.05)),
    (make_channel("linear", 2, untied=True, noise=0.1), Product(2.0)),
    (make_channel("hardmax", 2, untied=True), Product(0.3)),
    (make_channel("hardmax", 2), SmallWidth()),
]


@pytest.mark.parametrize(("channel", "prior"), MODELS)
def test_the_potential_has_the_derivative_of_its_equation(channel, prior):
    """U' = c information (alpha - alpha(V)), by central differences with an error of order 1e-6."""
    D = np.array([0.02, 0.1, 0.4, 0.9])
    step, alpha = 1e-3, 0.37
    ends = D * np.exp(step), D * np.exp(-step)
    before, after = (prior.mmse(end) for end in ends)
    output, other, _ = changes(channel, prior, before, ends[0], after, ends[1])
    middle = curve(channel, prior, D)
    expected = constant(channel) * channel.information(middle.mmse, prior.Q) * (alpha - middle.alpha)
    np.testing.assert_allclose((alpha * output - other) / (before - after), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("channel", "prior"), MODELS)
def test_one_more_sample_adds_its_information(channel, prior):
    """d I(S; data) / d alpha = i_out(V), from I by central differences; the same number is A's complement: dF / d alpha = A."""
    alpha, step = np.array([0.2, 0.8, 3.0]) * (4.0 if isinstance(prior, SmallWidth) else 1.0), 1e-4
    found = phases(channel, prior)
    fewer, at, more = (compare(found, alpha * (1.0 + sign * step)) for sign in (-1, 0, 1))
    slope = (more.mutual_information - fewer.mutual_information) / (2.0 * step * alpha)
    np.testing.assert_allclose(slope, output_information(channel, at.mmse, prior.Q)[0], rtol=1e-5)
    slope = (more.free_entropy - fewer.free_entropy) / (2.0 * step * alpha)
    whole = output_information(channel, [1.0], prior.Q)[0]
    np.testing.assert_allclose(slope, whole - output_information(channel, at.mmse, prior.Q)[0], rtol=1e-5, atol=1e-9)


def test_gaussian_limit_of_the_whole_formula():
    """S of independent entries (untied, rho -> infinity) and linear scores with noise: d^2 Gaussian entries of precision
    q_hat = alpha M^2 / (V + Delta), V = 1 / (1 + q_hat). I = (1/2) log(1 + q_hat) + alpha (M^2 / 2) log(1 + V / Delta)
    - q_hat V / 2."""
    M, noise, alpha = 2, 0.2, np.array([0.1, 0.25, 0.6])
    found = compare(phases(make_channel("linear", M, untied=True, noise=noise), Product(1e4)), alpha)
    # V (1 + q_hat) = 1 is a quadratic equation for V.
    b = noise + alpha * M**2 - 1.0
    V = 0.5 * (-b + np.sqrt(b**2 + 4.0 * noise))
    q_hat = alpha * M**2 / (V + noise)
    expected = 0.5 * np.log1p(q_hat) + 0.5 * alpha * M**2 * np.log1p(V / noise) - 0.5 * q_hat * V
    np.testing.assert_allclose(found.mmse, V, rtol=1e-3)
    np.testing.assert_allclose(found.mutual_information, expected, rtol=1e-3)
