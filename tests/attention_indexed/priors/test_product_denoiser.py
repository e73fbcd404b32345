"""Denoising of Q K^T / sqrt(r d) in Gaussian noise: the quartic, moments, mutual information, limits, and matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agreement import assert_mean
from attention_limits.attention_indexed.model.scores import draw_untied
from attention_limits.attention_indexed.priors.denoisers import product as denoiser
from attention_limits.attention_indexed.priors.product import Product

# All widths of a specification.
RATIOS = st.floats(np.log(1e-9), np.log(100.0)).map(np.exp)
NOISES = st.floats(np.log(1e-12), np.log(1e12)).map(np.exp)


def transform_of(g, ratio, noise):
    """z(g) of the defining equation."""
    return 1.0 / g + noise * g + ratio * g / (ratio - g * g)


@settings(max_examples=40)
@given(RATIOS, NOISES, st.floats(0.001, 0.999))
def test_transform_solves_its_equation(ratio, noise, place):
    """In every bulk, relative to the largest term; xi = lambda - 2 D h; and the derivatives are those of differences."""
    low, high, _ = denoiser.panels(ratio, noise)
    for first, last in zip(low, high, strict=True):
        y = first + place * (last - first)
        at = denoiser.spectrum(y, ratio, noise)
        g = at.transform - 1j * at.height
        size = abs(1.0 / g) + noise * abs(g) + abs(ratio * g / (ratio - g * g))
        assert abs(transform_of(g, ratio, noise) - at.value) < 1e-9 * size
        assert at.signal == pytest.approx(at.value - 2.0 * noise * at.transform, abs=1e-9 * size)
        h = 1e-5 * min(y - first, last - y)
        if h > 1e-9 * last:
            up, down = (denoiser.spectrum(y + sign * h, ratio, noise) for sign in (1, -1))
            assert at.change == pytest.approx((up.value - down.value) / (2.0 * h), rel=1e-3)
            assert at.slope == pytest.approx((up.signal - down.signal) / (up.value - down.value), rel=1e-3)


@settings(max_examples=40)
@given(RATIOS, NOISES)
def test_moments_of_the_spectrum(ratio, noise):
    """Mass 1, second moment 1 + D, E lambda xi = E lambda x = 1: relative 1e-9. The spectrum is ordered."""

    def moment(function):
        return float(denoiser.integrate(function, ratio, noise))

    assert moment(lambda s: 1.0) == pytest.approx(1.0, abs=1e-9)
    assert moment(lambda s: s.value**2) == pytest.approx(1.0 + noise, rel=1e-9)
    assert moment(lambda s: s.value * s.signal) == pytest.approx(1.0, rel=1e-9)
    low, high, _ = denoiser.panels(ratio, noise)
    values = np.concatenate(
        [denoiser.spectrum(np.linspace(*ends, 50), ratio, noise).value for ends in zip(low, high, strict=True)]
    )
    assert np.all(np.diff(values) >= -1e-9 * values[-1])


@settings(max_examples=40)
@given(RATIOS, NOISES)
def test_three_formulas_of_the_error_agree(ratio, noise):
    """D int mu eta, 1 - E xi^2, D - (4 pi^2 / 3) D^2 int mu^3: absolute 1e-9 of the terms, which cancel at small and large D."""
    error = float(denoiser.mmse(ratio, noise))
    squares = float(denoiser.integrate(lambda s: s.signal**2, ratio, noise))
    cubes = float(denoiser.integrate(lambda s: s.height**2, ratio, noise))
    assert abs(error - (1.0 - squares)) < 1e-9
    assert abs(error - noise * (1.0 - 4.0 / 3.0 * noise * cubes)) < 1e-9 * (1.0 + noise)


def information(ratio, noise):
    """Mutual information of S and Y per d^2: int int log|lambda - lambda'| mu mu' - log(D)/2 + 1/4.

    The density of the singular values of Y holds prod_kl |lambda_k^2 - lambda_l^2|; all else of its entropy is that of rotations.
    int log|z - lambda| mu = Re[z g - 1 - log g - D g^2 / 2 + (rho / 2) log(1 - g^2 / rho)], the integral of g from infinity.
    """

    def potential(at):
        g = at.transform - 1j * at.height
        return (at.value * g - 1.0 - np.log(g) - 0.5 * noise * g**2 + 0.5 * ratio * np.log(1.0 - g**2 / ratio)).real

    return float(denoiser.integrate(potential, ratio, noise)) - 0.5 * np.log(noise) + 0.25


@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("noise", [0.003, 0.1, 1.0, 20.0])
def test_error_is_the_derivative_of_the_mutual_information(ratio, noise):
    """dI / d(1/D) = mmse / 2 (Guo, Shamai, Verdu 2005), central difference of step 1e-3: truncation 1e-6, rounding 1e-9."""
    inverse, h = 1.0 / noise, 1e-3 / noise
    slope = (information(ratio, 1.0 / (inverse + h)) - information(ratio, 1.0 / (inverse - h))) / (2.0 * h)
    assert slope == pytest.approx(0.5 * float(denoiser.mmse(ratio, noise)), rel=1e-5)


@pytest.mark.parametrize("ratio", [0.005, 0.1, 0.5, 0.99, 1.5, 10.0])
def test_limits_of_the_error(ratio):
    """(2 rho - rho^2) D or D at small D, the parameters per d^2; 1 - 1/D at large D, with corrections O(1/D)."""
    parameters = 2.0 * ratio - ratio**2 if ratio < 1 else 1.0
    assert denoiser.mmse(ratio, 1e-10) == pytest.approx(parameters * 1e-10, rel=1e-5)
    assert 2.0 * Product(ratio).effective_dimension == pytest.approx(parameters)
    assert (1.0 - denoiser.mmse(ratio, 1e6)) * 1e6 == pytest.approx(1.0, rel=1e-3)


def test_wide_attention_is_gaussian():
    """rho -> infinity: independent entries, mmse = D / (1 + D) and xi = lambda / (1 + D), up to O(1 / rho)."""
    noise = np.array([1e-3, 0.3, 1.0, 40.0])
    np.testing.assert_allclose(denoiser.mmse(1e6, noise), noise / (1.0 + noise), rtol=1e-5)
    values = np.linspace(0.1, 1.8, 5) * np.sqrt(1.3)
    xi, slope = denoiser.shrink(values, 1e6, 0.3)
    np.testing.assert_allclose(xi, values / 1.3, rtol=1e-5)
    np.testing.assert_allclose(slope, 1.0 / 1.3, rtol=1e-4)


def test_small_width_is_that_of_separate_singular_values():
    """rho -> 0 at D = t / rho: r singular values 1 / sqrt(rho) above the edge 2 sqrt(D) of the noise, V = 1 - max(1 - t, 0)^2."""
    t = np.array([0.2, 0.6, 0.9, 1.5])
    np.testing.assert_allclose(denoiser.mmse(1e-8, t / 1e-8), 1.0 - np.maximum(1.0 - t, 0.0) ** 2, atol=1e-5)


@pytest.mark.parametrize(("ratio", "noise"), [(0.1, 0.3), (0.5, 0.01), (0.5, 0.5), (2.0, 1.0)])
def test_matrices_of_dimension_300(ratio, noise):
    """Error of the denoiser on four random matrices, histogram of their singular values in eight bins, and the response times D;
    false-alarm rate 1e-4 each. The limit has corrections O(1/d): 3/d of the error and 4/d of the mass are allowed."""
    d = 300
    low, high, _ = denoiser.panels(ratio, noise)
    ends = denoiser.spectrum(np.stack([low, high]), ratio, noise).value
    bins = np.linspace(0.0, ends.max(), 9)
    mass = np.zeros(8)
    for first, last in zip(low, high, strict=True):
        y = first + (last - first) * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 4001)))
        at = denoiser.spectrum(0.5 * (y[1:] + y[:-1]), ratio, noise)
        mass += np.histogram(at.value, bins, weights=2.0 / np.pi * at.height * at.change * np.diff(y))[0]
    assert mass.sum() == pytest.approx(1.0, abs=1e-3)
    errors, counts, responses = [], [], []
    for rng in np.random.default_rng(12).spawn(4):
        S = draw_untied(d, round(ratio * d), rng)
        left, values, right = np.linalg.svd(S + np.sqrt(noise / d) * rng.standard_normal((d, d)))
        xi, slope = denoiser.shrink(values, ratio, noise)
        errors.append(np.sum(((left * xi) @ right - S) ** 2) / d)
        responses.append(noise * denoiser.response(values, xi, slope, (len(values), len(values))))
        counts.append(np.histogram(np.clip(values, 0.0, bins[-1]), bins)[0] / d)
    expected = float(denoiser.mmse(ratio, noise))
    assert_mean(errors, expected, allowance=3.0 / d * expected)
    assert_mean(responses, expected, allowance=3.0 / d * expected)
    assert_mean(counts, mass, allowance=4.0 / d + 2e-3 * mass)


def test_no_denoiser_with_the_same_vectors_is_better():
    """d = 200, rho = 0.3: the error of best singular values u_k^T S v_k, which know S, is below by less than 4 per cent."""
    rng, d = np.random.default_rng(13), 200
    S = draw_untied(d, 60, rng)
    left, values, right = np.linalg.svd(S + np.sqrt(0.2 / d) * rng.standard_normal((d, d)))
    best = np.einsum("ik,ij,kj->k", left, S, right)
    errors = [np.sum(((left * x) @ right - S) ** 2) for x in (best, denoiser.shrink(values, 0.3, 0.2)[0])]
    assert errors[0] <= errors[1] < 1.04 * errors[0]


def test_response_is_the_divergence():
    """Central differences in each of the 25 entries of a 5 x 5 matrix; the noise is strong, so all values are in one bulk."""
    prior, rng, h = Product(0.8), np.random.default_rng(14), 1e-6
    Y = 0.6 * rng.standard_normal((5, 5))
    total = 0.0
    for place in np.ndindex(5, 5):
        E = np.zeros((5, 5))
        E[place] = h
        total += (prior.denoise(Y + E, 1.5)[0] - prior.denoise(Y - E, 1.5)[0])[place] / (2.0 * h)
    assert prior.denoise(Y, 1.5)[1] == pytest.approx(total / 25.0, rel=1e-6)


def test_values_outside_of_the_support_continue():
    """rho = 0.2, D = 0.01: xi is continuous at the three ends, grows between the bulks, and far above is lambda - 2 D / lambda.
    Without a gap xi above the support is that of its end."""
    low, high, gap = denoiser.panels(0.2, 0.01)
    assert gap
    for end, sign in ((high[0], 1), (low[1], -1), (high[1], 1)):
        at = denoiser.spectrum(end, 0.2, 0.01)
        near = denoiser.shrink(at.value * np.array([1.0 - 1e-9 * sign, 1.0 + 1e-9 * sign]), 0.2, 0.01)[0]
        np.testing.assert_allclose(near, at.signal, atol=1e-4)
    ends = denoiser.spectrum(np.stack([low, high]), 0.2, 0.01).value
    assert np.all(np.diff(denoiser.shrink(np.linspace(ends[1, 0], ends[0, 1], 20), 0.2, 0.01)[0]) > -1e-9)
    assert denoiser.shrink([100.0], 0.2, 0.01)[0][0] == pytest.approx(100.0 - 2e-4, abs=1e-6)
    top = denoiser.panels(2.0, 0.5)[1][-1]
    at = denoiser.spectrum(top, 2.0, 0.5)
    xi, slope = denoiser.shrink([2.0 * float(at.value)], 2.0, 0.5)
    assert xi[0] == pytest.approx(float(at.signal))
    assert slope[0] == 0


@pytest.mark.parametrize(("ratio", "noise"), [(0.0, 1.0), (-1.0, 1.0), (0.5, 0.0), (0.5, np.inf), (np.nan, 1.0)])
def test_bad_parameters_are_named(ratio, noise):
    with pytest.raises(ValueError, match="need rho > 0 and D > 0"):
        denoiser.mmse(ratio, noise)
