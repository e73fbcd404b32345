"""Tables of the positional-semantic model: against the general series and the symmetries of the loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ssi_tools import attention_derivatives

from attention_limits.sequence_single_index.links.geometry import mean_attention
from attention_limits.sequence_single_index.links.link import (
    full_attention,
    hermite_sum,
    positional_semantic,
    trace_attention,
)
from attention_limits.sequence_single_index.population_loss.series import PopulationLoss
from attention_limits.sequence_single_index.positional_semantic.loss import (
    LossGrid,
    attention_loss,
    attention_tables,
    line_constants,
)

# Points of the quarter disk.
OVERLAPS = st.tuples(st.floats(0, 1), st.floats(0, 0.5 * np.pi)).map(
    lambda p: (p[0] * np.sin(p[1]), p[0] * np.cos(p[1]))
)


def test_mean_attention_in_closed_form():
    """mu(e) = 1 - sqrt(2)/4 exp(-e^2/2) exactly, to 1e-12 of the quadrature."""
    loss = PopulationLoss(hermite_sum(2, {0: [0, 0]}), trace_attention(2, 1.0), degree=0)
    for e in (0.0, 0.5, 1.0):
        mean = loss._student_at(e).values[0, 0]
        assert mean == pytest.approx(2 * mean_attention(e**2), abs=1e-11)


@pytest.mark.parametrize(("e", "m"), [(0.0, 0.0), (0.3, 0.5), (1.0, 0.0), (0.0, 1.0), (-0.6, -0.8)])
def test_tables_agree_with_the_general_series(e, m):
    """One row of the softmax and a Chebyshev table against all four outputs expanded at this e."""
    general = PopulationLoss(positional_semantic(0.9, 0.6), full_attention(2), degree=100).at(e, m)
    assert attention_loss(0.9, 0.6, e, m) == pytest.approx(general.value, abs=2e-9)
    gradient, hessian = attention_derivatives(0.9, 0.6, e, m)
    np.testing.assert_allclose(gradient, general.gradient, atol=1e-7)
    if m < 1:
        np.testing.assert_allclose(hessian, general.hessian, atol=1e-6)


def test_tail_of_the_tables_is_below_1e_9():
    circle = np.linspace(0, 1, 51)
    assert np.max(attention_tables().tail(circle, np.sqrt(1 - circle**2))) < 1e-9


@given(OVERLAPS, st.floats(0, 1), st.floats(0, 1.5))
def test_loss_is_even_and_not_negative(point, omega, a):
    e, m = point
    value = attention_loss(a, omega, e, m)
    assert value >= -1e-9
    assert attention_loss(a, omega, -e, m) == value == attention_loss(a, omega, e, -m)
    assert LossGrid.on([e], [m]).loss(a, omega)[0, 0] == pytest.approx(value, abs=1e-14)


def test_teacher_without_positional_part_is_learned_exactly():
    """omega = 0: the loss at (0, 1) vanishes, up to the tail of the series."""
    assert abs(attention_loss(1.0, 0.0, 0.0, 1.0)) < 2e-9


def test_line_constants_have_converged():
    coarse, fine = line_constants(200), line_constants(256)
    for name, value in fine.items():
        assert value == pytest.approx(coarse[name], abs=1e-8), name
