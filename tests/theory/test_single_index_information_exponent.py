"""Sequence information exponents of targets whose answer is known in closed form."""

import numpy as np
import pytest

from attention_limits.sequence_single_index.expansion import adaptive_expansion, grid_expansion, sobol_expansion
from attention_limits.sequence_single_index.information_exponent import (
    loss_forms,
    positional_exponent,
    sequence_exponent,
    target_exponent,
)
from attention_limits.sequence_single_index.links import Link, full_attention, hermite_sum, relu_sum, trace_attention
from attention_limits.sequence_single_index.population_loss import PopulationLoss
from theory.tools import assert_mean

TRACE = trace_attention(2)
SIGNS = (1.0, -1.0)


def test_expansion_of_relu_is_the_closed_form():
    """E[relu h_k]: 1/sqrt(2 pi), 1/2, 1/(2 sqrt pi), 0, -1/sqrt(48 pi); the kink costs no accuracy."""
    found = adaptive_expansion(relu_sum(1), 4)
    expected = [1 / np.sqrt(2 * np.pi), 0.5, 0.5 / np.sqrt(np.pi), 0.0, -1 / np.sqrt(48 * np.pi)]
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-10)
    assert np.all(np.abs(found.values[:, 0] - expected) <= found.errors[:, 0] + 1e-15)
    assert found.square[0] == pytest.approx(0.5, abs=1e-10)


def test_link_of_one_direction_has_the_expansion_of_the_function_of_all_fields():
    one = adaptive_expansion(Link(2, lambda z: np.tanh(z @ [0.6, 0.8]), np.array([0.6, 0.8])), 4)
    all_ = adaptive_expansion(Link(2, lambda z: np.tanh(z @ [0.6, 0.8])), 4)
    np.testing.assert_allclose(one.values, all_.values, atol=1e-9)


def test_three_quadratures_agree():
    """Adaptive, Gauss-Hermite and Sobol expansions of attention; Sobol within its error at a false alarm of 1e-4."""
    adaptive, grid = adaptive_expansion(TRACE, 3), grid_expansion(TRACE, 3)
    np.testing.assert_allclose(adaptive.values, grid.values, atol=1e-9)
    scramblings = [
        sobol_expansion(TRACE, 3, np.random.default_rng(seed), nodes=2**10, scramblings=2) for seed in range(8)
    ]
    assert_mean(np.array([each.values for each in scramblings]), grid.values)


@pytest.mark.parametrize(
    ("terms", "constant", "semantic", "positional"),
    [
        ({2: [1, 1]}, 0.0, (2, True), (2, True)),
        ({4: [1, 1]}, 0.0, (4, False), (None, False)),
        ({4: [1, 2]}, 4 / 3, (4, False), (2, True)),
        ({1: [1, -1]}, 0.0, (None, False), (2, True)),
        ({2: [1, -1]}, 0.0, (None, False), (None, False)),
    ],
    ids=["He2", "He4", "4/3 + He4 + 2 He4", "z1 - z2", "z1^2 - z2^2"],
)
def test_exponents_of_the_trace_of_attention(terms, constant, semantic, positional):
    """Figures 1 and 2; the antisymmetric targets contract to zero with a symmetric student although they have low orders.

    F_4 < 0 at e = 0: at order 4 the loss rises. z_1 - z_2 is learnt through e alone: its odd coefficients appear with e.
    """
    target = hermite_sum(2, terms, constant)
    found = sequence_exponent(target, TRACE, degree=4, tolerance=1e-9)
    assert found.decided
    assert (found.order, found.descends) == semantic
    found = positional_exponent(target, TRACE, SIGNS, degree=4, tolerance=1e-9)
    assert found.decided
    assert (found.order, found.descends) == positional
    assert target_exponent(target, 4).order == min(terms)


def test_untied_student_sees_what_a_tied_one_does_not():
    # The constant is order 0 and must not be taken for a gain of another order.
    difference = hermite_sum(2, {1: [1, -1]}, constant=2.0)
    third = sequence_exponent(hermite_sum(2, {3: 1}, constant=2.0), relu_sum(2), untied=True)
    assert (third.order, third.decided) == (None, True)
    assert sequence_exponent(difference, relu_sum(2)).order is None
    untied = sequence_exponent(difference, relu_sum(2), untied=True)
    assert (untied.order, untied.descends) == (1, True)


@pytest.mark.parametrize("tokens", [1, 2, 9])
def test_feed_forward_student_of_any_length(tokens):
    found = sequence_exponent(hermite_sum(tokens, {2: np.sqrt(0.5)}), relu_sum(tokens))
    assert (found.order, found.descends) == (2, True)
    assert found.coefficients[2] == pytest.approx(0.5 / np.sqrt(np.pi), abs=1e-10)


def test_forms_are_the_taylor_series_of_the_loss():
    """r_ij against finite differences of the population loss, whose gradient is exact."""
    target = hermite_sum(2, {2: [0.3, 1.0], 1: [0.5, -0.2]}, 0.4)
    r, errors = loss_forms(target, TRACE, SIGNS, 4, tolerance=1e-9)
    loss = PopulationLoss(target, TRACE, degree=4)
    start = loss.at(0.0, 0.0)
    np.testing.assert_allclose([r[1, 0], r[0, 1]], start.gradient, atol=1e-8)
    np.testing.assert_allclose([2 * r[2, 0], 2 * r[0, 2], r[1, 1]], start.hessian[[0, 1, 0], [0, 1, 1]], atol=1e-8)
    assert np.max(errors) < 1e-6
    step = 0.02
    point = loss.at(step, step)
    series = sum(r[i, j] * step ** (i + j) for i in range(5) for j in range(5 - i))
    # The next order is step^5 times a coefficient of order one.
    assert point.value - start.value == pytest.approx(series, abs=10 * step**5)


def test_a_small_coefficient_is_decided_only_when_its_error_is_smaller():
    """1e-7 z_1 is learnt at first order with an accurate quadrature, and undecided with an error of 1e-6."""
    weak = Link(
        1, lambda z: 1e-7 * z[:, 0] + 0.1 * np.maximum(z[:, 0] - 0.1234, 0.0) ** 2 - 0.1 * np.maximum(-z[:, 0], 0) ** 2
    )
    sharp = target_exponent(weak, 2)
    assert (sharp.order, sharp.decided) == (1, True)
    rough = Link(2, lambda z: 1e-9 * z[:, 0] + 1e-3 * (z[:, 0] + np.sqrt(2) * z[:, 1] > 0.3))
    found = sequence_exponent(rough, hermite_sum(2, {1: [np.sqrt(2), -1]}), degree=2, tolerance=1e-3)
    assert found.order is None
    assert not found.decided
    assert found.undecided_order == 1


@pytest.mark.parametrize("power", [0.25, 1.0])
def test_infinite_second_moment_is_refused(power):
    with pytest.raises(ValueError, match="second moment"):
        target_exponent(Link(1, lambda z: np.exp(power * z[:, 0] ** 2)))


def test_links_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="tokens"):
        sequence_exponent(hermite_sum(3, {2: 1}), TRACE)
    with pytest.raises(ValueError, match="outputs"):
        sequence_exponent(hermite_sum(2, {2: 1}), full_attention(2))
