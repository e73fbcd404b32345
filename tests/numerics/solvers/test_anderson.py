"""Anderson acceleration: the fixed point, its flags, and the bound of one step."""

import numpy as np
import pytest

from attention_limits.numerics.solvers.anderson import anderson

# x -> M x + b with eigenvalues 0.99, -0.9 and 0.5: the plain iteration gains a digit in 230 steps.
MATRIX = np.diag([0.99, -0.9, 0.5])
SHIFT = np.array([0.01, 0.5, -0.3])
FIXED = np.linalg.solve(np.eye(3) - MATRIX, SHIFT)


def linear(x):
    return MATRIX @ x + SHIFT


def test_a_linear_map_of_three_dimensions_needs_few_steps():
    """Four former iterates span three dimensions, so the combination is exact up to the bound of a step."""
    found = anderson(linear, np.zeros(3), tolerance=1e-10, max_iterations=50)
    assert found.converged
    assert found.residual <= 1e-10
    # An error is at most the residual divided by 1 - 0.99.
    assert np.max(np.abs(found.value - FIXED)) <= 1e-8
    assert found.iterations <= 20


def test_a_nonlinear_map():
    found = anderson(np.cos, [0.0], tolerance=1e-12, max_iterations=50)
    assert found.converged
    assert found.value[0] == pytest.approx(0.7390851332151607, abs=1e-11)


def test_without_convergence_the_smallest_residual_is_reported():
    residuals = []

    def step(x):
        residuals.append(float(np.max(np.abs(linear(x) - x))))
        return linear(x)

    found = anderson(step, np.zeros(3), tolerance=1e-10, max_iterations=3)
    assert (found.converged, found.iterations, len(residuals)) == (False, 3, 3)
    assert found.residual == min(residuals)
    assert np.max(np.abs(linear(found.value) - found.value)) == found.residual


def test_a_map_that_is_not_finite_ends_the_iteration():
    found = anderson(lambda x: np.full(1, np.nan), [1.0], tolerance=1e-10, max_iterations=5)
    assert (found.converged, found.iterations) == (False, 1)
    assert found.value == [1.0]
    assert not np.isfinite(found.residual)


def test_no_component_moves_farther_than_the_bound():
    visited = []

    def step(x):
        visited.append(x.copy())
        return x + 100.0

    anderson(step, np.zeros(2), tolerance=1e-10, max_iterations=6, longest=0.25)
    assert np.max(np.abs(np.diff(visited, axis=0))) <= 0.25 + 1e-12
