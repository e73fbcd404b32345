import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.numerics.solvers.fixed_point import iterate


@given(st.floats(-0.95, 0.95), st.floats(-5, 5), st.sampled_from([0, 8]))
def test_linear_map_converges_to_its_fixed_point(ratio, limit, lookahead):
    """At a residual of 1e-10 the distance to the limit is at most 1e-10 / (1 - ratio)."""
    found = iterate(lambda x: limit + ratio * (x - limit), [1.0], 1e-10, 5000, lookahead)
    assert found.converged
    assert found.residual <= 1e-10
    np.testing.assert_allclose(found.value, limit, atol=3e-9)


def test_components_converge_each_at_its_own_rate():
    ratios = np.array([0.2, 0.9, -0.5])
    found = iterate(lambda x: 1.0 + ratios * (x - 1.0), np.zeros(3), 1e-10, 1000, 8)
    np.testing.assert_allclose(found.value, 1.0, atol=1e-8)


@pytest.mark.parametrize("lookahead", [0, 4, 8])
def test_nonlinear_map(lookahead):
    found = iterate(np.cos, [0.3], 1e-12, 500, lookahead)
    np.testing.assert_allclose(found.value, 0.7390851332151607, atol=1e-11)


def test_acceleration_saves_iterations_near_marginality():
    def step(x):
        return 0.99 * x

    plain, fast = (iterate(step, [1.0], 1e-8, 10_000, lookahead) for lookahead in (0, 8))
    assert plain.converged
    assert fast.converged
    # A jump of eight terms after every three steps: eleven steps' progress for three evaluations.
    assert fast.iterations < 0.4 * plain.iterations


def test_two_coupled_modes_are_followed_to_their_limit():
    """Ratios 0.55 and 0.98 in a rotated basis: the plain iteration needs 900 evaluations."""
    rotation = np.array([[0.8, 0.6], [-0.6, 0.8]])
    matrix = rotation @ np.diag([0.55, 0.98]) @ rotation.T
    plain, fast = (
        iterate(lambda x: 1.0 + matrix @ (x - 1.0), np.zeros(2), 1e-8, 2000, lookahead) for lookahead in (0, 8)
    )
    assert plain.converged
    assert fast.converged
    assert fast.iterations < 0.05 * plain.iterations
    np.testing.assert_allclose(fast.value, 1.0, atol=1e-6)


def test_steady_growth_is_followed_by_ever_longer_jumps():
    """The change stays 0.01: plain iteration needs 1000 evaluations to the edge at 10."""
    found = iterate(lambda x: x + 0.01, [0.0], 1e-4, 200, 8, arrived=lambda x: x[0] >= 10.0)
    assert found.converged
    assert found.iterations < 40


def test_jump_does_not_pass_the_limit():
    visited = []

    def step(x):
        visited.append(float(x[0]))
        return 0.9 * x

    iterate(step, [1.0], 1e-6, 1000, 50)
    assert min(visited) >= 0
    assert np.all(np.diff(visited) <= 0)


def test_jump_is_limited_in_length():
    visited = []

    def step(x):
        visited.append(float(x[0]))
        return x + 1.0

    iterate(step, [0.0], 1e-9, 20, lookahead=100, longest_jump=2.5)
    jumps = np.diff(visited)
    assert jumps.max() == pytest.approx(1.0 + 2.5)
    # One jump every third step, and none after the last.
    assert np.sum(jumps > 1.5) == 6


def test_alternating_sequence_is_not_extrapolated():
    plain, fast = (iterate(lambda x: -0.8 * x, [1.0], 1e-8, 500, lookahead) for lookahead in (0, 8))
    assert plain.iterations == fast.iterations


def test_not_converging_is_a_result():
    found = iterate(lambda x: x + 1.0, [0.0], 1e-3, 7)
    assert not found.converged
    assert found.iterations == 7
    assert found.residual == 1.0
    np.testing.assert_array_equal(found.value, [7.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_values_stop_the_iteration(bad):
    calls = []

    def step(x):
        calls.append(x)
        return np.array([bad, 0.0]) if len(calls) == 3 else x + 1.0

    found = iterate(step, np.zeros(2), 1e-3, 100, 8)
    assert not found.converged
    assert not np.isfinite(found.residual)
    assert found.iterations == len(calls) == 3


def test_start_is_not_modified():
    start = np.zeros(2)
    iterate(lambda x: x + 1.0, start, 1e-3, 10, 8)
    np.testing.assert_array_equal(start, 0.0)


def test_arriving_at_the_edge_ends_the_iteration_as_converged():
    found = iterate(lambda x: x + 1.0, [0.0, 5.0], 1e-3, 100, arrived=lambda x: x.max() >= 8.0)
    assert found.converged
    assert found.iterations == 3
    np.testing.assert_array_equal(found.value, [3.0, 8.0])
