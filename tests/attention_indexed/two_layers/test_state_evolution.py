"""Which of two fixed points is called Bayes-optimal: models of two separate layers, whose information is a formula."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from attention_limits.attention_indexed.priors.denoisers.wishart import mmse
from attention_limits.attention_indexed.schema.two_layers import TwoLayersStateEvolution
from attention_limits.attention_indexed.two_layers.layers import Averages
from attention_limits.attention_indexed.two_layers.state_evolution import RECOVERED, compare
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

Solver = TwoLayersStateEvolution.Solver

RATIO = 0.1
NODES = gaussian_nodes(1, 16, np.random.default_rng(0), 1.0)


@dataclass(frozen=True)
class Separate:
    """k_1 makes layer 1 jump, k_2 does not; the parts of the nodes differ by `noise` in k_1."""

    noise: float = 0.0
    shift: float = 0.0
    equations: int | None = None

    def part(self, number):
        return replace(self, shift=self.noise * (1.0, -1.0, 0.5, -0.5)[number])

    def averages(self, V, nodes):
        first = V[0] ** 0.3 * (0.05 + 2.0 * (1.0 - V[0]) ** 2)
        return Averages(np.array([first * (1.0 + self.shift), 0.1 * V[1] ** 0.3]), 1.0)


def one_layer():
    """alpha_begin, alpha_IT, alpha_end of layer 1 by Maxwell's construction on a fine grid."""
    noise = np.geomspace(1e6, 1e-4, 20001)
    V = mmse(RATIO, noise)
    k = np.array([Separate().averages((v, 1.0), None).information[0] for v in V])
    alpha = V / (noise * k)
    A = np.append(0.0, np.cumsum(-0.125 * (k[1:] + k[:-1]) * np.diff(np.log(V))))
    top, depth = np.flatnonzero(np.diff(np.sign(np.diff(alpha)))) + 1

    def area(level):
        first, last = np.flatnonzero(np.diff(np.sign(alpha - level)))[[0, -1]]
        part = slice(first, last + 2)
        return (
            np.trapezoid(A[part], alpha[part]) - A[last] * (alpha[last + 1] - level) - A[first] * (level - alpha[first])
        )

    low, high = alpha[depth] * 1.0001, alpha[top] * 0.9999
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if area(middle) < 0 else (low, middle)
    return alpha[depth], middle, alpha[top]


BEGIN, EQUAL, END = one_layer()


@pytest.mark.parametrize(
    ("alpha", "unique", "optimal"),
    [(0.9 * BEGIN, True, 0.0), (0.99 * EQUAL, False, 0.0), (1.01 * EQUAL, False, 1.0), (1.1 * END, True, 0.0)],
)
def test_the_larger_free_entropy_is_bayes_optimal(alpha, unique, optimal):
    found = compare(Separate(), RATIO, alpha, NODES, Solver(tolerance=1e-8, max_iterations=2000))
    assert found.unique == unique
    assert found.bayes_optimal == optimal
    assert (found.free_entropy == 0) == unique
    assert found.free_entropy_error < 1e-12


def test_the_difference_of_free_entropies_vanishes_at_equal_areas():
    """It grows by A per alpha: on both sides of alpha_IT it has the same size, up to its curvature."""
    below, above = (
        compare(Separate(), RATIO, factor * EQUAL, NODES, Solver(tolerance=1e-8, max_iterations=2000)).free_entropy
        for factor in (0.99, 1.01)
    )
    assert below < 0 < above
    assert abs(above + below) < 0.05 * above


def test_a_sign_within_three_errors_is_not_decided():
    """k_1 of the parts scatters by 1 %: their errors of F exceed F next to alpha_IT, and not far from it."""
    model = Separate(noise=0.01)
    near, far = (
        compare(model, RATIO, alpha, NODES, Solver(tolerance=1e-8, max_iterations=2000))
        for alpha in (1.001 * EQUAL, 0.3 * EQUAL + 0.7 * END)
    )
    assert math.isnan(near.bayes_optimal)
    assert abs(near.free_entropy) < 3.0 * near.free_entropy_error
    assert far.bayes_optimal == 1.0


def test_without_convergence_nothing_is_decided():
    found = compare(Separate(), RATIO, EQUAL, NODES, Solver(tolerance=1e-8, max_iterations=1))
    assert not found.unique
    assert math.isnan(found.free_entropy)
    assert math.isnan(found.bayes_optimal)


@dataclass(frozen=True)
class Exact(Separate):
    """k_1 does not vanish with V_1: the informed start recovers both layers, alone between the two thresholds."""

    def averages(self, V, nodes):
        first = 0.05 + 2.0 * (1.0 - V[0]) ** 2
        return Averages(np.array([first, first]), 1.0)


@pytest.mark.parametrize(("equations", "optimal"), [(2, 1.0), (None, math.nan)])
def test_exact_recovery_has_an_infinite_free_entropy_where_outputs_are_continuous(equations, optimal):
    found = compare(Exact(equations=equations), RATIO, 0.3, NODES, Solver(tolerance=1e-8, max_iterations=2000))
    assert np.all(found.informed.value < RECOVERED)
    assert np.all(found.uninformed.value > 0.1)
    np.testing.assert_equal(found.bayes_optimal, optimal)
    np.testing.assert_equal(found.free_entropy, math.inf if equations else math.nan)
