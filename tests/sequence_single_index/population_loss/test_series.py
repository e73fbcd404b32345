"""Population loss: closed forms, series against direct quadrature, derivatives against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ssi_tools import positional_semantic

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_single_index.links.link import hermite_sum, named_link
from attention_limits.sequence_single_index.population_loss.series import PopulationLoss
from attention_limits.sequence_single_index.positional_semantic.loss import attention_loss


def direct(target, student, e, m, signs, nodes):
    """Mean over nodes (n, 2 M) of half the squared error, (z*, z) drawn with correlation m."""
    tokens = target.tokens
    star, rest = nodes.points[:, :tokens], nodes.points[:, tokens:]
    z = m * star + np.sqrt(1 - np.square(m)) * rest + e * np.asarray(signs)
    return nodes.mean(0.5 * np.sum((target(star) - student(z)) ** 2, axis=1))


RELU = named_link("relu_sum", 3)
TRACE, FULL = named_link("trace_attention", 2), named_link("full_attention", 2)
CASES = {
    "tied": (hermite_sum(3, {2: np.sqrt(0.5)}), RELU, (1, 1, -1), 0.3, 0.5, 2),
    "untied": (hermite_sum(3, {2: np.sqrt(0.5)}), RELU, (1, 1, -1), 0.3, np.array([0.5, 0.2, -0.4]), 2),
    "trace": (hermite_sum(2, {2: [1, 0.5], 1: [0.3, 0.1]}, 0.7), TRACE, (1, -1), 0.4, 0.6, 2),
    "trace, four tokens": (hermite_sum(4, {2: 0.5}), named_link("trace_attention", 4), (1, -1, 1, -1), 0.4, 0.6, 2),
    "trace, six tokens": (hermite_sum(6, {2: 0.5}), named_link("trace_attention", 6), (1, -1) * 3, 0.4, 0.6, 2),
    "attention": (positional_semantic(1.0, 0.67), FULL, (1, -1), 0.4, 0.6, 60),
}


@pytest.mark.parametrize("case", CASES)
def test_series_agrees_with_direct_quadrature(case):
    """All four students, on Sobol nodes that share nothing with the series; false alarm 1e-4, errors of the series allowed."""
    target, student, signs, e, m, degree = CASES[case]
    loss = PopulationLoss(target, student, signs, degree, np.random.default_rng(1)).at(e, m)
    dimension = 2 * target.tokens
    values = [
        direct(target, student, e, m, signs, gaussian_nodes(dimension, 2**13, child))
        for child in np.random.default_rng(0).spawn(12)
    ]
    # Six tokens: the error of the series is a standard error over scramblings.
    assert_mean(np.array(values), loss.value, allowance=loss.tail + 4 * loss.error)


@pytest.mark.parametrize("case", ["tied", "untied", "trace", "attention"])
def test_gradient_and_hessian_are_the_derivatives(case):
    target, student, signs, e, m, degree = CASES[case]
    loss = PopulationLoss(target, student, signs, degree)
    here = loss.at(e, m)
    x = np.concatenate([[e], np.atleast_1d(m)])
    h = 1e-4
    for k, unit in enumerate(np.eye(len(x))):
        low, high = (loss.at(y[0], y[1:] if len(y) > 2 else y[1]) for y in (x - h * unit, x + h * unit))
        # Differences of second order: h^2 times third derivatives of order one.
        assert (high.value - low.value) / (2 * h) == pytest.approx(here.gradient[k], abs=1e-6)
        np.testing.assert_allclose((high.gradient - low.gradient) / (2 * h), here.hessian[k], atol=1e-6)


_SHORT = PopulationLoss(positional_semantic(1.0, 0.5), FULL, degree=4)


@given(st.integers(0, 5), st.floats(0, 0.999))
@settings(max_examples=40)
def test_tail_of_a_short_series_is_bounded(fifths, part):
    """The certified tail covers the contribution of the orders above four, up to the error of the tables."""
    e = fifths / 5
    m = part * np.sqrt(1 - e**2)
    short = _SHORT.at(e, m)
    assert abs(attention_loss(1.0, 0.5, e, m) - short.value) <= short.tail + 1e-9


@pytest.mark.parametrize(("e", "m"), [(0.8, 0.7), (0.0, 1.1), (np.nan, 0.0)])
def test_overlaps_outside_the_disk_are_refused(e, m):
    for call in (lambda: attention_loss(1.0, 0.5, e, m), lambda: _SHORT.at(e, m)):
        with pytest.raises(ValueError, match="e\\^2 \\+ m\\^2 <= 1"):
            call()
