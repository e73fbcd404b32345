import numpy as np
import pytest
from scipy import stats

from attention_limits.numerics.probability.power_laws import first_reached, fit_power_law, median_and_range


def test_power_law_with_honest_errors():
    """Exponents of 400 noisy data sets scatter like their errors: chi^2 within its 1e-4 range."""
    rng = np.random.default_rng(0)
    x, relative = np.array([1.0, 2, 4, 8, 16]), np.array([0.05, 0.1, 0.05, 0.2, 0.1])
    fits = [fit_power_law(x, 3.0 * x**1.5 * np.exp(relative * rng.standard_normal(5)), relative) for _ in range(400)]
    pulls = np.sum([((fit.exponent - 1.5) / fit.error) ** 2 * max(1.0, fit.excess) for fit in fits])
    assert stats.chi2.ppf(5e-5, 400) < pulls < stats.chi2.isf(5e-5, 400)
    assert fit_power_law(x, 3.0 * x**1.5, relative).prefactor == pytest.approx(3.0)
    assert np.isnan(fit_power_law(x[:1], x[:1], relative[:1]).exponent)


def test_power_law_of_other_data_has_a_larger_error():
    """Three points, the second e^-3 below the line: exponent and chi^2 of one degree of freedom by hand."""
    x, relative = np.exp([0.0, 1.0, 2.0]), np.ones(3)
    fit = fit_power_law(x, x * np.exp([0.0, -3.0, 0.0]), relative)
    # Residuals 1, -2, 1 have chi^2 = 6; the plain error is 1 / sqrt(2).
    assert (fit.exponent, fit.excess, fit.error) == pytest.approx((1.0, 6.0, np.sqrt(3.0)))
    assert fit_power_law(x[:2], x[:2], relative[:2]).error == pytest.approx(np.sqrt(2.0))


def test_power_law_with_a_correction():
    """y = x^2 exp(-3 / sqrt(x)) is exact with the term, and too large without it; three points leave no freedom."""
    x = np.array([10.0, 100.0, 1e3, 1e4])
    y, relative, term = x**2 * np.exp(-3.0 / np.sqrt(x)), np.full(4, 0.1), 1.0 / np.sqrt(x)
    fit = fit_power_law(x, y, relative, [term])
    assert (fit.exponent, fit.prefactor) == pytest.approx((2.0, 1.0))
    assert fit_power_law(x, y, relative).exponent > 2.1
    assert np.isnan(fit_power_law(x[:3], y[:3], relative[:3], [term[:3]]).excess)
    assert np.isnan(fit_power_law(x[:2], y[:2], relative[:2], [term[:2]]).exponent)


def test_median_with_censored_values():
    """A censored value counts as later than all that are known, however short its run was."""
    values = np.array([1.0, 2.0, 3.0, 4.0, 0.5, 0.5, 0.5])
    escaped = np.array([True, True, True, True, False, False, False])
    median, low, high = median_and_range(values, escaped)
    assert (median, low) == (4.0, 3.0)
    assert np.isinf(high)
    median, low, high = median_and_range(np.arange(1.0, 17.0), np.ones(16, bool))
    assert median == 8.5
    # The range of +-sqrt(n)/2 ranks around the middle.
    assert (low, high) == (7.0, 10.0)


def test_where_a_curve_first_reaches_a_level():
    """Between two points on the line; at the first point of a curve that starts above; never, also with missing values."""
    x, y = np.array([1.0, 2.0, 4.0, 8.0]), np.array([0.0, 0.2, 0.6, 0.1])
    assert first_reached(x, y, 0.3) == pytest.approx(2.5)
    assert first_reached(x, 1.0 - y, 0.3) == 1.0
    assert np.isnan(first_reached(x, y, 0.7))
    assert np.isnan(first_reached(x, np.full(4, np.nan), 0.1))
