"""Phases for any number of tokens: exact code at two tokens, Monte Carlo in all components, the search for minima."""

import numpy as np
import pytest
from ssi_tools import attention_derivatives, rng, token_loss

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_single_index.links.link import softmax_attention
from attention_limits.sequence_single_index.positional_semantic import many_tokens, phase_diagram
from attention_limits.sequence_single_index.positional_semantic.loss import attention_loss

SIGNS = {2: np.array([1.0, -1.0]), 3: np.array([1.0, -1.0, 1.0])}
PLACES = np.array([[1.0, 0.0], [-0.4, 0.8], [0.3, -0.5]])


def scramblings(tokens, count=2**12, seeds=6):
    return [gaussian_nodes(2 * tokens, count, child, 1.0) for child in np.random.default_rng(tokens).spawn(seeds)]


def fixed(a, places):
    return softmax_attention(a * np.asarray(places)[None, :, 0])[0]


def test_two_tokens_are_those_of_the_tables():
    """Loss, Hessian and lines at a = 1; the means over six scramblings, false alarm 1e-4 each."""
    nodes, signs = scramblings(2), SIGNS[2]
    for e, m in ((0.3, 0.4), (0.8, 0.0), (0.0, 1.0)):
        losses = [token_loss(0.6, 1.0, each, signs[:, None], e, m) for each in nodes]
        assert_mean(losses, attention_loss(1.0, 0.6, e, m))
    hessians = [many_tokens.start_hessian(each, signs[:, None]) for each in nodes]
    found = [
        np.ravel(np.hstack([np.ravel(part) for part in each.at(0.6, fixed(1.0, signs[:, None]))])) for each in hessians
    ]
    assert_mean(np.array(found), np.diag(attention_derivatives(1.0, 0.6, 0.0, 0.0)[1]))
    exact = phase_diagram.phase_lines(1.0)
    lines = [
        many_tokens.token_lines(1.0, hessian, many_tokens.arc(each, signs), signs)
        for hessian, each in zip(hessians, nodes, strict=True)
    ]
    for name in phase_diagram.LINES:
        assert_mean([each[name] for each in lines], exact[name])


def test_global_line_reaches_into_the_strip_without_corner_minima():
    """At a = 0.76 and two tokens no corner is a minimum there; the exact search on both sides of the line."""
    signs, a = SIGNS[2], 0.76
    assert np.isnan(phase_diagram.phase_lines(a)["global"])
    found = [
        many_tokens.token_lines(
            a, many_tokens.start_hessian(each, signs[:, None]), many_tokens.arc(each, signs), signs
        )["global"]
        for each in scramblings(2)
    ]
    omega, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(6)
    assert error < 0.005
    for side in (-1.0, 1.0):
        lowest = phase_diagram.minima(a, omega + side * (5 * error + 0.002))[0]
        assert side * (lowest.e**2 - lowest.m**2) > 0.0


def full_losses(places, e, m, omega, a, runs, dimension, generator):
    """1/2 ||T - S||^2 of `runs` sequences with all components of the tokens: array (runs,)."""
    tokens, rank = places.shape
    axes = np.linalg.qr(generator.standard_normal((dimension, rank + 2)))[0].T
    teacher, basis, rest = axes[0], axes[1:-1], axes[-1]
    u = m * teacher + e @ basis + np.sqrt(1.0 - m**2 - e @ e) * rest
    g = generator.standard_normal((runs, tokens, dimension))
    z, star = (g + places @ basis) @ u, g @ teacher
    target = (1.0 - omega) * softmax_attention(star) + omega * fixed(a, places)
    return 0.5 * np.sum((target - softmax_attention(z)) ** 2, axis=(1, 2))


@pytest.mark.parametrize(("e", "m"), [((0.0, 0.0), 0.0), ((0.5, -0.3), 0.6), ((0.2, 0.7), 0.0)])
def test_loss_of_general_positions_is_that_of_all_components(e, m):
    """Three tokens, positional vectors in a plane: 40000 sequences at d = 12; false alarm 1e-4."""
    e = np.array(e)
    losses = [token_loss(0.7, 1.2, each, PLACES, e, m) for each in scramblings(3)]
    samples = full_losses(PLACES, e, m, 0.7, 1.2, 40_000, 12, rng(1))
    assert_mean(samples, np.mean(losses), error=np.std(losses, ddof=1) / np.sqrt(6))


