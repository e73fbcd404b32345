"""The parts of the Gibbs sampler of hardmax scores: truncated normals, bounds, and a start that fulfils them."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from attention_limits.attention_indexed.hardmax_kernels import (
    feasible,
    row_bounds,
    truncated_mean,
    truncated_normal,
)

INTERVALS = [
    (-np.inf, np.inf),
    (-np.inf, -3.0),
    (-np.inf, 0.4),
    (0.2, 0.3),
    (1.5, np.inf),
    (6.0, 6.5),
    (-4.0, 5.0),
    (-7.0, -6.9),
]


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_truncated_normals(low, high):
    """Draws stay inside, and their mean is that of scipy's distribution within five standard errors (rate 6e-7); so is the
    formula."""
    generator = np.random.default_rng(71)
    draws = np.array([truncated_normal(low, high, generator) for _ in range(4000)])
    expected, spread = truncnorm.mean(low, high), truncnorm.std(low, high)
    assert (low <= draws).all()
    assert (draws <= high).all()
    assert abs(draws.mean() - expected) < 5.0 * spread / np.sqrt(4000)
    assert truncated_mean(low, high) == pytest.approx(expected, abs=1e-9 + 1e-7 * abs(expected))


@pytest.mark.parametrize(("low", "high"), [(20.0, np.inf), (40.0, np.inf), (30.0, 30.01), (24.9, 25.4), (25.1, 25.6)])
def test_means_in_the_tail(low, high):
    """By Gauss-Legendre of the density relative to its value at the lower end, over forty decays of it. From 25 on an exponential
    is taken, wrong by 1 / 25^2 of the distance from the end, 1.6e-3; 5e-3 is allowed."""
    x, weight = np.polynomial.legendre.leggauss(200)
    end = min(high, low + 40.0 / low)
    nodes = low + 0.5 * (x + 1.0) * (end - low)
    density = weight * np.exp(-0.5 * (nodes - low) * (nodes + low))
    expected = np.sum(density * (nodes - low)) / density.sum()
    assert truncated_mean(low, high) - low == pytest.approx(expected, rel=5e-3)
    assert truncated_mean(-high, -low) == -truncated_mean(low, high)


@pytest.mark.parametrize("tokens", [2, 3, 5, 8])
def test_start_has_the_largest_entries_where_they_are_seen(tokens):
    """Every output of 200 random symmetric matrices; and each of its entries is inside its bounds."""
    rng = np.random.default_rng(72)
    z = rng.standard_normal((200, tokens, tokens))
    for best in np.argmax(z + z.transpose(0, 2, 1), axis=2):
        h = np.empty((tokens, tokens))
        feasible(best, 0.7, h)
        np.testing.assert_array_equal(h, h.T)
        np.testing.assert_array_equal(np.argmax(h, axis=1), best)
        for row, column in np.ndindex(h.shape):
            low, high = row_bounds(h, best, row, column)
            assert low < h[row, column] < high
