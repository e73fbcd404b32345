"""Denoising of a Wishart matrix in Gaussian noise: the cubic, moments, high precision, limits, and matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agreement import assert_mean
from attention_limits.attention_indexed.model.scores import draw_weights
from attention_limits.attention_indexed.priors.denoisers import wishart

# Specifications allow 1e-9 to 100. Below rho D = 1e-7 the mass of the bulk around zero is right to 1e-16 / sqrt(rho D) only.
RATIOS = st.floats(np.log(0.005), np.log(10.0)).map(np.exp)
NOISES = st.floats(np.log(1e-8), np.log(1e8)).map(np.exp)


def transform_of(g, ratio, noise):
    """z(g) of the defining equation."""
    return 1.0 / g + noise * g + ratio / (np.sqrt(ratio) - g)


def edges(ratio, noise):
    low, high = wishart.panels(ratio, noise)
    return wishart.spectrum(high, ratio, noise).eigenvalue, wishart.spectrum(low, ratio, noise).eigenvalue


@settings(max_examples=40)
@given(RATIOS, NOISES, st.floats(-0.5, 1.5))
def test_transform_solves_its_equation(ratio, noise, place):
    """Inside and outside of the support, relative to the largest term; the sign of Im g is that of a density."""
    left, right = edges(ratio, noise)
    z = left.min() + place * (right.max() - left.min())
    g = complex(wishart.stieltjes(z, ratio, noise))
    size = abs(1.0 / g) + noise * abs(g) + ratio / abs(np.sqrt(ratio) - g)
    assert abs(transform_of(g, ratio, noise) - z) < 1e-9 * size
    assert g.imag <= 0
    inside = np.any((left < z) & (z < right))
    assert (g.imag < 0) == inside or np.min(np.abs(np.append(left, right) - z)) < 1e-9 * size


@settings(max_examples=40)
@given(RATIOS, NOISES)
def test_transform_decays_like_one_over_z_outside(ratio, noise):
    """Three bulk widths away |g z| is between the moments' bounds: only then was the right root of the cubic taken."""
    left, right = edges(ratio, noise)
    width = right.max() - left.min()
    for z in (right.max() + 3.0 * width, left.min() - 3.0 * width):
        g = complex(wishart.stieltjes(z, ratio, noise))
        assert g.imag == 0
        bounds = sorted([1.0 / (z - left.min()), 1.0 / (z - right.max())])
        assert bounds[0] * (1 - 1e-9) <= g.real <= bounds[1] * (1 + 1e-9)


@settings(max_examples=40)
@given(RATIOS, NOISES)
def test_moments_of_the_spectrum(ratio, noise):
    """Mass 1, mean sqrt(rho), second moment 1 + rho + D (relative 1e-9, the mean relative to the width); E xi = sqrt(rho)."""

    def moment(function):
        return float(wishart.integrate(function, ratio, noise))

    root = np.sqrt(ratio)
    assert moment(lambda s: 1.0) == pytest.approx(1.0, abs=1e-9)
    assert moment(lambda s: s.eigenvalue) == pytest.approx(root, abs=1e-9 * (root + np.sqrt(noise)))
    assert moment(lambda s: s.eigenvalue**2) == pytest.approx(1.0 + ratio + noise, rel=1e-9)
    assert moment(lambda s: s.signal) == pytest.approx(root, rel=1e-9)


@settings(max_examples=40)
@given(RATIOS, NOISES)
def test_both_formulas_of_the_error_agree(ratio, noise):
    """1 - Var xi and D - (4 pi^2 / 3) D^2 int mu^3: absolute 1e-9 of the terms, which cancel at small and at large D."""
    spread = wishart.integrate(lambda s: (s.signal - np.sqrt(ratio)) ** 2, ratio, noise)
    cubes = wishart.integrate(lambda s: s.height**2, ratio, noise)
    difference = (1.0 - spread) - noise * (1.0 - 4.0 / 3.0 * noise * cubes)
    assert abs(difference) < 1e-9 * (1.0 + noise)


# From roots of the cubic and tanh-sinh integration of the cube of the density in 30 digits (mpmath, edges from the roots of the
# quartic for z'(g) = 0), without any formula of the module: rho, D, error. The merging points are 1.5385 at rho = 0.1, 1 at 1/8,
# 0.01756 at 1/2.
HIGH_PRECISION = [
    (0.005, 1e-8, 9.974999999747487e-11),
    (0.005, 50.0, 0.4354065708550852),
    (0.05, 3.0, 0.2671061599724402),
    (0.1, 1.868984159043455, 0.3089430814898845),
    (0.125, 0.999, 0.2128984212653696),
    (0.5, 1e-4, 7.499249799779605e-5),
    (0.5, 0.026814135839563793, 0.01950728382328266),
    (0.5, 0.3, 0.16888922243193),
    (0.5, 1e8, 0.9999999899999999),
    (1.0, 1e-3, 0.000987826754495445),
    (2.0, 1e-2, 0.009813355590792437),
    (10.0, 5.0, 0.8313945699155653),
    (1e-8, 1e-11, 1.99999999e-19),
    (1e-8, 4e7, 0.6399999906666665),
    (1e-4, 5e3, 0.7498499198233667),
    (1e-10, 1.0, 1.9999999998e-10),
    (100.0, 1e-6, 9.999989899000319e-07),
]


