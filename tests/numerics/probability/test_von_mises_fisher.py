"""The von Mises-Fisher law against Bessel functions of scipy, and against the circle and the sphere in closed form."""

import numpy as np
import pytest
from scipy.special import gammaln, ive

from attention_limits.numerics.probability.von_mises_fisher import direction


@pytest.mark.parametrize("order", [-0.5, 0.0, 0.5, 2.5, 6.5, 20.0])
def test_normalisation_and_mean_are_bessel_functions(order):
    """Concentrations on both sides of the asymptotic series."""
    for x in np.logspace(-3, 5, 40):
        log_mean, ratio = direction(order, x)
        wanted = gammaln(order + 1.0) + order * np.log(2.0 / x) + np.log(ive(order, x)) + x
        assert log_mean == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        assert ratio == pytest.approx(ive(order + 1.0, x) / (x * ive(order, x)), rel=1e-12)


def test_three_dimensions_are_elementary():
    """sinh(x) / x and coth(x) - 1 / x, where no Bessel function of scipy enters."""
    for x in (0.3, 5.0, 29.0, 31.0, 200.0):
        log_mean, ratio = direction(0.5, x)
        assert log_mean == pytest.approx(x + np.log1p(-np.exp(-2.0 * x)) - np.log(2.0 * x), rel=1e-13)
        assert ratio * x == pytest.approx(1.0 / np.tanh(x) - 1.0 / x, rel=1e-12)


def test_no_concentration_and_large_order():
    """At x = 0 the mean of exp(x e_1) is one, and E[e_1] / x = E[e_1^2] = 1 / p; a large order overflows nothing."""
    assert direction(3.0, 0.0) == pytest.approx((0.0, 1.0 / 8.0))
    log_mean, ratio = direction(300.0, 1.0)
    assert log_mean == pytest.approx(0.25 / 301.0, rel=1e-3)
    assert ratio == pytest.approx(1.0 / 602.0, rel=1e-4)