def test_hessian_of_general_positions_is_that_of_the_loss():
    """Second differences of the loss at steps of 0.02, of truncation error 1e-3; false alarm 1e-4."""
    step, omega, a = 0.02, 0.7, 1.2
    gaps = []
    for nodes in scramblings(3):

        def loss(e_1, e_2, m, nodes=nodes):
            return token_loss(omega, a, nodes, PLACES, np.array([e_1, e_2]), m)

        h_ee, h_mm = many_tokens.start_hessian(nodes, PLACES).at(omega, fixed(a, PLACES))
        start = loss(0, 0, 0)
        first, second, third = (2 * (loss(*point) - start) / step**2 for point in step * np.eye(3))
        mixed = (loss(step, step, 0) - loss(step, -step, 0)) / (2 * step**2)
        gaps.append([h_ee[0, 0] - first, h_ee[1, 1] - second, h_ee[0, 1] - mixed, h_mm - third])
        np.testing.assert_allclose(h_ee, h_ee.T, atol=1e-12)
    assert_mean(np.array(gaps), 0.0, allowance=1e-3)


def test_arc_is_the_loss_on_the_sphere():
    """Differences from the semantic corner, six scramblings, false alarm 1e-4; the series ends at rounding of the errors."""
    signs, omega, a = SIGNS[3], 0.8, 1.1
    x, gaps = np.array([0.2, 0.77, 1.0]), []
    for nodes in scramblings(3):
        constant, slope = many_tokens.arc(nodes, signs).parts(fixed(a, signs[:, None]))
        assert np.abs(constant[-4:]).max() < 1e-6
        assert np.abs(slope[-4:]).max() < 1e-6
        series = np.polynomial.chebyshev.chebval(2 * np.append(0, x) - 1, constant + omega * slope)
        losses = [token_loss(omega, a, nodes, signs[:, None], np.sqrt(at), np.sqrt(1 - at)) for at in np.append(0, x)]
        gaps.append(series[1:] - series[0] - np.array(losses[1:]) + losses[0])
    assert_mean(np.array(gaps))


def test_all_minima_of_an_arc_are_found():
    """Minima of (X - 0.2)^2 (X - 0.7)^2 - X / 1000, against the roots of its derivative; and both corners of -(X - 1/2)^2."""
    power = np.polynomial.Polynomial.fromroots([0.2, 0.2, 0.7, 0.7]) - np.polynomial.Polynomial([0, 0.001])
    roots = np.sort(np.real(power.deriv().roots()))[[0, 2]]
    x, loss = many_tokens.arc_minima(power.convert(kind=np.polynomial.Chebyshev, domain=[0, 1]).coef)
    np.testing.assert_allclose(x, roots, atol=1e-5)
    np.testing.assert_allclose(loss, power(roots), atol=1e-10)
    x, _ = many_tokens.arc_minima(np.array([-0.125, 0.0, -0.125]))
    np.testing.assert_array_equal(x, [0.0, 1.0])


@pytest.mark.parametrize("tokens", [3, 8])
def test_loss_falls_with_the_semantic_overlap(tokens):
    """So no minimum lies inside of the disk: at three e, six scramblings; each step falls by more than four errors."""
    places = np.where(np.arange(tokens) % 2, -1.0, 1.0)[:, None]
    nodes = scramblings(tokens, 2**10)
    for e in (0.0, 0.5, 0.9):
        m = np.array([0.2, 0.6, 1.0]) * np.sqrt(1 - e**2)
        losses = np.array([[token_loss(0.9, 1.5, each, places, e, at) for at in m] for each in nodes])
        falls = np.diff(losses, axis=1)
        assert np.all(falls.mean(axis=0) < -4 * falls.std(axis=0, ddof=1) / np.sqrt(6))
