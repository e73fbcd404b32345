"""Drift of untied students: that of single steps, of runs, of the tied flow where both agree, and the closed one of relu."""

import itertools
import math

import numpy as np
import pytest
from ssi_tools import rng, rngs

from agreement import assert_mean
from attention_limits.sequence_single_index.large_dimension import fixed_students_flow
from attention_limits.sequence_single_index.large_dimension.any_student_flow import (
    LinkFlow,
    flows,
    grid_nodes,
    with_error,
)
from attention_limits.sequence_single_index.large_dimension.untied_flow import UntiedFlow
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.sgd import any_student
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

pytestmark = pytest.mark.slow


def gate(z):
    return math.tanh(z[0]) * z[1] + 0.3 * z[0] ** 2


def wave(z):
    return math.sin(z[0] + z[1]) - z[0]


GATE = LinkProblem(wave, gate, 2, "half_square", ((1.0, 0.3), (0.3, 0.5)), untied=True, shifts=(0.4, -0.3))
START = np.array([[0.3, -0.2, 0.4], [-0.1, 0.5, 0.2]])


def test_drift_is_that_of_single_steps():
    """Mean change of 8000 single steps at d = 1e6, from overlaps and lengths that differ by token; false alarm 1e-4."""
    d, rate = 10**6, 0.5
    found = UntiedFlow(GATE, rate, grid_nodes(GATE))
    state = any_student.initial_state(GATE, START)
    schedule = Schedule(1, threshold=4.0)
    runs = any_student.simulate(GATE, d, rate, [START] * 8000, schedule, rngs(8000))
    steps = d * np.array([run.state - state for run in runs])
    drift = found.drift(state)
    assert_mean(steps, drift, allowance=1e-3)
    pairs = UntiedFlow(GATE, rate, found.nodes, batch=2)
    runs = any_student.simulate(GATE, d, rate, [START] * 3000, schedule, rngs(3000), batch=2)
    steps = np.array([run.state - state for run in runs])
    assert_mean(d * steps, pairs.drift(state), allowance=1e-3)
    # The lengths of all tokens together do not change.
    assert drift[-2:].sum() == pytest.approx(0.0, abs=1e-12)
    assert abs(drift[-1]) > 0.05


def test_runs_at_large_dimension_follow_the_flow():
    """Ten runs at d = 3e5: mean within 4 standard errors of the path, lengths of the tokens too, and those below 0.01."""
    d, rate = 300_000, 0.5
    found = UntiedFlow(GATE, rate, grid_nodes(GATE))
    schedule = Schedule(2 * d, threshold=4.0)
    runs = any_student.simulate(GATE, d, rate, [START] * 10, schedule, rngs(10))
    ends = np.array([run.state for run in runs])
    expected = found.path(START, [2.0])[0]
    spread = ends.std(axis=0, ddof=1) / np.sqrt(10)
    assert np.max(spread) < 0.01
    assert np.all(np.abs(ends.mean(axis=0) - expected) < 4 * spread + 1e-4)
    assert np.max(np.abs(expected - any_student.initial_state(GATE, START))) > 0.05


def test_drift_from_equal_overlaps_is_that_of_the_tied_flow_by_the_number_of_tokens():
    """At order gamma from equal overlaps: a tied student sums the gradients of its M tokens, an untied one has each alone."""
    tokens = 2
    links = built_in.hermite_sum(2, (0.5,) * tokens, 0.0)
    rate = 1e-6
    problems = [
        LinkProblem(links, built_in.trace_attention, tokens, "square", untied=untied) for untied in (False, True)
    ]
    tied, small = with_error(flows(problems[0], rate, rng(0).spawn(4)), lambda flow: flow.drift([0.4]) / rate)
    untied, error = with_error(
        flows(problems[1], rate, rng(0).spawn(4)),
        lambda flow: tokens * flow.drift(any_student.initial_state(problems[1], [0.4]))[:tokens] / rate,
    )
    np.testing.assert_allclose(untied, tied[0], rtol=0, atol=6 * (small[0] + np.max(error)) + 1e-5)
    assert abs(tied[0]) > 20 * (small[0] + np.max(error))


def test_escape_time_is_that_of_the_feed_forward_student():
    """relu of the mean field on sum He_2 / sqrt 2, three tokens: the closed drift, within the quadrature."""
    tokens, rate = 3, 0.01
    problem = LinkProblem(
        built_in.hermite_sum(2, (1 / math.sqrt(2),) * tokens, 0.0), built_in.relu_sum, tokens, "square", untied=True
    )
    tau, error = with_error(flows(problem, rate, rng(0).spawn(4)), lambda flow: flow.escape_time([0.1], 0.25))
    expected = fixed_students_flow.feed_forward_escape(tokens, rate, 0.1, 0.5, untied=True)
    assert tau == pytest.approx(expected, abs=5 * error)
    assert error < 0.03 * tau


def test_a_stiff_flow_at_rest_ends_with_the_runs(monkeypatch):
    """A rate at which a linear target is not learned: the flow rests, and 10^6 / rate would take more than 20 000 evaluations."""
    target = built_in.hermite_sum(1, (1 / math.sqrt(2),) * 2, 0.0)
    flow = flows(LinkProblem(target, built_in.relu_sum, 2, "square", untied=True), 2.56, [rng(0)])[0]
    count, means = itertools.count(), UntiedFlow._means

    def counted(self, state):
        assert next(count) < 5000
        return means(self, state)

    monkeypatch.setattr(UntiedFlow, "_means", counted)
    assert flow.escape_time([3000**-0.5], 0.25, 3.3) == np.inf


def test_kinds_of_students_are_not_mixed_up():
    with pytest.raises(ValueError, match="untied"):
        UntiedFlow(LinkProblem(wave, gate, 2), 0.1, None)
    with pytest.raises(ValueError, match="tied"):
        LinkFlow(GATE, 0.1, None)
