"""Drift and diffusion of any student: exact for polynomials, those of the tables of attention, of single steps, of runs."""

import math

import numpy as np
import pytest
from ssi_tools import attention_derivatives, rng, rngs

from agreement import assert_mean
from attention_limits.numerics.probability.hermite import gauss_hermite
from attention_limits.sequence_single_index.large_dimension import fixed_students_flow
from attention_limits.sequence_single_index.large_dimension.any_student_flow import (
    LinkFlow,
    flows,
    grid_nodes,
    with_error,
)
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links.geometry import alternating
from attention_limits.sequence_single_index.sgd import any_student
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

pytestmark = pytest.mark.slow

CUBE = built_in.hermite_sum(3, (1 / math.sqrt(12),) * 2, 0.0)
HERMITE = LinkProblem(CUBE, CUBE, 2)
ATTENTION = LinkProblem(built_in.positional_semantic(1.0, 0.6), built_in.full_attention, 2, gram=alternating(2))


def gate(z):
    return math.tanh(z[0]) * z[1] + 0.3 * z[0] ** 2


def wave(z):
    return math.sin(z[0] + z[1]) - z[0]


GATE = LinkProblem(wave, gate, 2, "half_square", ((1.0, 0.3), (0.3, 0.5)), shifts=(0.4, -0.3))


def test_drift_of_polynomials_is_exact():
    """The closed drift of the matched Hermite student; a grid integrates its degree exactly, but for nodes of weight < 1e-16.

    Those lie beyond 6 standard deviations, where a polynomial of degree ten is below 1e9: 1e-6.
    """
    found = LinkFlow(HERMITE, 0.3, grid_nodes(HERMITE))
    for m in (0.0, 0.2, -0.7, 0.99):
        assert found.drift([m])[0] == pytest.approx(fixed_students_flow.hermite_drift(m, 3, 0.3, 2), abs=1e-6)
    tau = fixed_students_flow.escape_time(lambda m: fixed_students_flow.hermite_drift(m, 3, 0.003, 2), 0.1, 0.5)
    slow = LinkFlow(HERMITE, 0.003, grid_nodes(HERMITE))
    assert slow.escape_time([0.1], 0.25) == pytest.approx(tau, rel=1e-3)
    assert slow.escape_time([0.1], 0.25, 1.01 * tau) == pytest.approx(tau, rel=1e-3)
    assert slow.escape_time([0.1], 0.25, 0.99 * tau) == np.inf
    path = slow.path([0.1], [0.5 * tau, tau])
    assert path[1, 0] == pytest.approx(0.5, rel=1e-3)
    assert slow.escape_time([0.6], 0.25) == 0.0
    # Noise wins at this learning rate: the flow returns to zero.
    assert LinkFlow(HERMITE, 3.0, grid_nodes(HERMITE)).escape_time([0.1], 0.25) == np.inf


def mean_tanh(z):
    return (math.tanh(z[0]) + math.tanh(z[1])) / math.sqrt(2)


def test_drift_at_small_overlaps_is_that_of_the_information_exponent():
    """Student mean_tanh on -sum He_3 / sqrt 12: 3 A m^2 (1 - m^2) at order gamma, A = -E tanh h_3, to 1 % at m = 1e-3 too.

    A quadrature that is not even in eta adds a part linear in m, here larger by 1e3.
    """
    x, weights = gauss_hermite(200)
    amplitude = -weights @ (np.tanh(x) * (x**3 - 3 * x)) / math.sqrt(6)
    problem = LinkProblem(built_in.hermite_sum(3, (-1 / math.sqrt(12),) * 2, 0.0), mean_tanh, 2)
    found = LinkFlow(problem, 1e-12, grid_nodes(problem, 24))
    for m in (1e-3, 0.1, 0.5):
        assert found.drift([m])[0] / 1e-12 == pytest.approx(3 * amplitude * m**2 * (1 - m**2), rel=0.01)


def test_drift_of_attention_is_that_of_the_tables():
    """-gamma (R' - (R' . x) x) at a small gamma; the series of the tables against a grid, within its error."""
    rate = 1e-6
    for x in ([0.0, 0.1], [0.3, 0.4], [0.6, -0.2]):
        drift, error = with_error(flows(ATTENTION, rate, []), lambda each, x=x: each.drift(x) / rate)
        gradient, _ = attention_derivatives(1.0, 0.6, *x)
        np.testing.assert_allclose(
            drift, -(gradient - (gradient @ x) * np.array(x)), rtol=0, atol=np.max(3 * error) + 1e-5
        )
        assert np.max(error) < 5e-3


