"""Sequence information exponents of targets whose answer is known in closed form."""

import time

import numpy as np
import pytest
from scipy import stats
from ssi_tools import box, he

from attention_limits.sequence_single_index.links.link import (
    Link,
    hermite_sum,
    named_link,
)
from attention_limits.sequence_single_index.population_loss.information_exponent import (
    loss_forms,
    positional_exponent,
    sequence_exponent,
    target_exponent,
)
from attention_limits.sequence_single_index.population_loss.series import PopulationLoss

pytestmark = pytest.mark.slow

TRACE = named_link("trace_attention", 2)


SIGNS = (1.0, -1.0)


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

    F_4 < 0 at e = 0: at order 4 the loss rises. z_1 - z_2 is learned through e alone: its odd coefficients appear with e.
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
    third = sequence_exponent(hermite_sum(2, {3: 1}, constant=2.0), named_link("relu_sum", 2), untied=True)
    assert (third.order, third.decided) == (None, True)
    assert sequence_exponent(difference, named_link("relu_sum", 2)).order is None
    untied = sequence_exponent(difference, named_link("relu_sum", 2), untied=True)
    assert (untied.order, untied.descends) == (1, True)


@pytest.mark.parametrize("tokens", [1, 2, 9])
def test_feed_forward_student_of_any_length(tokens):
    found = sequence_exponent(hermite_sum(tokens, {2: np.sqrt(0.5)}), named_link("relu_sum", tokens))
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
    """1e-7 z_1 is learned at first order with an accurate quadrature, and undecided with an error of 1e-6."""
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
        sequence_exponent(hermite_sum(2, {2: 1}), named_link("full_attention", 2))


CLOSED = {
    "z1 z2": (2, {2: 1.0}, lambda z: z[:, 0] * z[:, 1]),
    "z1 z2 z3": (3, {3: 1.0}, lambda z: z[:, :3].prod(axis=1)),
    "z1 z2 z3 z4": (4, {4: 1.0}, lambda z: z[:, :4].prod(axis=1)),
    "sum of pairs": (2, None, lambda z: 0.5 * (z.sum(axis=1) ** 2 - np.sum(z**2, axis=1))),
    "sum": (1, None, lambda z: z.sum(axis=1)),
    "sum of He_3": (3, None, lambda z: he(3, z).sum(axis=1)),
    "sum of He_5": (5, None, lambda z: he(5, z).sum(axis=1)),
    "sum of He_2 He_2": (4, {4: 2.0}, lambda z: he(2, z[:, 0]) * he(2, z[:, 1])),
}


# Products of the first fields need as many tokens.
POLYNOMIALS = [(name, tokens) for name in CLOSED for tokens in (2, 3, 4, 6) if tokens >= name.count("z")]


@pytest.mark.parametrize(("name", "tokens"), POLYNOMIALS)
def test_polynomials_have_their_order_at_any_number_of_tokens(name, tokens):
    """The norm at the order is sqrt(sum of k!) in closed form, all others vanish; 2 s of this process at most."""
    order, norms, function = CLOSED[name]
    start = time.process_time()
    found = target_exponent(Link(tokens, function), 6)
    assert time.process_time() - start < 2.0
    assert (found.order, found.decided) == (order, True)
    pairs = tokens * (tokens - 1) / 2
    closed = {"sum of pairs": np.sqrt(pairs), "sum": np.sqrt(tokens)}
    closed |= {f"sum of He_{k}": np.sqrt(tokens * np.prod(np.arange(1.0, k + 1))) for k in (3, 5)}
    expected = np.where(np.arange(7) == order, norms[order] if norms else closed[name], 0.0)
    np.testing.assert_allclose(found.coefficients, expected, atol=1e-10)
    assert np.all(np.abs(found.coefficients - expected) <= found.errors + 1e-14)


def test_cancelling_orders_of_a_smooth_target():
    """z^2 exp(-z^2): E[z^2 exp(-z^2) He_2] = 3^(-1/2) (3/9 - 1/3) = 0, and order 4: 3^(-1/2) (15/27 - 6/3 + 1) / sqrt 24."""
    for tokens in (1, 2, 3):
        found = target_exponent(Link(tokens, lambda z: np.sum(z**2 * np.exp(-(z**2)), axis=1)), 6)
        assert (found.order, found.decided) == (4, True)
        assert found.coefficients[4] == pytest.approx(np.sqrt(tokens / 72) * 4 / 9, abs=1e-9)
    # On coarser grids the cancellation is not seen: undecided, not wrong.
    for tokens in (4, 6):
        found = target_exponent(Link(tokens, lambda z: np.sum(z**2 * np.exp(-(z**2)), axis=1)), 6)
        assert (found.order, found.decided, found.undecided_order) == (None, False, 2)
        assert abs(found.coefficients[4] - np.sqrt(tokens / 72) * 4 / 9) <= found.errors[4]


ROUGH = {
    "box": (box, 2),
    "half spaces": (lambda z: (z[:, 0] > 0.3) * 1.0, 1),
    "sign of a product": (lambda z: np.sign(z[:, 0] * z[:, 1]), 2),
    "tilted half space": (lambda z: (z[:, 0] + np.sqrt(2) * z[:, 1] > 0.3) * 1.0, 1),
    "kink of a product": (lambda z: np.abs(z[:, 0] * z[:, 1]), 2),
    "rational": (lambda z: z[:, 0] * z[:, 1] / (1.0 + np.sum(z**2, axis=1)), 2),
    "rational, sum": (lambda z: np.sum(z / (1.0 + z**2), axis=1), 1),
}


@pytest.mark.parametrize("tokens", [2, 3, 5])
@pytest.mark.parametrize("name", ROUGH)
def test_rough_targets_are_right_or_undecided(name, tokens):
    """Order, and norms not below single coefficients of 2^19 plain samples less five standard errors."""
    function, order = ROUGH[name]
    start = time.process_time()
    found = target_exponent(Link(tokens, function), 4)
    assert time.process_time() - start < 2.0
    assert (found.order, found.decided) == (order, True)
    z = np.random.default_rng(1).standard_normal((2**19, tokens))
    y = function(z)
    # E[F h_1(z_1)], E[F h_1(z_1) h_1(z_2)] and E[F h_2(z_1)] bound the norms from below.
    for k, samples in ((1, y * z[:, 0]), (2, y * z[:, 0] * z[:, 1]), (2, y * (z[:, 0] ** 2 - 1) / np.sqrt(2))):
        lower = abs(samples.mean()) - 5 * samples.std() / np.sqrt(len(z))
        assert found.coefficients[k] + found.errors[k] >= lower


@pytest.mark.parametrize("tokens", [1, 2, 3, 5])
def test_a_feature_between_the_nodes_is_not_called_zero(tokens):
    """An indicator of width 0.006: first order 0.0022 * 0.37 = 8.3e-4, which no grid of the quadratures sees."""
    found = target_exponent(Link(tokens, lambda z: (np.abs(z[:, 0] - 0.37) < 0.003) * 1.0), 2)
    exact = stats.norm.pdf(0.367) - stats.norm.pdf(0.373)
    assert found.order == 1 or not found.decided
    assert abs(found.coefficients[1] - exact) <= found.errors[1]


def test_more_than_six_tokens_have_the_errors_of_the_nets():
    found = target_exponent(Link(8, lambda z: z[:, 0] * z[:, 7]), 3)
    assert (found.order, found.decided) == (2, True)
    assert abs(found.coefficients[2] - 1.0) <= found.errors[2]
    assert found.coefficients[1] == found.coefficients[3] == 0.0
