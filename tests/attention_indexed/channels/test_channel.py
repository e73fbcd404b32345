"""Channels of extensive-width attention: exact values (`check_channel` has the identities)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from agreement import assert_mean
from attention_limits.attention_indexed.channels.hardmax import two_tokens
from attention_limits.attention_indexed.channels.hardmax.limits import SIGN_INTEGRAL
from attention_limits.attention_indexed.channels.hardmax.pair_kernels import pair_slopes
from attention_limits.attention_indexed.channels.loading import make_channel

pytestmark = pytest.mark.slow


def bivariate_normal(a, b, r):
    """Phi_2(a, b; r) (n,) of arrays (n,)."""
    found = np.empty((len(r), 3, 1))
    for one, *point in zip(found, a, b, r, strict=True):
        pair_slopes(*(np.array([value]) for value in point[:2]), point[2], one)
    return found[:, 0, 0]


def symmetric(rng, count, tokens, variance):
    """Symmetric matrices (n, M, M), independent entries of variance 2 `variance` on the diagonal and `variance` off it."""
    z = rng.standard_normal((count, tokens, tokens))
    return np.sqrt(0.5 * variance) * (z + z.transpose(0, 2, 1))


def drawn(channel, q, V, count, seed):
    """(observed, omega, h) with omega of variance q and h of variance V about it."""
    rng = np.random.default_rng(seed)
    omega = symmetric(rng, count, channel.tokens, q)
    h = omega + symmetric(rng, count, channel.tokens, V)
    return channel.observe(h), omega, h


def test_hardmax_gradient_in_its_own_coordinates():
    """E g (u - m) = V E g^T C g with u = (h_11 - h_12, h_22 - h_12) and C = [[3, 1], [1, 3]]: a posterior mean must fulfil it.
    The numerators of the published code do not, by more than 20 standard errors. 200 000 samples, false-alarm rate 1e-4."""
    q, V = 1.0, 0.5
    channel = make_channel("hardmax", 2)
    observed, omega, h = drawn(channel, q, V, 200_000, seed=36)
    G = channel.gradient(observed, omega, V).G
    C = np.array([[3.0, 1.0], [1.0, 3.0]])

    def coordinates(x):
        return np.stack([x[:, 0, 0] - x[:, 0, 1], x[:, 1, 1] - x[:, 0, 1]], axis=1)

    def excess(g):
        return np.sum(g * (coordinates(h) - coordinates(omega)), axis=1) - V * np.einsum("ni,ij,nj->n", g, C, g)

    g = np.stack([G[:, 0, 0], G[:, 1, 1]], axis=1)
    assert_mean(excess(g), 0.0)
    signs = np.stack([np.where(observed[:, 0] == 0, 1.0, -1.0), np.where(observed[:, 1] == 1, 1.0, -1.0)], axis=1)
    kappa = signs * coordinates(omega) / np.sqrt(3.0 * V)
    r = signs.prod(axis=1) / 3.0
    density = np.exp(-0.5 * (kappa[:, 0] ** 2 - 2 * r * kappa.prod(axis=1) + kappa[:, 1] ** 2) / (1 - r**2))
    density /= 2.0 * np.pi * np.sqrt(1 - r**2)
    published = signs * (density / bivariate_normal(*kappa.T, r) / np.sqrt(3.0 * V))[:, None]
    values = excess(published)
    assert abs(values.mean()) > 20.0 * values.std() / np.sqrt(len(values))
    # Yet its information is the mean of the same squares: the curve is that of the published code.
    squares = 2.0 * (3.0 * np.sum(published**2, axis=1) + 2.0 * published.prod(axis=1))
    assert_mean(squares, make_channel("hardmax_published", 2).information(V, q + V))


@settings(max_examples=40)
@given(st.floats(-8.0, 8.0), st.floats(-8.0, 8.0), st.sampled_from([1 / 3, -1 / 3]))
def test_hardmax_gradient_is_that_of_the_log_probability(m1, m2, r):
    """Central differences of log Phi_2 of sixth order, step 0.02; the signs of the outputs are those of the fields."""
    s2 = 1.0 if r > 0 else -1.0
    V, width = 1.0 / 3.0, 1.0
    observed = np.array([[0, 1 if s2 > 0 else 0]])
    G = two_tokens.gradient(observed, np.array([[[m1, 0.0], [0.0, s2 * m2]]]), V)[0][0]
    offsets, weights = 0.02 * np.array([-3, -2, -1, 1, 2, 3]), np.array([-1, 9, -45, 45, -9, 1]) / 60.0 / 0.02
    for index, value in enumerate((G[0, 0], s2 * G[1, 1])):
        a, b = np.full(6, m1), np.full(6, m2)
        (a, b)[index][:] += offsets
        slope = weights @ np.log(bivariate_normal(a / width, b / width, np.full(6, r)))
        assert value == pytest.approx(slope, rel=1e-6, abs=1e-9)


@settings(max_examples=60)
@given(st.floats(-20.0, 20.0), st.floats(-20.0, 20.0), st.floats(-0.6, 0.6))
def test_bivariate_normal_distribution(a, b, r):
    """Phi_2(a, b; r) + Phi_2(a, -b; -r) = Phi(a), relative to Phi(a): this tests both from the tail to one; and it is
    positive."""
    both, other = bivariate_normal(np.array([a, a]), np.array([b, -b]), np.array([r, -r]))
    assert both + other == pytest.approx(float(ndtr(a)), rel=1e-9)
    assert both > 0 or min(a, b) < -15


def test_bivariate_normal_values():
    """At the origin 1/4 + asin(r) / (2 pi); elsewhere scipy's, whose absolute error is 1e-8 or less; and the joint tail, by the
    product of normals at r = 0."""
    r = np.array([1 / 3, -1 / 3, 0.0, 0.5])
    np.testing.assert_allclose(
        bivariate_normal(np.zeros(4), np.zeros(4), r), 0.25 + np.arcsin(r) / (2 * np.pi), rtol=1e-9
    )
    for a, b, c in ((1.0, -0.5, 1 / 3), (-2.0, 0.3, -1 / 3), (2.5, 2.0, 0.5)):
        expected = multivariate_normal.cdf([a, b], cov=[[1, c], [c, 1]])
        assert bivariate_normal([a], [b], [c])[0] == pytest.approx(expected, abs=1e-7)
    tail = np.array([-6.0, -12.0, -18.0])
    np.testing.assert_allclose(
        bivariate_normal(tail, tail + 1.0, np.zeros(3)), ndtr(tail) * ndtr(tail + 1.0), rtol=1e-9
    )


def test_information_of_the_hardmax():
    """Interpolation against the integral, the integral against half its step, its value at q = 0 in closed form, its tail."""
    ratios = np.array([0.0, 0.003, 0.2, 1.7, 30.0, 5e3, 7e6])
    for published in (False, True):
        exact = [two_tokens.information_integral(ratio, published) for ratio in ratios]
        np.testing.assert_allclose(two_tokens.information(ratios, published), exact, rtol=1e-9)
        # The same bytes from a table made anew: a rerun must not depend on the process.
        first = two_tokens.information(ratios, published)
        two_tokens._table.cache_clear()
        np.testing.assert_array_equal(two_tokens.information(ratios, published), first)
    # q = 0: kappa = 0, Phi_2 = 1/4 +- asin(1/3) / (2 pi), both numerators phi(0) / 2.
    probability = 0.25 + np.array([1.0, -1.0]) * np.arcsin(1 / 3) / (2 * np.pi)
    squares = np.array([8.0, 4.0]) / (8.0 * np.pi) / probability / 3.0
    assert two_tokens.information(0.0) == pytest.approx(4.0 * squares.sum(), rel=1e-9)
    J = quad(lambda k: np.exp(-k * k) / (2 * np.pi) / (ndtr(k) * ndtr(-k)), -30, 30, epsabs=1e-13)[0]
    assert pytest.approx(J, rel=1e-9) == SIGN_INTEGRAL
    assert two_tokens.information(1e10) * 1e5 == pytest.approx(J * np.sqrt(8.0 / np.pi), rel=1e-4)


@pytest.mark.parametrize("beta", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("tokens", [2, 3, 6])
def test_softmax_determines_the_scores_up_to_a_constant(tokens, beta):
    """G is linear in h - omega, orthogonal to the constant, and does not change with it, for any beta."""
    rng = np.random.default_rng(37)
    channel = make_channel("softmax", tokens, beta)
    h, omega = symmetric(rng, 50, tokens, 1.5), symmetric(rng, 50, tokens, 1.0)
    G = channel.gradient(channel.observe(h), omega, 0.5).G
    residual = h - omega
    np.testing.assert_allclose(G, residual - residual.mean(axis=(1, 2), keepdims=True), atol=1e-9)
    np.testing.assert_allclose(channel.gradient(channel.observe(h + 0.7), omega, 0.5).G, G, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("relu", 2), "channel 'relu': allowed: linear"),
        (("softmax", 1), "softmax has at least 2 tokens, got 1"),
        (("softmax", 2, 0.0), "beta > 0|0 < beta"),
        (("hardmax_published", 3), "hardmax_published has up to 2 tokens, got 3"),
        (("hardmax", 9), "hardmax has up to 8 tokens, got 9"),
    ],
)
def test_bad_channels_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_channel(*arguments)
