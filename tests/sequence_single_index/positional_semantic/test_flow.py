"""Attention at large d: the drift is the mean step, and the linear theory that of the population loss and of short runs."""

import numpy as np
import pytest
from ssi_tools import attention_derivatives, attention_nodes, one_step, rngs

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_single_index.positional_semantic import flow
from attention_limits.sequence_single_index.sgd import attention_kernels as kernels
from attention_limits.sequence_single_index.sgd.fixed_students import AttentionProblem, Schedule, attention


@pytest.mark.parametrize(("loss", "batch"), [("frobenius", 1), ("half_square", 1), ("frobenius", 4)])
def test_attention_drift_is_the_mean_step(loss, batch):
    problem = AttentionProblem(1.0, 0.6, loss)
    e, m, rate, d = 0.3, 0.4, 0.5, 100_000
    steps = one_step(lambda s, g: attention(problem, d, rate, (e, m), s, g, batch), [e, m], d, 10_000)
    nodes = attention_nodes(0, 2**13)
    assert_mean(steps, flow.attention_drift((e, m), problem, rate, nodes, batch), allowance=1e-3)


def test_attention_gradient_is_that_of_the_population_loss():
    """E[D . epsilon] = R_e and E[D . a] - m E[D . zeta] / sqrt(1 - m^2) = R_m for half the square; false alarm 1e-4."""
    e, m, problem = 0.3, 0.4, AttentionProblem(0.9, 0.6, "half_square")
    gradient, _ = attention_derivatives(problem.a, problem.omega, e, m)
    found = []
    for child in np.random.default_rng(3).spawn(8):
        nodes = gaussian_nodes(4, 2**12, child)
        moments = kernels.attention_moments(nodes.points, nodes.weights, e, m, *problem.numbers)
        slope = moments[kernels.TEACHER] - m * moments[kernels.REST] / np.sqrt(1 - m**2)
        found.append([moments[kernels.POSITION], slope])
    assert_mean(np.array(found), gradient)


def test_linear_theory_has_the_curvatures_of_the_population_loss():
    """Stein's lemma against the tables; false alarm 1e-4."""
    problem = AttentionProblem(1.0, 0.6, "half_square")
    found = [flow.linear_theory(problem, attention_nodes(seed, 2**12)).curvature for seed in range(8)]
    assert_mean(np.array(found), np.diag(attention_derivatives(1.0, 0.6, 0.0, 0.0)[1]))


def test_linear_theory_predicts_the_spread_of_short_runs():
    """Variances of (e, m) after 20 000 steps at d = 1000 from 400 runs: squares averaged, false alarm 1e-4.

    The allowance of 5 % covers the nonlinearity at overlaps of 0.1 and the 1/d corrections.
    """
    steps, d, rate = 20_000, 1000, 0.05
    problem = AttentionProblem(1.0, 0.6, "frobenius")
    theory = flow.linear_theory(problem, attention_nodes(0))
    schedule = Schedule(steps, threshold=2.0)
    ends = [run.state for run in attention(problem, d, rate, (0, 0), schedule, rngs(400))]
    expected = theory.variance(rate, d, steps)
    assert_mean(np.square(ends), expected, allowance=0.05 * expected)


def test_variance_is_smooth_through_zero_growth():
    theory = flow.LinearTheory(np.array([0.0, -1e-9]), np.array([0.4, 0.4]), 0.0)
    np.testing.assert_allclose(theory.variance(0.05, 1000, 1e5), (0.05 / 1000) ** 2 * 0.4 * 1e5, rtol=1e-6)
    assert theory.semantic_probability(0.05, 1000, 1e5) == pytest.approx(0.5, abs=1e-6)
