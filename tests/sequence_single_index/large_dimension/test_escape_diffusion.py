"""Escape time of the diffusion: closed formulas, runs of SGD, and the law of the information exponent three."""

from types import SimpleNamespace

import numpy as np
import pytest
from ssi_tools import rngs

from agreement import assert_mean
from attention_limits.sequence_single_index.large_dimension.any_student_flow import LinkFlow, grid_nodes
from attention_limits.sequence_single_index.large_dimension.escape_diffusion import escape_times
from attention_limits.sequence_single_index.links.built_in import hermite_sum
from attention_limits.sequence_single_index.links.geometry import alternating
from attention_limits.sequence_single_index.sgd.any_student import LinkProblem, simulate
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule

pytestmark = pytest.mark.slow


def given(drift, spread):
    """A flow with these functions of m."""
    return SimpleNamespace(
        problem=SimpleNamespace(components=np.zeros((1, 0))),
        drift=lambda x: np.array([drift(x[0])]),
        diffusion=lambda x: np.array([[spread(x[0])]]),
    )


@pytest.mark.parametrize("start", [0.0, 0.2, -0.4])
def test_free_diffusion_has_the_mean_exit_time_of_brownian_motion(start):
    """tau = (theta^2 - x^2) d / a; steps are d tau."""
    d, a = 300.0, 0.7
    found = escape_times(given(lambda m: 0.0, lambda m: a), d, start, 0.25)
    assert found[0] == pytest.approx(d * (0.25 - start**2) * d / a, rel=1e-4)


def test_median_of_brownian_motion():
    """P(tau > t) = 4/pi sum_n (-1)^n / (2 n + 1) exp(-(2 n + 1)^2 pi^2 a t / (8 d theta^2)) from the middle."""
    d, a = 300.0, 0.7
    found = escape_times(given(lambda m: 0.0, lambda m: a), d, 0.0, 0.25)
    n = np.arange(40)
    for quantile, step in zip((0.16, 0.5, 0.84), found[1:], strict=True):
        rate = (2 * n + 1) ** 2 * np.pi**2 * a / (8 * d * 0.25)
        stays = 4 / np.pi * np.sum((-1.0) ** n / (2 * n + 1) * np.exp(-rate * step / d))
        assert stays == pytest.approx(1 - quantile, abs=2e-4)


@pytest.mark.parametrize("drift", [3.0, -3.0])
def test_constant_drift_has_its_exit_time(drift):
    """T(x) = (theta P - theta (1 - P) - x) / b with P the probability of the upper end; here drift dominates noise."""
    d, a, x, theta = 40.0, 2.0, 0.1, 0.5
    k = 2.0 * drift * d / a
    upper = (1 - np.exp(-k * (x + theta))) / (1 - np.exp(-2 * k * theta))
    expected = d * (theta * (2 * upper - 1) - x) / drift
    found = escape_times(given(lambda m: drift, lambda m: a), d, x, theta**2, mesh=1600)
    assert found[0] == pytest.approx(expected, rel=2e-3)


def test_beyond_the_threshold_and_out_of_reach():
    away = given(lambda m: -10.0 * m, lambda m: 1.0)
    np.testing.assert_array_equal(escape_times(away, 1000.0, 0.6, 0.25), 0.0)
    np.testing.assert_array_equal(escape_times(away, 1000.0, 0.0, 0.25), np.inf)


def test_runs_of_sgd_have_mean_and_median_of_the_diffusion():
    """Student and target h_2, one token, d = 1000, learning rate 0.04, 150 runs; false alarm 1e-4.

    Corrections to the diffusion are of the order of the learning rate: 4 % are allowed.
    """
    second = hermite_sum(2, (0.5**0.5,), 0.0)
    problem, d, rate = LinkProblem(second, second, 1), 1000, 0.04
    expected = escape_times(LinkFlow(problem, rate, grid_nodes(problem)), d, d**-0.5, 0.25)
    schedule = Schedule(10**8, threshold=0.25)
    found = simulate(problem, d, rate, [[d**-0.5]] * 150, schedule, rngs(150))
    runs = [run.escape_step for run in found]
    assert_mean(runs, expected[0], allowance=0.04 * expected[0])
    below = np.less(runs, expected[2]).astype(float)
    assert_mean(below, 0.5, allowance=0.04)


def test_law_of_the_information_exponent_three():
    """Between d = 1e4 and 1e6 the steps at learning rate c / sqrt d grow like d^2, quantile by quantile, within 1 %."""
    third = hermite_sum(3, (12**-0.5, 12**-0.5), 0.0)
    problem = LinkProblem(third, third, 2)
    nodes = grid_nodes(problem)
    low, high = (escape_times(LinkFlow(problem, 0.05 * d**-0.5, nodes), d, d**-0.5, 0.25) / d**2 for d in (1e4, 1e6))
    np.testing.assert_allclose(high, low, rtol=0.01 * np.log(100))


def test_positional_vectors_are_refused():
    first = hermite_sum(1, (1.0, 1.0), 0.0)
    problem = LinkProblem(first, first, 2, gram=alternating(2))
    with pytest.raises(ValueError, match="positional vectors are not allowed"):
        escape_times(LinkFlow(problem, 0.1, grid_nodes(problem)), 100.0, 0.1, 0.25)
