"""Phase diagram of the positional-semantic model: exact lines, the grid, and minima found one by one."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from ssi_tools import attention_derivatives, overlap_derivative

from attention_limits.sequence_single_index.positional_semantic.loss import attention_loss
from attention_limits.sequence_single_index.positional_semantic.phase_diagram import minima, phase_grid, phase_lines

# All that the schema allows, and more densely where the lines of the corners leave [0, 1].
STRENGTHS = st.one_of(st.floats(0.0, 5.0), st.floats(0.5, 1.0))


WEIGHTS = st.floats(0.0, 1.0)


CORNERS = (("positional_minimum", (1.0, 0.0), "positional", 1.0), ("semantic_minimum", (0.0, 1.0), "semantic", -1.0))


def along_the_arc(a, omega, corner):
    """Second derivative of the loss along the arc that leaves a corner, per squared angle."""
    gradient, hessian = attention_derivatives(a, omega, *corner)
    tangent = np.array(corner[::-1])
    return tangent @ hessian @ tangent - gradient @ corner


@given(STRENGTHS)
@example(0.9)
@settings(max_examples=25)
def test_lines_are_where_their_conditions_hold(a):
    """Each line against the loss itself, through derivatives of the tables rather than the constants of the lines."""
    lines = {name: float(value) for name, value in phase_lines(a).items() if np.isfinite(value)}
    if "steepest" in lines:
        hessian = attention_derivatives(a, lines["steepest"], 0.0, 0.0)[1]
        assert hessian[0, 0] == pytest.approx(hessian[1, 1], abs=1e-8)
    if "positional_unstable" in lines:
        hessian = attention_derivatives(a, lines["positional_unstable"], 0.0, 0.0)[1]
        assert hessian[0, 0] == pytest.approx(0.0, abs=1e-8)
    if "global" in lines:
        corners = [attention_loss(a, lines["global"], e, m) for e, m in ((0, 1), (1, 0))]
        assert corners[0] == pytest.approx(corners[1], abs=2e-9)
    for name, corner, _, _ in CORNERS:
        if name in lines:
            assert along_the_arc(a, lines[name], corner) == pytest.approx(0.0, abs=1e-7)


@given(STRENGTHS, WEIGHTS)
@example(0.3, 0.5)
@example(0.5, 0.9)
@example(0.52, 0.99)
@example(0.545, 0.2)
@example(0.75, 0.985)
@example(5.0, 0.0)
@settings(max_examples=60)
def test_lines_and_grid_say_what_the_minima_say(a, omega):
    """Above or below a line, or without one: the derivatives of the loss, the minima and the grid agree."""
    lines = {name: float(value) for name, value in phase_lines(a).items()}
    assert all(np.isnan(value) or 0.0 <= value <= 1.0 for value in lines.values())
    assume(omega < 1.0 and all(not abs(omega - value) < 1e-6 for value in lines.values()))
    found, grid = minima(a, omega), phase_grid([a], [omega])
    for name, corner, kind, side in CORNERS:
        # Without a line the answer is that at omega = 0: only the semantic corner is a minimum.
        beyond = bool(omega > lines[name]) if np.isfinite(lines[name]) else False
        is_minimum = beyond if side > 0 else not beyond
        assert is_minimum == (along_the_arc(a, omega, corner) > 0.0)
        assert is_minimum == any(minimum.kind == kind for minimum in found)
    hessian = attention_derivatives(a, omega, 0.0, 0.0)[1]
    assert bool(omega > lines["steepest"]) == (hessian[0, 0] < hessian[1, 1])
    assert bool(omega > lines["positional_unstable"]) == (hessian[0, 0] < 0.0)
    if np.isfinite(lines["global"]):
        assert found[0].kind == ("positional" if omega > lines["global"] else "semantic")
    code = (found[0].e > found[0].m) + 2 * (hessian[0, 0] < hessian[1, 1]) + 4 * (len(found) > 1)
    assert (grid.code[0, 0], grid.count[0, 0]) == (code, len(found))


@given(STRENGTHS, WEIGHTS)
@example(0.3, 0.5)
@settings(max_examples=40)
def test_the_loss_falls_along_the_arc_only_towards_minima(a, omega):
    """Local minima of a fine grid along the arc, of the tables of the whole disk, are those of `minima`, and none is inside."""
    assume(omega < 1.0)
    e = np.sin(np.linspace(0.0, 0.5 * np.pi, 2001))
    loss = attention_loss(a, omega, e, np.sqrt(1.0 - e**2))
    padded = np.concatenate([[np.inf], loss, [np.inf]])
    lowest = np.flatnonzero((padded[1:-1] < padded[:-2]) & (padded[1:-1] < padded[2:]))
    expected = sorted(minimum.e for minimum in minima(a, omega))
    # Minima that the grid resolves: deeper than rounding.
    depth = [min(padded[max(i - 20, 0)], padded[min(i + 22, 2002)]) - loss[i] for i in lowest]
    resolved = [e[i] for i, size in zip(lowest, depth, strict=True) if size > 1e-9]
    assert all(min(abs(value - other) for other in expected) < 2e-2 for value in resolved)
    inside = np.linspace(0.0, 1.0, 41)
    x, y = (grid[np.add.outer(inside, inside) <= 1.0] for grid in np.meshgrid(inside, inside, indexing="ij"))
    assert np.min(overlap_derivative(x, y, 0, 1)) > 0.0


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


@given(STRENGTHS, WEIGHTS)
@example(0.75, 0.985)
@settings(max_examples=25)
def test_minima_are_minima_of_the_loss(a, omega):
    """No point of a fine grid of the disk is lower than the lowest minimum, and none is higher than its neighbours."""
    found = minima(a, omega)
    e, m = np.meshgrid(np.linspace(0, 1, 61), np.linspace(0, 1, 61))
    inside = e**2 + m**2 <= 1
    assert np.min(attention_loss(a, omega, e[inside], m[inside])) >= found[0].value - 1e-10
    for minimum in found:
        around = np.arctan2(minimum.m, minimum.e) + np.array([-1e-3, 1e-3])
        radius = np.hypot(minimum.e, minimum.m)
        e, m = radius * np.abs(np.cos(around)), radius * np.abs(np.sin(around))
        assert np.all(attention_loss(a, omega, e, m) >= minimum.value - 1e-11)


def test_a_purely_positional_target_leaves_the_semantic_overlap_free():
    """At omega = 1: one minimum, positional for strong a, else a flat line along m, stationary in e."""
    for a, kind in ((1.0, "positional"), (0.3, "flat"), (0.74, "flat")):
        (only,) = minima(a, 1.0)
        assert only.kind == kind
        assert attention_derivatives(a, 1.0, only.e, 0.0)[0][0] * (only.e < 1.0) == pytest.approx(0.0, abs=1e-8)


def test_strip_where_neither_corner_is_a_minimum():
    """Below a = 0.765 the lines of the two corners cross, and the minimum moves along the arc."""
    a, omega = 0.75, 0.985
    lines = phase_lines(a)
    assert lines["semantic_minimum"] < omega
    assert np.isnan(lines["positional_minimum"])
    assert np.isnan(lines["global"])
    (only,) = minima(a, omega)
    assert only.kind == "arc"
    gradient, _ = attention_derivatives(a, omega, only.e, only.m)
    # Stationary along the arc, and descending outwards.
    assert gradient @ [only.m, -only.e] == pytest.approx(0.0, abs=1e-6)
    assert gradient @ [only.e, only.m] < 0
