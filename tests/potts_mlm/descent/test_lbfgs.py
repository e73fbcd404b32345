"""L-BFGS on functions with known minima, and its end in double precision."""

import numpy as np
import pytest

from attention_limits.potts_mlm.descent.lbfgs import Descent, agreeing, descend, line_search


def quadratic(size, condition):
    """A convex quadratic form with its minimum, value 3, at a known place: (function, minimum, curvatures)."""
    rng = np.random.default_rng(1)
    curvatures, minimum = np.geomspace(1.0, condition, size), rng.standard_normal(size)

    def function(x):
        return 3.0 + 0.5 * curvatures @ (x - minimum) ** 2, curvatures * (x - minimum)

    return function, minimum, curvatures


def rosenbrock(x):
    """The function of Rosenbrock in any dimension, minimum 0 at ones."""
    a, b = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[:-1] = -400.0 * x[:-1] * a - 2.0 * b
    gradient[1:] += 200.0 * a
    return 100.0 * a @ a + b @ b, gradient


@pytest.mark.parametrize("memory", [3, 60])
def test_minimum_of_a_quadratic_form(memory):
    function, minimum, _ = quadratic(30, 100.0)
    found = descend(function, np.zeros(30), 500, 1e-8, memory)
    assert found.converged
    assert found.gradient_norm <= 1e-8
    # The smallest curvature is one.
    np.testing.assert_allclose(found.parameters, minimum, atol=1e-7)
    assert found.objective == pytest.approx(3.0, abs=1e-12)


def test_minimum_of_a_curved_valley():
    found = descend(rosenbrock, np.zeros(6), 500, 1e-8)
    assert found.converged
    np.testing.assert_allclose(found.parameters, 1.0, atol=1e-6)


def test_stop_at_the_largest_number_of_iterations():
    found = descend(rosenbrock, np.zeros(6), 7, 1e-8)
    assert found.iterations == 7
    assert not found.converged
    value, gradient = rosenbrock(found.parameters)
    assert (found.objective, found.gradient_norm) == (value, np.abs(gradient).max())


def test_known_curvature_saves_iterations():
    """With the exact diagonal from iteration 30 on, the rest of a quadratic form takes a few steps."""
    function, _, curvatures = quadratic(300, 1e8)
    plain = descend(function, np.zeros(300), 3000, 1e-6, 5)
    scaled = descend(function, np.zeros(300), 3000, 1e-6, 5, curvature=lambda x: curvatures)
    assert scaled.converged
    assert scaled.iterations < 60 < plain.iterations


def test_single_precision_leads_and_double_precision_ends():
    function, minimum, _ = quadratic(30, 100.0)
    calls = {"single": 0, "double": 0}

    def counted(x):
        calls["double"] += 1
        return function(x)

    def rounded(x):
        calls["single"] += 1
        value, gradient = function(x.astype(np.float32).astype(float))
        return float(np.float32(value)), gradient.astype(np.float32).astype(float)

    found = descend(counted, np.zeros(30), 500, 1e-9, single=rounded)
    assert found.converged
    np.testing.assert_allclose(found.parameters, minimum, atol=1e-8)
    assert calls["double"] < calls["single"]
    assert (found.objective, found.gradient_norm) == (
        function(found.parameters)[0],
        np.abs(function(found.parameters)[1]).max(),
    )


def test_steps_meet_the_weak_wolfe_conditions():
    """From many places of a wavy function: enough decrease, and a slope that has shrunk."""
    rng = np.random.default_rng(2)

    def wavy(x):
        return float(np.sum(x**2 + np.cos(5.0 * x))), 2.0 * x - 5.0 * np.sin(5.0 * x)

    for _ in range(50):
        start = 3.0 * rng.standard_normal(3)
        value, gradient = wavy(start)
        slope = float(-gradient @ gradient)
        for first in (1e-4, 1.0, 100.0):
            length, here, there = line_search(wavy, start, -gradient, value, slope, first, 0.0)
            assert here <= value + 1e-4 * length * slope
            assert -gradient @ there >= 0.9 * slope


def test_a_direction_without_lower_points_has_no_step():
    assert line_search(lambda x: (np.inf, x), np.ones(2), np.ones(2), 1.0, -1.0, 1.0, 0.0) is None


def test_agreeing_starts():
    assert agreeing([1.0, 1.00005, 1.2, 1.00001], [True, True, True, False]) == 2
    assert isinstance(descend(rosenbrock, np.ones(2), 3, 1e-3), Descent)
