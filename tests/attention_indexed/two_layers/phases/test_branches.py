"""All fixed points of two layers at one width, and the thresholds between their branches.

The tables have few nodes. The equations hold for a table with any error of its nodes.
"""

import functools
import math

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from attention_limits.attention_indexed.priors.denoisers.wishart import mmse
from attention_limits.attention_indexed.schema.two_layers import TwoLayersStateEvolution
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.phases.branches import Curve, curve, phases
from attention_limits.attention_indexed.two_layers.phases.information import Table, chebyshev_points, tabulate
from attention_limits.attention_indexed.two_layers.state_evolution import solve
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

Solver = TwoLayersStateEvolution.Solver


@functools.cache
def hardmax_table():
    """The table of one scrambling, c = 0 and beta = 10."""
    nodes = gaussian_nodes(4, 16, np.random.default_rng(0), 1.0)
    return tabulate(HardmaxLayers(0.0, 10.0), nodes, 8, 0.01)[0]


def separate_table(*information, degree=24):
    """Layers that do not know of each other: k_l = information_l(V_l)."""
    cosines = chebyshev_points(degree)
    V = 0.01 ** (0.5 * (1.0 - cosines))
    first, second = (np.linalg.solve(chebyshev.chebvander(cosines, degree), k(V)) for k in information)
    coefficients = np.zeros((degree + 1, degree + 1, 2))
    coefficients[:, 0, 0], coefficients[0, :, 1] = first, second
    return Table(0.01, coefficients, np.ones((degree + 1, degree + 1)))


def turning(V):
    """An information that alpha = V / (D k(V)) of one layer falls with, between two turns."""
    return V**0.3 * (0.05 + 2.0 * (1.0 - V) ** 2)


def plain(V):
    """An information with which it rises. It is small: layer 2 stays in the table while layer 1 jumps."""
    return 0.1 * V**0.3


def mapped(table, ratio, alpha, V):
    """One step of the state evolution."""
    return mmse(ratio, V / (alpha * table.at(V)))


@pytest.mark.parametrize("ratio", [1e-9, 0.01, 2.0])
def test_every_point_is_a_fixed_point(ratio):
    table, of = hardmax_table(), curve(hardmax_table(), ratio)
    assert of.whole
    assert of.V[0].min() > 0.9
    assert of.V[-1].min() < 0.02
    for alpha, V in zip(of.alpha[::40], of.V[::40], strict=True):
        np.testing.assert_allclose(mapped(table, ratio, alpha, V), V, rtol=1e-6)


def small_width(ratio, noise):
    """mmse(D) for rho -> 0, where D rho is of order one."""
    return 1.0 - np.maximum(1.0 - ratio * noise, 0.0) ** 2


@pytest.mark.parametrize(("ratio", "error"), [(0.003, mmse), (1e-9, small_width)])
def test_stable_branches_are_those_of_the_iteration(ratio, error):
    """Between `begin` and `end` the iteration from V = 1 and from the smallest V ends on two branches, elsewhere on one."""
    table = hardmax_table()
    found = phases(table, curve(table, ratio), ratio, math.inf)
    assert found.begin < found.equal < found.end < found.followed
    assert not found.unique
    cases = (
        (0.98 * found.begin, False),
        (1.01 * found.begin, True),
        (0.99 * found.end, True),
        (1.02 * found.end, False),
    )
    for alpha, several in cases:
        ends = np.array([[0.99, 0.99], np.full(2, table.lowest)])
        for _ in range(600):
            ends = error(ratio, ends / (alpha * table.along(*ends.T).T))
        assert (abs(ends[0, 0] - ends[1, 0]) > 0.2) == several, alpha


def maxwell(alpha, level, A):
    """int A d alpha along a curve between the first and the last crossing of a level, over the sum of its parts of both signs."""
    first, last = np.flatnonzero(np.diff(np.sign(alpha - level)))[[0, -1]]
    part = np.concatenate([[level], alpha[first + 1 : last + 1], [level]])
    A = np.concatenate([[A[first]], A[first + 1 : last + 1], [A[last]]])
    return np.trapezoid(A, part) / np.trapezoid(np.abs(A - A[0]), np.cumsum(np.abs(np.diff(part, prepend=level))))


