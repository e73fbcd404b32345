"""Readings of a loss surface that the figures of the family draw."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.sequence_single_index.figures.shared import descent_text, steepest_direction


@pytest.mark.parametrize(("e_curvature", "m_curvature", "expected"), [(-2.0, -1.0, [1, 0]), (1.0, -0.1, [0, 1])])
def test_steepest_direction_of_a_quadratic_loss(e_curvature, m_curvature, expected):
    e, m = np.linspace(-1, 1, 21), np.linspace(-1, 1, 11)
    loss = 0.5 * e_curvature * e[:, None] ** 2 + 0.5 * m_curvature * m**2
    np.testing.assert_array_equal(steepest_direction(e, m, loss), expected)


@pytest.mark.parametrize(
    ("order", "decided", "text"),
    [
        (2.0, True, "loss falls at order 2"),
        (np.nan, True, "loss falls at no order up to 6"),
        (np.nan, False, "undecided"),
    ],
)
def test_the_order_of_the_descent(order, decided, text):
    cube = xr.Dataset({"exponent_positional": order, "decided_positional": decided}, {"order": range(7)})
    assert descent_text(cube).endswith(text)
