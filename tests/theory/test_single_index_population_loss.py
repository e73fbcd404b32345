"""Population loss: closed forms, series against direct quadrature, derivatives against differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_single_index.attention_tables import (
    LossGrid,
    attention_derivatives,
    attention_loss,
    attention_tables,
)
from attention_limits.sequence_single_index.geometry import mean_attention
from attention_limits.sequence_single_index.links import (
    full_attention,
    hermite_sum,
    positional_semantic,
    relu_sum,
    trace_attention,
)
from attention_limits.sequence_single_index.population_loss import PopulationLoss
from theory.tools import assert_mean

# Points of the quarter disk.
OVERLAPS = st.tuples(st.floats(0, 1), st.floats(0, 0.5 * np.pi)).map(
    lambda p: (p[0] * np.sin(p[1]), p[0] * np.cos(p[1]))
)


def direct(target, student, e, m, signs, nodes):
    """Mean over nodes (n, 2 L) of half the squared error, (z*, z) drawn with correlation m."""
    tokens = target.tokens
    star, rest = nodes.points[:, :tokens], nodes.points[:, tokens:]
    z = m * star + np.sqrt(1 - np.square(m)) * rest + e * np.asarray(signs)
    return nodes.mean(0.5 * np.sum((target(star) - student(z)) ** 2, axis=1))


CASES = {
    "tied": (hermite_sum(3, {2: np.sqrt(0.5)}), relu_sum(3), (1, 1, -1), 0.3, 0.5, 2),
    "untied": (hermite_sum(3, {2: np.sqrt(0.5)}), relu_sum(3), (1, 1, -1), 0.3, np.array([0.5, 0.2, -0.4]), 2),
    "trace": (hermite_sum(2, {2: [1, 0.5], 1: [0.3, 0.1]}, 0.7), trace_attention(2), (1, -1), 0.4, 0.6, 2),
    "trace, four tokens": (hermite_sum(4, {2: 0.5}), trace_attention(4), (1, -1, 1, -1), 0.4, 0.6, 2),
    "trace, six tokens": (hermite_sum(6, {2: 0.5}), trace_attention(6), (1, -1) * 3, 0.4, 0.6, 2),
    "attention": (positional_semantic(1.0, 0.67), full_attention(2), (1, -1), 0.4, 0.6, 60),
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


def test_mean_attention_in_closed_form():
    """mu(e) = 1 - sqrt(2)/4 exp(-e^2/2) exactly, to 1e-12 of the quadrature."""
    loss = PopulationLoss(hermite_sum(2, {0: [0, 0]}), trace_attention(2, 1.0), degree=0)
    for e in (0.0, 0.5, 1.0):
        mean = loss._student_at(e).values[0, 0]
        assert mean == pytest.approx(2 * mean_attention(e**2), abs=1e-11)


@pytest.mark.parametrize(("e", "m"), [(0.0, 0.0), (0.3, 0.5), (1.0, 0.0), (0.0, 1.0), (-0.6, -0.8)])
def test_tables_agree_with_the_general_series(e, m):
    """One row of the softmax and a Chebyshev table against all four outputs expanded at this e."""
    general = PopulationLoss(positional_semantic(0.9, 0.6), full_attention(2), degree=100).at(e, m)
    assert attention_loss(0.9, 0.6, e, m) == pytest.approx(general.value, abs=2e-9)
    gradient, hessian = attention_derivatives(0.9, 0.6, e, m)
    np.testing.assert_allclose(gradient, general.gradient, atol=1e-7)
    if m < 1:
        np.testing.assert_allclose(hessian, general.hessian, atol=1e-6)


_SHORT = PopulationLoss(positional_semantic(1.0, 0.5), full_attention(2), degree=4)


@given(st.integers(0, 5), st.floats(0, 0.999))
@settings(max_examples=40)
def test_tail_of_a_short_series_is_bounded(fifths, part):
    """The certified tail covers what the orders above four contribute, up to the error of the tables."""
    e = fifths / 5
    m = part * np.sqrt(1 - e**2)
    short = _SHORT.at(e, m)
    assert abs(attention_loss(1.0, 0.5, e, m) - short.value) <= short.tail + 1e-9


def test_tail_of_the_tables_is_below_1e_9():
    circle = np.linspace(0, 1, 51)
    assert np.max(attention_tables().tail(circle, np.sqrt(1 - circle**2))) < 1e-9


@given(OVERLAPS, st.floats(0, 1), st.floats(0, 1.5))
def test_loss_is_even_and_not_negative(point, omega, a):
    e, m = point
    value = attention_loss(a, omega, e, m)
    assert value >= -1e-9
    assert attention_loss(a, omega, -e, m) == value == attention_loss(a, omega, e, -m)
    assert LossGrid.on([e], [m]).loss(a, omega)[0, 0] == pytest.approx(value, abs=1e-14)


def test_teacher_without_positional_part_is_learnt_exactly():
    """omega = 0: the loss at (0, 1) vanishes, up to the tail of the series."""
    assert abs(attention_loss(1.0, 0.0, 0.0, 1.0)) < 2e-9


@pytest.mark.parametrize(("e", "m"), [(0.8, 0.7), (0.0, 1.1), (np.nan, 0.0)])
def test_overlaps_outside_the_disk_are_refused(e, m):
    for call in (lambda: attention_loss(1.0, 0.5, e, m), lambda: _SHORT.at(e, m)):
        with pytest.raises(ValueError, match="e\\^2 \\+ m\\^2 <= 1"):
            call()
