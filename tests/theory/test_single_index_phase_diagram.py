"""Phase diagram of the positional-semantic model: exact lines, the grid, and minima found one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_limits.sequence_single_index.attention_tables import (
    attention_derivatives,
    attention_loss,
    line_constants,
)
from attention_limits.sequence_single_index.phase_diagram import minima, phase_grid, phase_lines

STRENGTHS = st.floats(0.7, 1.0)


@given(STRENGTHS)
@settings(max_examples=15)
def test_lines_are_where_their_conditions_hold(a):
    """Each line against the loss itself, through derivatives of the tables rather than the constants of the lines."""
    lines = {name: float(value) for name, value in phase_lines(a).items()}
    hessian = attention_derivatives(a, lines["steepest"], 0.0, 0.0)[1]
    assert hessian[0, 0] == pytest.approx(hessian[1, 1], abs=1e-8)
    assert attention_derivatives(a, lines["positional_unstable"], 0.0, 0.0)[1][0, 0] == pytest.approx(0.0, abs=1e-8)
    corners = [attention_loss(a, lines["global"], e, m) for e, m in ((0, 1), (1, 0))]
    assert corners[0] == pytest.approx(corners[1], abs=2e-9)
    for name, corner in (("positional_minimum", np.array([1.0, 0.0])), ("semantic_minimum", np.array([0.0, 1.0]))):
        # Second derivative along the arc that leaves the corner, per squared angle.
        gradient, hessian = attention_derivatives(a, lines[name], *corner)
        tangent = corner[::-1]
        assert tangent @ hessian @ tangent - gradient @ corner == pytest.approx(0.0, abs=1e-7)


def test_line_constants_have_converged():
    coarse, fine = line_constants(200), line_constants(256)
    for name, value in fine.items():
        assert value == pytest.approx(coarse[name], abs=1e-8), name


def test_grid_changes_its_region_at_the_lines():
    """Every change of code along omega lies within one cell of a line, and every line inside changes the code."""
    a, omega = np.array([0.78, 0.85, 0.93, 1.0]), np.linspace(0.4, 0.999, 400)
    codes, lines, cell = phase_grid(a, omega).code, phase_lines(a), omega[1] - omega[0]
    meaning = ("steepest", "global", "positional_minimum", "semantic_minimum")
    for i in range(len(a)):
        expected = np.sort([lines[name][i] for name in meaning])
        changes = omega[:-1][np.diff(codes[i]) != 0]
        assert len(changes) == len(expected)
        assert np.all((expected - changes > -1e-9) & (expected - changes < cell + 1e-9))


def test_only_known_regions_occur():
    """A positional global minimum with a semantic steepest direction (codes 1 and 5) does not exist."""
    grid = phase_grid(np.linspace(0.7, 1.0, 30), np.linspace(0.4, 1.0, 30))
    assert set(np.unique(grid.code)) == {0, 2, 3, 4, 6, 7}


@given(STRENGTHS, st.floats(0.4, 0.99))
@settings(max_examples=25)
def test_minima_are_minima_of_the_loss(a, omega):
    """No point of a fine grid of the disk is lower than the lowest minimum, and the count is that of the grid."""
    found = minima(a, omega)
    e, m = np.meshgrid(np.linspace(0, 1, 61), np.linspace(0, 1, 61))
    inside = e**2 + m**2 <= 1
    assert np.min(attention_loss(a, omega, e[inside], m[inside])) >= found[0].value - 1e-10
    grid = phase_grid([a], [omega])
    assert len(found) == grid.count[0, 0]
    assert np.hypot(found[0].e - grid.e[0, 0], found[0].m - grid.m[0, 0]) < 0.1


def test_strip_where_neither_corner_is_a_minimum():
    """Below a = 0.765 the lines of the two corners cross, and the minimum moves along the arc."""
    a, omega = 0.75, 0.985
    lines = phase_lines(a)
    assert lines["semantic_minimum"] < omega < lines["positional_minimum"]
    (only,) = minima(a, omega)
    assert only.kind == "arc"
    gradient, _ = attention_derivatives(a, omega, only.e, only.m)
    # Stationary along the arc, and descending outwards.
    assert gradient @ [only.m, -only.e] == pytest.approx(0.0, abs=1e-6)
    assert gradient @ [only.e, only.m] < 0
