"""Escape time of the diffusion of two overlaps: closed formulas, runs of SGD, and the flow without noise."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import j0, j1, jn_zeros
from ssi_tools import rngs

from agreement import assert_mean
from attention_limits.sequence_single_index.large_dimension.any_student_flow import LinkFlow, grid_nodes
from attention_limits.sequence_single_index.large_dimension.escape_plane import escape_times
from attention_limits.sequence_single_index.links.built_in import hermite_sum
from attention_limits.sequence_single_index.links.geometry import alternating
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem, simulate
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

D, A, THRESHOLD = 300.0, 0.7, 0.25


def given(drift, spread):
    """A flow with these functions of (e, m)."""
    return SimpleNamespace(
        problem=SimpleNamespace(components=np.zeros((1, 1))),
        drift=lambda x: np.array(drift(*x), dtype=float),
        diffusion=lambda x: np.array(spread(*x), dtype=float),
    )


@pytest.mark.parametrize("noise", [[[0.7, 0.0], [0.0, 0.7]], [[2.0, 0.6], [0.6, 1.0]]], ids=["equal", "correlated"])
@pytest.mark.parametrize("start", [(0.0, 0.0), (-0.3, 0.2)])
def test_free_diffusion_has_the_mean_exit_time_of_brownian_motion(noise, start):
    """tau = (theta^2 - |x|^2) d / tr a, for correlated noise too: the equation is exact for quadratic u."""
    found = escape_times(given(lambda e, m: (0.0, 0.0), lambda e, m: noise), D, start, THRESHOLD, mesh=24)
    assert found[0] == pytest.approx(D * (THRESHOLD - np.sum(np.square(start))) * D / np.trace(noise), rel=1e-9)


def test_quantiles_of_brownian_motion():
    """P(tau > t) = sum_n 2 / (j_n J_1(j_n)) exp(-j_n^2 a t / (2 d theta^2)) from the middle, j_n the zeros of J_0."""
    noise = [[A, 0.0], [0.0, A]]
    found = escape_times(given(lambda e, m: (0.0, 0.0), lambda e, m: noise), D, (0.0, 0.0), THRESHOLD, mesh=48)
    zeros = jn_zeros(0, 60)
    assert np.abs(j0(zeros)).max() < 1e-12
    for quantile, step in zip((0.16, 0.5, 0.84), found[1:], strict=True):
        stays = np.sum(2.0 / (zeros * j1(zeros)) * np.exp(-(zeros**2) * A * step / D / (2.0 * D * THRESHOLD)))
        assert stays == pytest.approx(1.0 - quantile, abs=2e-3)


def test_linear_drift_has_its_mean_exit_time_and_the_change_of_the_mesh_covers_the_error():
    """u' = -(1 - exp(-k r^2)) / (lambda r), k = lambda d / a: growth out of the noise at the start."""
    growth = 3.0
    flow = given(lambda e, m: (growth * e, growth * m), lambda e, m: [[A, 0.0], [0.0, A]])
    k = growth * D / A
    exact = D * quad(lambda r: -np.expm1(-k * r * r) / (growth * r), 0.0, THRESHOLD**0.5)[0]
    fine, coarse = (escape_times(flow, D, (0.0, 0.0), THRESHOLD, mesh)[0] for mesh in (72, 36))
    assert abs(fine - exact) < abs(fine - coarse) < 0.05 * exact


def test_beyond_the_threshold_and_out_of_reach():
    away = given(lambda e, m: (-10.0 * e, -10.0 * m), lambda e, m: np.eye(2))
    np.testing.assert_array_equal(escape_times(away, 1000.0, (0.4, 0.4), THRESHOLD), 0.0)
    np.testing.assert_array_equal(escape_times(away, 1000.0, (0.0, 0.0), THRESHOLD, mesh=24), np.inf)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["uninformed", "overlapped"])
def test_runs_of_sgd_have_mean_and_median_of_the_diffusion(start):
    """Two tokens at +p and -p, student and target h_2, d = 400, learning rate 0.04, 400 runs; false alarm 1e-4.

    Corrections to the diffusion are of the order of the learning rate: 4 % are allowed, and the change of the mesh.
    """
    second = hermite_sum(2, (0.5, 0.5), 0.0)
    problem, d, rate = LinkProblem(second, second, 2, gram=alternating(2)), 400, 0.04
    begin = np.full(2, d**-0.5 if start == "overlapped" else 0.0)
    flow = LinkFlow(problem, rate, grid_nodes(problem, 8))
    expected, coarse = (escape_times(flow, d, begin, THRESHOLD, mesh) for mesh in (64, 32))
    schedule = Schedule(10**8, threshold=THRESHOLD)
    found = simulate(problem, d, rate, [begin] * 400, schedule, rngs(400))
    runs = [run.escape_step for run in found]
    assert_mean(runs, expected[0], allowance=0.04 * expected[0] + abs(expected[0] - coarse[0]))
    assert_mean(np.less(runs, expected[2]).astype(float), 0.5, allowance=0.08)


def test_several_directions_are_refused():
    first = hermite_sum(1, (1.0, 1.0), 0.0)
    problem = LinkProblem(first, first, 2, gram=((1.0, 0.0), (0.0, 1.0)))
    with pytest.raises(ValueError, match="needs positional vectors of one direction, got 2"):
        escape_times(LinkFlow(problem, 0.1, grid_nodes(problem)), 100.0, (0.1, 0.1), THRESHOLD)