def test_equal_free_entropies_obey_maxwell():
    """dF/dalpha = A at a fixed point, so int A dalpha along the curve between both fixed points of `equal` vanishes.

    The errors of 16 nodes are no gradient: along the curve A differs by some per cent from A along the straight path of `equal`.
    """
    table, ratio = hardmax_table(), 0.003
    of = curve(table, ratio)
    k = table.along(*of.V.T).T
    steps = -0.25 * np.sum(0.5 * (k[1:] + k[:-1]) * np.diff(np.log(of.V), axis=0), axis=1)
    A = np.append(0.0, np.cumsum(steps))
    found = phases(table, of, ratio, math.inf)
    assert abs(maxwell(of.alpha, found.equal, A)) < 0.05
    assert abs(maxwell(of.alpha, 0.5 * (found.begin + found.equal), A)) > 0.15
    assert abs(maxwell(of.alpha, 0.5 * (found.end + found.equal), A)) > 0.15


def test_a_layer_that_jumps_alone_has_the_thresholds_of_one_layer():
    """Separate layers; the first one jumps: its curve alpha(D) on a fine grid, and Maxwell's construction on it."""
    table, ratio = separate_table(turning, plain), 0.1
    of = curve(table, ratio)
    assert of.whole
    noise = np.geomspace(1e7, 1e-4, 40001)
    V = mmse(ratio, noise)
    alpha = V / (noise * turning(V))
    top, depth = np.flatnonzero(np.diff(np.sign(np.diff(alpha)))) + 1
    found = phases(table, of, ratio, math.inf)
    np.testing.assert_allclose([found.end, found.begin], alpha[[top, depth]], rtol=1e-4)
    k = turning(V)
    A = np.append(0.0, np.cumsum(-0.125 * (k[1:] + k[:-1]) * np.diff(np.log(V))))
    assert abs(maxwell(alpha, found.equal, A)) < 1e-3


def test_where_the_second_layer_jumps_alone_nothing_is_claimed():
    """Several solutions at one D_1."""
    table, ratio = separate_table(turning, turning), 0.1
    of = curve(table, ratio)
    found = phases(table, of, ratio, math.inf)
    assert not of.whole
    assert math.isnan(found.followed)
    assert not found.unique


def test_a_monotone_layer_is_unique():
    table, ratio = separate_table(plain, plain), 0.5
    of = curve(table, ratio)
    found = phases(table, of, ratio, math.inf)
    assert found.unique
    assert np.isnan([found.begin, found.end, found.equal]).all()
    np.testing.assert_allclose(of.V[:, 0], of.V[:, 1], rtol=1e-9)
    np.testing.assert_allclose(found.followed, of.alpha[-1])


def test_exact_recovery_is_a_branch_of_infinite_free_entropy():
    """The same curve, with V = 0 a fixed point from a smaller alpha on: not unique, and Bayes-optimal from there on."""
    table, ratio = separate_table(plain, plain), 0.5
    of = curve(table, ratio)
    found = phases(table, of, ratio, 0.5 * of.alpha[-1])
    assert not found.unique
    np.testing.assert_allclose([found.begin, found.equal], 0.5 * of.alpha[-1])
    assert math.isnan(found.end)


def test_without_information_on_a_layer_nothing_is_claimed():
    table = hardmax_table()
    blind = Table(table.lowest, table.coefficients * [0.0, 1.0], table.resolved)
    of = curve(blind, 0.01)
    assert not of.whole
    assert np.isnan(of.places(5)[0]).all()
    assert not phases(blind, of, 0.01, math.inf).unique


def test_places_are_at_equal_steps_of_the_curve():
    of = Curve(np.array([1.0, 2.0, 1.5]), np.array([[1.0, 1.0], [0.6, 0.7], [0.6, 0.2]]), whole=True)
    alpha, V = of.places(11)
    np.testing.assert_allclose(alpha[[0, 5, 10]], [1.0, 2.0, 1.5])
    np.testing.assert_allclose(np.linalg.norm(np.diff(V, axis=0), axis=1), 0.1)


@pytest.mark.slow
def test_the_table_gives_the_fixed_points_of_the_averages():
    """c = beta = 1, width one half, alpha = 0.5, with the nodes of the table: to 0.5 %, the error of the interpolation."""
    nodes, model, alpha, ratio = gaussian_nodes(4, 32, np.random.default_rng(0), 1.0), HardmaxLayers(), 0.5, 0.5
    whole, parts = tabulate(model, nodes, 8, 0.05)
    of = curve(parts[0], ratio)
    V = solve(model.part(0), ratio, alpha, nodes.blocks(4)[0], Solver(tolerance=1e-5)).value
    assert np.all(np.diff(of.alpha) > 0)
    np.testing.assert_allclose([np.interp(alpha, of.alpha, layer) for layer in of.V.T], V, rtol=0.005)
    np.testing.assert_allclose(whole.coefficients, np.mean([part.coefficients for part in parts], axis=0))