def test_drift_and_diffusion_are_those_of_single_steps():
    """Mean and products of the changes in 20000 single steps at d = 1e6, three overlaps; false alarm 1e-4 each."""
    d, rate, x = 10**6, 0.5, np.array([0.3, -0.2, 0.4])
    found = LinkFlow(GATE, rate, grid_nodes(GATE))
    schedule = Schedule(1, threshold=2.0)
    runs = any_student.simulate(GATE, d, rate, [x] * 20_000, schedule, rngs(20_000))
    steps = d * np.array([run.state - x for run in runs])
    assert_mean(steps, found.drift(x), allowance=1e-3)
    centred = steps - found.drift(x)
    expected = found.diffusion(x)
    assert_mean(centred[:, :, None] * centred[:, None, :], expected, allowance=1e-3 * np.max(expected))
    pairs = LinkFlow(GATE, rate, found.nodes, batch=2)
    runs = any_student.simulate(GATE, d, rate, [x] * 5000, schedule, rngs(5000), batch=2)
    steps = np.array([run.state - x for run in runs])
    assert_mean(d * steps, pairs.drift(x), allowance=1e-3)
    centred = d * steps - pairs.drift(x)
    assert_mean(centred[:, :, None] * centred[:, None, :], pairs.diffusion(x), allowance=1e-3 * np.max(expected))


def test_moments_serve_all_learning_rates():
    """A flow can share the moments of another one, and has the drift and the diffusion of its learning rate and batch."""
    x, nodes = np.array([0.3, -0.2, 0.4]), grid_nodes(GATE)
    fast = LinkFlow(GATE, 0.5, nodes)
    fast.drift(x)
    shared, fresh = fast.at(0.1, batch=3), LinkFlow(GATE, 0.1, nodes, batch=3)
    assert shared.moments is fast.moments
    np.testing.assert_allclose(shared.drift(x), fresh.drift(x), rtol=1e-12)
    np.testing.assert_allclose(shared.diffusion(x), fresh.diffusion(x), rtol=1e-12)
    assert np.max(np.abs(shared.drift(x) - fast.drift(x))) > 1e-3


def test_runs_at_large_dimension_follow_the_flow():
    """Ten runs at d = 3e5 from (0, 0, 0.4): the mean within 4 standard errors of the path, and those below 0.01."""
    d, rate = 300_000, 0.5
    found = LinkFlow(GATE, rate, grid_nodes(GATE))
    schedule = Schedule(2 * d, threshold=2.0)
    runs = any_student.simulate(GATE, d, rate, [[0, 0, 0.4]] * 10, schedule, rngs(10))
    ends = np.array([run.state for run in runs])
    expected = found.path([0.0, 0.0, 0.4], [2.0])[0]
    spread = ends.std(axis=0, ddof=1) / np.sqrt(10)
    assert np.max(spread) < 0.01
    assert np.all(np.abs(ends.mean(axis=0) - expected) < 4 * spread + 1e-4)
    assert np.max(np.abs(expected - [0, 0, 0.4])) > 0.05


def test_a_kink_on_the_nodes_of_the_grid_is_noticed():
    """The kink of relu(z_1 + z_2) lies on the diagonal of the grid, where both grids are wrong by a fifth, and agree."""
    drifts = {}
    for tokens in (1, 2):
        problem = LinkProblem(built_in.linear_sum, built_in.relu_sum, tokens, "square")
        drifts[tokens] = with_error(flows(problem, 1e-6, rng(0).spawn(4)), lambda each: each.drift([0.3])[0] / 1e-6)
    # Of the mean of the fields alone the drift does not depend on their number.
    assert drifts[2][0] == pytest.approx(drifts[1][0], abs=5 * drifts[2][1])
    assert drifts[2][1] < 0.01
    (wrong, small) = with_error(flows(problem, 1e-6, []), lambda each: each.drift([0.3])[0] / 1e-6)
    assert abs(wrong - drifts[1][0]) > 3 * small
    # Smooth functions keep their grid.
    assert flows(HERMITE, 0.1, rng(0).spawn(4))[0].grid


def test_more_than_two_tokens_have_sobol_nodes():
    problem = LinkProblem(built_in.hermite_sum(2, (0.5,) * 3, 0.0), built_in.relu_sum, 3, "square")
    # Weights 1/2 in place of 1/sqrt(2): the target, and the part of the drift with it, are smaller by sqrt(2); at order gamma.
    gentle, small = with_error(flows(problem, 1e-6, rng(0).spawn(4)), lambda each: each.drift([0.3]) / 1e-6)
    assert abs(gentle[0] - fixed_students_flow.FEED_FORWARD_SLOPE / np.sqrt(2) * 0.3 * (1 - 0.09)) < 6 * small[0] + 1e-4
    assert small[0] < 0.02


def test_a_time_beyond_the_end_is_infinite_for_scrambled_nodes_too():
    problem = LinkProblem(built_in.linear_sum, built_in.relu_sum, 3, "square")
    several = flows(problem, 0.1, rng(0).spawn(4))
    assert not several[0].grid
    times = [flow.escape_time([0.1], 0.25) for flow in several]
    between = (min(times) + max(times)) / 2
    for end in (0.5 * min(times), between):
        value, error = with_error(several, lambda flow, end=end: flow.escape_time([0.1], 0.25, end))
        assert value == np.inf
        assert np.isnan(error)
    value, error = with_error(several, lambda flow: flow.escape_time([0.1], 0.25, 1.01 * max(times)))
    assert value == pytest.approx(np.mean(times))
    assert 0.0 < error < 0.05 * value