@pytest.mark.parametrize(("ratio", "noise", "expected"), HIGH_PRECISION)
def test_error_in_high_precision(ratio, noise, expected):
    assert wishart.mmse(ratio, noise) == pytest.approx(expected, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("ratio", [0.005, 0.05, 0.125, 0.5, 0.9])
def test_error_is_smooth_where_the_bulks_merge(ratio):
    """Across the merging point, third differences of a smooth function with step 1e-3 are 1e-9 of it; a jump would show whole."""
    noise = wishart.merging_point(ratio) * (1.0 + 1e-3 * np.array([-1.5, -0.5, 0.5, 1.5]))
    error = wishart.mmse(ratio, noise)
    assert abs(np.diff(error, 3)[0]) < 1e-7 * error[0]
    low, high = wishart.panels(ratio, noise)
    assert (low[:, 0] < high[:, 0]).all()
    assert ((high[:, 0] < low[:, 1]) == [True, True, False, False]).all()


@pytest.mark.parametrize("ratio", [0.005, 0.1, 0.5, 2.0, 10.0])
def test_limits_of_the_error(ratio):
    """2 nu D at small D, up to a relative O(D); 1 - 1/D at large D, up to O(D^(-3/2))."""
    nu = float(wishart.effective_dimension(ratio))
    assert wishart.mmse(ratio, 1e-8) == pytest.approx(2.0 * nu * 1e-8, rel=1e-7)
    assert (1.0 - wishart.mmse(ratio, 1e8)) * 1e8 == pytest.approx(1.0, rel=1e-3)


def test_effective_dimension_counts_the_parameters():
    """r d - r (r - 1) / 2 parameters of a symmetric matrix of rank r < d, d (d + 1) / 2 beyond; per d^2, up to O(1/d)."""
    d = 1000
    for r in (5, 100, 999, 1000, 3000):
        count = r * d - r * (r - 1) / 2 if r < d else d * (d + 1) / 2
        assert wishart.effective_dimension(r / d) == pytest.approx(count / d**2, abs=1.0 / d)


@pytest.mark.parametrize(("ratio", "noise"), [(0.1, 0.3), (0.5, 0.01), (0.5, 0.5), (2.0, 1.0)])
def test_matrices_of_dimension_600(ratio, noise):
    """Error of the denoiser on four random matrices and density of their eigenvalues in ten bins; false-alarm rate 1e-4 each.

    Spectra of d = 600 deviate from the limit by O(1/d): 2/d of the error and 4/d of the mass are allowed.
    """
    d = 600
    left, right = edges(ratio, noise)
    bins = np.linspace(left.min(), right.max(), 11)
    grid = np.linspace(bins[0], bins[-1], 20001)
    middle = 0.5 * (grid[1:] + grid[:-1])
    mass = (wishart.density(middle, ratio, noise) * np.diff(grid)).reshape(10, -1).sum(axis=1)
    errors, counts = [], []
    for rng in np.random.default_rng(11).spawn(4):
        _, S = draw_weights(d, round(ratio * d), rng)
        Z = rng.standard_normal((d, d))
        values, vectors = np.linalg.eigh(S + np.sqrt(noise / (2.0 * d)) * (Z + Z.T))
        estimate = (vectors * wishart.shrink(values, ratio, noise)[0]) @ vectors.T
        errors.append(np.sum((estimate - S) ** 2) / d)
        counts.append(np.histogram(np.clip(values, bins[0], bins[-1]), bins)[0] / d)
    expected = float(wishart.mmse(ratio, noise))
    assert_mean(errors, expected, allowance=2.0 / d * expected)
    assert_mean(counts, mass, allowance=4.0 / d + 1e-3 * mass)


@pytest.mark.parametrize(("ratio", "noise"), [(0.0, 1.0), (-1.0, 1.0), (0.5, 0.0), (0.5, np.inf), (np.nan, 1.0)])
def test_bad_parameters_are_named(ratio, noise):
    with pytest.raises(ValueError, match="need rho > 0 and D > 0"):
        wishart.mmse(ratio, noise)
