"""Replica theory of masked Gaussian sequences: closed form, general saddle point, limits, and values of other programs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.potts_mlm.replica.theory import Spectrum, closed_form, optimal_ridge, resolvent, saddle_point

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
def test_initial_slope_of_the_curve(gamma):
    """d e_g / d alpha = g (1 - 2 g^2) / (1 - g^2) at alpha = 0 without ridge, negative below gamma = 3 / sqrt(2).

    Second-order one-sided difference; the curvature is of order one, so its error is below 1e-6 at a step of 1e-4.
    """
    at = closed_form(gamma, 0.0, np.array([1e-9, 1e-4, 2e-4])).generalization
    slope = (-3.0 * at[0] + 4.0 * at[1] - at[2]) / 2e-4
    g = float(resolvent(gamma))
    assert slope == pytest.approx(g * (1.0 - 2.0 * g**2) / (1.0 - g**2), abs=2e-5)
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


@pytest.mark.parametrize(
    ("arguments", "message"), [((2.0, 0.1, 1.0), "gamma 2"), ((2.5, -0.1, 1.0), "ridge"), ((2.5, 0.1, 0.0), "alpha")]
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        closed_form(*arguments)


@pytest.mark.parametrize(
    ("ridge", "alpha", "error"),
    [
        (0.0, 0.5, 0.876894374382), (0.0, 0.95, 8.06504495005), (0.0, 1.1, 4.4), (0.01, 0.5, 0.81085425), (0.01, 1.0, 1.51071819),
        (0.01, 2.0, 0.76425739), (0.1, 1.1, 0.676344545764), (1.0, 0.5, 0.48650593), (1.0, 1.0, 0.47811702),
        (1.0, 2.0, 0.46654645), (2.5, 0.55, 0.483551816189),
    ],
)  # fmt: skip
def test_generalisation_error_at_gamma_2_5(ridge, alpha, error):
    """Saddle-point iteration by a separate program, printed to 8 digits or more."""
    assert float(closed_form(2.5, ridge, alpha).generalization) == pytest.approx(error, abs=6e-9)


@pytest.mark.parametrize(
    ("ridge", "samples", "error", "standard_error"),
    [
        (0.01, 160, 0.722180480393, 0.006382485213), (1.0, 160, 0.488690105187, 0.002205854790),
        (0.0, 319, 2.044424208824, 0.038600421151), (0.1, 439, 0.678469360349, 0.004286911805),
        (0.0, 798, 0.802809934741, 0.006754288514), (1.0, 1995, 0.446234818541, 0.001737669658),
    ],
)  # fmt: skip
def test_theory_agrees_with_an_independent_simulation(ridge, samples, error, standard_error):
    """60 matrices of 400 sites at gamma = 2.5; 4.5 standard errors (t, 59 degrees, 6 values: false-alarm rate below 3e-4)."""
    assert float(closed_form(2.5, ridge, samples / 399).generalization) == pytest.approx(
        error, abs=4.5 * standard_error
    )
