"""Replica theory of masked Gaussian sequences: closed form, general saddle point, limits, and finite-size simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.potts_mlm.replica import (
    Spectrum,
    closed_form,
    initial_slope,
    optimal_ridge,
    resolvent,
    saddle_point,
)
from attention_limits.potts_mlm.ridge import draw_instance, draw_sequences, errors
from theory.tools import assert_mean

NAMES = ("generalization", "training", "overlap", "norm", "variance")


@given(st.floats(2.05, 6.0), st.floats(-4.0, 1.0), st.floats(-2.0, 1.5))
def test_closed_form_solves_the_general_saddle_point(gamma, log_ridge, log_alpha):
    """All order parameters to a relative 1e-10; 400 nodes of the semicircle law are exact to rounding for gamma >= 2.05."""
    ridge, alpha = 10.0**log_ridge, 10.0**log_alpha
    closed = closed_form(gamma, ridge, alpha)
    iterated = saddle_point(Spectrum.of_ensemble(gamma), ridge, alpha)
    # Overlap and norm are differences of numbers of order one at small alpha: relative to the signal then.
    for name in NAMES:
        assert float(getattr(closed, name)) == pytest.approx(float(getattr(iterated, name)), rel=1e-10, abs=1e-12)


@given(st.floats(2.01, 10.0), st.floats(-8.0, 2.0), st.floats(-3.0, 2.0))
def test_root_satisfies_its_equation(gamma, log_ridge, log_alpha):
    """In terms of V alone: V ridge = g(gamma + alpha / (ridge (1 + V))); and e_train = e_g / (1 + V)^2."""
    ridge, alpha = 10.0**log_ridge, 10.0**log_alpha
    closed = closed_form(gamma, ridge, alpha)
    V = float(closed.variance)
    assert V * ridge == pytest.approx(float(resolvent(gamma + alpha / (ridge * (1.0 + V)))), rel=1e-9)
    assert float(closed.training) == pytest.approx(float(closed.generalization) / (1.0 + V) ** 2, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 0.9, 1.1, 4.0])
def test_ridgeless_is_the_limit_of_a_small_ridge(alpha):
    """The first correction is linear in the ridge: extrapolated from 1e-9 and 2e-9, what is left is of its square."""
    exact, close, double = (closed_form(2.5, ridge, alpha) for ridge in (0.0, 1e-9, 2e-9))
    for name in NAMES[:4]:
        extrapolated = 2.0 * float(getattr(close, name)) - float(getattr(double, name))
        assert extrapolated == pytest.approx(float(getattr(exact, name)), rel=1e-9, abs=1e-12)
    if alpha > 1:
        assert float(exact.variance) == pytest.approx(float(close.variance), rel=1e-6)
    else:
        assert np.isinf(exact.variance)


def test_ridgeless_diverges_at_one_sample_per_parameter():
    assert np.isinf(closed_form(2.5, 0.0, 1.0).generalization)


@pytest.mark.parametrize("gamma", [2.05, 2.1, 2.5, 4.0])
def test_initial_slope_is_that_of_the_curve(gamma):
    """Second-order one-sided difference; the curvature is of order one, so its error is below 1e-6 at a step of 1e-4."""
    at = closed_form(gamma, 0.0, np.array([1e-9, 1e-4, 2e-4])).generalization
    slope = (-3.0 * at[0] + 4.0 * at[1] - at[2]) / 2e-4
    assert slope == pytest.approx(float(initial_slope(gamma)), abs=2e-5)
    assert (slope < 0) == (gamma < 3.0 / np.sqrt(2.0))


def test_without_data_the_error_is_the_variance_of_a_site():
    assert float(closed_form(2.5, 1.0, 1e-12).generalization) == pytest.approx(float(resolvent(2.5)), abs=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.1, 2.0])
def test_excess_at_many_samples_is_the_noise_over_alpha(ridge):
    """e_g - D -> D / alpha; the next order is (1 + ridge^2 const) / alpha^2."""
    alpha = 1e4
    excess = float(closed_form(2.5, ridge, alpha).generalization) - 0.4
    assert excess * alpha == pytest.approx(0.4, rel=30.0 / alpha * (1.0 + ridge) ** 2)


@pytest.mark.parametrize("gamma", [2.2, 2.5, 4.0])
def test_optimal_ridge_between_its_limits(gamma):
    """sqrt(gamma^2 - 4) at alpha -> 0 and gamma^3 / (gamma^2 - 1) at alpha -> infinity, and it is optimal in between."""
    assert optimal_ridge(gamma, 1e-5) == pytest.approx(np.sqrt(gamma**2 - 4.0), rel=1e-3)
    assert optimal_ridge(gamma, 1e5) == pytest.approx(gamma**3 / (gamma**2 - 1.0), rel=2e-2)
    best = optimal_ridge(gamma, 1.0)
    at = closed_form(gamma, best * np.array([0.99, 1.0, 1.01]), 1.0).generalization
    assert at[1] < min(at[0], at[2])


def test_simulation_agrees_with_theory():
    """L = 300, 24 instances, both errors, ridge and pseudo-inverse; false-alarm rate 1e-4. Corrections of order 1/L relative to
    the value are allowed with coefficient 2 (their size near alpha = 1, where they are larger, is not tested)."""
    sites, ridges, alphas = 300, [0.0, 0.1, 1.0], [0.4, 2.5]
    counts = [round(alpha * (sites - 1)) for alpha in alphas]
    found = []
    for rng in np.random.default_rng(21).spawn(24):
        instance = draw_instance(2.5, sites, rng)
        found.append([errors(instance, draw_sequences(instance, count, rng), ridges) for count in counts])
    for i, count in enumerate(counts):
        theory = closed_form(2.5, np.array(ridges), count / (sites - 1))
        expected = np.array([theory.generalization, theory.training])
        assert_mean(np.array(found)[:, i], expected, allowance=2.0 / sites * expected)


def test_simulation_agrees_with_the_saddle_point_of_its_own_matrix():
    """One instance, 24 data sets: no ensemble average, so any covariance may be used; false-alarm rate 1e-4."""
    rng = np.random.default_rng(22)
    sites, ridge, count = 300, 0.3, 450
    instance = draw_instance(2.3, sites, rng)
    K = instance.factor.T @ instance.factor
    theory = saddle_point(Spectrum.of_matrix(K), ridge, count / (sites - 1))
    found = np.array([errors(instance, draw_sequences(instance, count, child), [ridge]) for child in rng.spawn(24)])
    expected = np.array([[theory.generalization], [theory.training]])
    assert_mean(found, expected, allowance=2.0 / sites * expected)


@pytest.mark.parametrize(
    ("arguments", "message"), [((2.0, 0.1, 1.0), "gamma 2"), ((2.5, -0.1, 1.0), "ridge"), ((2.5, 0.1, 0.0), "alpha")]
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        closed_form(*arguments)
