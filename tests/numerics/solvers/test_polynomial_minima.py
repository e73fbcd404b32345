"""The search for all minima of a polynomial: wells that are known, random polynomials against a grid, certificates of sign."""

from math import comb

import numpy as np
import pytest
from numpy.polynomial import chebyshev

from attention_limits.numerics.solvers.polynomial_minima import bernstein_matrix, is_positive, local_minima


def on_grid(series, count):
    """Values on a grid with `count` points per axis, and the grid."""
    x = np.linspace(-1.0, 1.0, count)
    for axis in range(series.ndim):
        series = np.moveaxis(
            np.tensordot(chebyshev.chebvander(x, series.shape[axis] - 1), series, axes=(1, axis)), 0, axis
        )
    return x, series


def grid_minima(series, count):
    """Points of the inner grid that are lower than all their neighbours: array (n, r)."""
    x, values = on_grid(series, count)
    inner = tuple([slice(1, -1)] * series.ndim)
    lowest = np.ones(values[inner].shape, dtype=bool)
    for shift in np.ndindex((3,) * series.ndim):
        if shift != (1,) * series.ndim:
            there = tuple(slice(s, s + count - 2) for s in shift)
            lowest &= values[inner] < values[there]
    return x[1 + np.argwhere(lowest)].reshape(-1, series.ndim)


def matched(found, expected, distance):
    """Whether each point of one set has a point of the other within a distance, and the numbers agree."""
    gaps = np.abs(found[:, None] - expected[None]).max(axis=2)
    return len(found) == len(expected) and np.all(gaps.min(axis=1) < distance)


def test_bernstein_coefficients_give_the_polynomial():
    x, coefficients = np.linspace(0, 1, 7), np.random.default_rng(0).standard_normal(9)
    basis = np.array([[_bernstein(j, 8, at) for j in range(9)] for at in x])
    np.testing.assert_allclose(
        basis @ bernstein_matrix(9) @ coefficients, chebyshev.chebval(2 * x - 1, coefficients), atol=1e-12
    )


def _bernstein(j, n, x):
    return comb(n, j) * x**j * (1 - x) ** (n - j)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_known_wells(rank):
    """sum_i (x_i^2 - 1/4)^2 has a minimum at every corner (+-1/2 ... +-1/2)."""
    well = chebyshev.poly2cheb([1 / 16, 0, -1 / 2, 0, 1])
    series = np.zeros((5,) * rank)
    for axis in range(rank):
        place = [0] * rank
        place[axis] = slice(None)
        series[tuple(place)] += well
    found = local_minima(series)
    assert len(found.undecided) == 0
    corners = np.array(list(np.ndindex((2,) * rank))) - 0.5
    assert matched(found.points, corners, 1e-9)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_random_polynomials_against_a_grid(rank):
    """Minima of 12 random polynomials are those of a grid whose spacing, 1/100 (1/20 in three dimensions), resolves them.

    The coefficients fall like 2^-degree. A minimum of the grid without a neighbour among ours, or the reverse, is a failure
    unless it lies within two spacings of the edge, where the grid has no neighbours.
    """
    count = 201 if rank < 3 else 41
    spacing, total = 2.0 / (count - 1), 0
    for seed in range(12):
        degrees = np.sum(np.indices((8,) * rank), axis=0)
        series = np.random.default_rng(seed).standard_normal((8,) * rank) * 2.0 ** (-0.7 * degrees)
        found = local_minima(series)
        assert len(found.undecided) == 0
        ours, theirs = (
            each[np.abs(each).max(axis=1) < 1.0 - 2.5 * spacing] for each in (found.points, grid_minima(series, count))
        )
        for one, other in ((ours, found.points), (theirs, found.points), (ours, grid_minima(series, count))):
            gaps = np.abs(one[:, None] - other[None]).max(axis=2)
            assert len(one) == 0 or np.all(gaps.min(axis=1) < 2.0 * spacing)
        total += len(theirs)
    assert total > 5


def test_a_saddle_is_no_minimum_and_a_degenerate_one_is_undecided():
    """x y, and x^4 + y^2."""
    saddle = np.zeros((3, 3))
    saddle[1, 1] = 1.0
    found = local_minima(saddle)
    assert len(found.points) == len(found.undecided) == 0
    quartic = np.zeros((5, 3))
    quartic[:, 0] += chebyshev.poly2cheb([0, 0, 0, 0, 1])
    quartic[0, :] += chebyshev.poly2cheb([0, 0, 1])
    found = local_minima(quartic)
    assert np.any(np.abs(found.undecided).max(axis=1) < 0.01)


def test_a_continuum_of_minima_is_refused():
    """(x^2 + y^2 - 1/4)^2 has a circle of minima."""
    series = np.zeros((5, 5))
    for i, j, weight in ((4, 0, 1), (0, 4, 1), (2, 2, 2), (2, 0, -0.5), (0, 2, -0.5)):
        x, y = (chebyshev.poly2cheb([0] * k + [1]) for k in (i, j))
        series[: i + 1, : j + 1] += weight * np.outer(x, y)
    with pytest.raises(ValueError, match="continuum"):
        local_minima(series)


def test_sign_certificates():
    """x^2 + y^2 - 1/4 is positive outside of the disk of radius 1/2 + 1/100 and not outside of 1/2 - 1/100."""
    series = np.zeros((3, 3))
    series[:, 0] += chebyshev.poly2cheb([-0.25, 0, 1])
    series[0, :] += chebyshev.poly2cheb([0, 0, 1])

    def within(radius):
        return lambda centres, half: np.sum((np.abs(centres) + half) ** 2, axis=1) < radius**2

    assert is_positive(series, within(0.51))
    assert not is_positive(series, within(0.49))
    assert not is_positive(-series, within(0.51))
