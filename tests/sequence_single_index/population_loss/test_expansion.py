"""Hermite expansions of links: closed forms, quadratures against each other, errors that cover the bias."""

import numpy as np
import pytest
from scipy import stats
from ssi_tools import box, he

from agreement import assert_mean
from attention_limits.sequence_single_index.links.link import Link, relu_sum, trace_attention
from attention_limits.sequence_single_index.population_loss.expansion import expand
from attention_limits.sequence_single_index.population_loss.quadrature import grid_expansion, sobol_expansion

pytestmark = pytest.mark.slow

TRACE = trace_attention(2)


def test_expansion_of_relu_is_the_closed_form():
    """E[relu h_k]: 1/sqrt(2 pi), 1/2, 1/(2 sqrt pi), 0, -1/sqrt(48 pi); the kink costs no accuracy."""
    found = expand(relu_sum(1), 4)
    expected = [1 / np.sqrt(2 * np.pi), 0.5, 0.5 / np.sqrt(np.pi), 0.0, -1 / np.sqrt(48 * np.pi)]
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-10)
    assert np.all(np.abs(found.values[:, 0] - expected) <= found.errors[:, 0] + 1e-15)
    assert found.square[0] == pytest.approx(0.5, abs=1e-10)


def test_link_of_one_direction_has_the_expansion_of_the_function_of_all_fields():
    one = expand(Link(2, lambda z: np.tanh(z @ [0.6, 0.8]), np.array([0.6, 0.8])), 4)
    all_ = expand(Link(2, lambda z: np.tanh(z @ [0.6, 0.8])), 4)
    np.testing.assert_allclose(one.values, all_.values, atol=1e-9)


def test_three_quadratures_agree():
    """Adaptive, Gauss-Hermite and Sobol expansions of attention; Sobol within its error at a false alarm of 1e-4."""
    adaptive, grid = expand(TRACE, 3), grid_expansion(TRACE, 3)
    np.testing.assert_allclose(adaptive.values, grid.values, atol=1e-9)
    scramblings = [
        sobol_expansion(TRACE, 3, np.random.default_rng(seed), nodes=2**10, scramblings=2) for seed in range(8)
    ]
    assert_mean(np.array([each.values for each in scramblings]), grid.values)


@pytest.mark.parametrize("tokens", [2, 3, 4, 6])
def test_errors_cover_the_bias_at_jumps(tokens):
    """Indicator of a box: products of coefficients of one dimension, E[1 h_k] = -2 phi(1) He_(k-1)(1) / sqrt(k!)."""
    phi = np.exp(-0.5) / np.sqrt(2 * np.pi)
    one = np.array([2 * stats.norm.cdf(1) - 1, 0, -2 * phi / np.sqrt(2), 0, -2 * phi * he(3, 1.0) / np.sqrt(24)])
    found = expand(Link(tokens, box), 4)
    exact = one[found.indices].prod(axis=1)
    assert np.all(np.abs(found.values[:, 0] - exact) <= found.errors[:, 0] + 1e-14)
    assert abs(found.square[0] - one[0] ** tokens) <= found.square_errors[0]
    # The errors are of use: below the largest coefficient.
    assert np.max(found.errors) < np.max(np.abs(exact))


@pytest.mark.parametrize(
    "threshold",
    [-1.4929800811267784, -1.4117427702670615, -0.8985024922076916, 0.13842926946623413, 1.2526549567782435],
)
def test_errors_cover_a_jump_at_the_end_of_an_interval(threshold):
    """E[1(z > t) h_k] = phi(t) He_(k-1)(t) / sqrt(k!); at these t one adaptive quadrature or the nets miss a part of the jump."""
    found = expand(Link(1, lambda z: (z[:, 0] > threshold) * 1.0), 4)
    slopes = [stats.norm.pdf(threshold) * he(k - 1, threshold) for k in range(1, 5)]
    exact = np.concatenate([[stats.norm.sf(threshold)], np.array(slopes) / np.sqrt([1.0, 2.0, 6.0, 24.0])])
    assert np.all(np.abs(found.values[:, 0] - exact) <= found.errors[:, 0] + 1e-14)


@pytest.mark.parametrize("angle", np.linspace(0.05, 1.5, 6))
def test_errors_cover_the_bias_at_a_tilted_jump(angle):
    """A half space in any direction of the plane against the quadrature in one dimension."""
    direction = np.array([np.cos(angle), np.sin(angle)])
    found = expand(Link(2, lambda z: (z @ direction > 0.17) * 1.0), 4)
    exact = expand(Link(2, lambda z: (z @ direction > 0.17) * 1.0, direction), 4)
    assert np.max(exact.errors) < 1e-9
    assert np.all(np.abs(found.values - exact.values) <= found.errors)
