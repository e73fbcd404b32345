"""Hardmax of several tokens: exact posteriors, the outputs without data, the information with its bound, thresholds, the law."""

import itertools
from math import comb

import numpy as np
import pytest
from scipy.special import ndtr

from agreement import assert_mean
from attention_limits.attention_indexed.channels.hardmax import two_tokens
from attention_limits.attention_indexed.channels.hardmax.grid_kernels import nearest
from attention_limits.attention_indexed.channels.hardmax.limits import SIGN_INTEGRAL, tie_information
from attention_limits.attention_indexed.channels.hardmax.many_tokens import ManyHardmax, outputs, without_samples
from attention_limits.attention_indexed.channels.hardmax.posterior_kernels import posteriors
from attention_limits.attention_indexed.state_evolution.curve import small_width, solve, tail, weak_recovery

pytestmark = pytest.mark.slow


def symmetric(rng, count, tokens, variance):
    z = rng.standard_normal((count, tokens, tokens))
    return np.sqrt(0.5 * variance) * (z + z.transpose(0, 2, 1))


def posterior(best, omega):
    """Means of h - omega (n, M, M), and probabilities (n,), at V = 1."""
    best, omega = np.asarray(best), np.array(omega, dtype=float)
    means, probabilities = np.empty(omega.shape), np.empty(len(omega))
    posteriors(best, omega, means, probabilities)
    return means, probabilities


def possible(tokens):
    """All outputs without a cycle of three or more rows, one by one."""
    found = []
    for best in itertools.product(range(tokens), repeat=tokens):
        ends = list(range(tokens))
        for _ in range(tokens):
            ends = [best[row] for row in ends]
        if all(best[best[row]] == row for row in ends):
            found.append(best)
    return np.array(found)


@pytest.mark.parametrize("tokens", [2, 3, 4, 5])
def test_outputs_are_all_possible_ones(tokens):
    """As many as one by one, and each kind has the probability of its members: the sums agree."""
    every, (best, number) = possible(tokens), outputs(tokens)
    assert number.sum() == len(every)
    flat = np.zeros((len(every), tokens, tokens))
    one_by_one = posterior(every, flat)[1]
    by_kind = posterior(best, flat[: len(best)])[1]
    assert np.sum(one_by_one) == pytest.approx(1.0, abs=1e-6)
    assert number @ by_kind**2 == pytest.approx(np.sum(one_by_one**2), rel=1e-9)


def test_outputs_of_many_tokens():
    """As many as maps of M tokens without a cycle of three or more: forests over fixed points and pairs."""
    for tokens in (6, 7, 8):
        # A forest over k given roots of M tokens has k M^(M - k - 1) members; k = loops + 2 pairs roots.
        expected = sum(
            comb(tokens, k) * involutions * k * tokens ** (tokens - k - 1) if k < tokens else involutions
            for k, involutions in zip(range(1, tokens + 1), (1, 2, 4, 10, 26, 76, 232, 764), strict=False)
        )
        assert outputs(tokens)[1].sum() == expected


@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_probabilities_add_up_and_scores_average_to_zero(tokens, spread):
    """Sum P = 1 and sum P E[h - omega | y] = 0 over all outputs, at random omega; panels are accurate to 1e-7."""
    best = possible(tokens)
    omega = np.tile(symmetric(np.random.default_rng(91), 1, tokens, spread**2), (len(best), 1, 1))
    means, probabilities = posterior(best, omega)
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose(np.einsum("n,nab->ab", probabilities, means), 0.0, atol=1e-7)


@pytest.mark.parametrize("tokens", [2, 3, 5, 8])
def test_posterior_mean_is_the_gradient_of_the_log_probability(tokens):
    """E[h - omega | y] = v d log P / d omega, v the variance of the entry: central differences of sixth order, step 0.1."""
    rng = np.random.default_rng(92)
    omega = symmetric(rng, 1, tokens, 1.0)
    best = np.argmax(omega + symmetric(rng, 1, tokens, 1.0), axis=2)
    mean = posterior(best, omega)[0][0]
    np.testing.assert_array_equal(mean, mean.T)
    offsets, weights = 0.1 * np.array([-3, -2, -1, 1, 2, 3]), np.array([-1, 9, -45, 45, -9, 1]) / 60.0 / 0.1
    for a, b in ((0, 0), (0, 1), (tokens - 1, 0), (tokens - 1, tokens - 1)):
        shifted = np.tile(omega, (6, 1, 1))
        shifted[:, a, b] += offsets
        if a != b:
            shifted[:, b, a] += offsets
        slope = weights @ np.log(posterior(np.tile(best, (6, 1)), shifted)[1])
        assert mean[a, b] == pytest.approx((2.0 if a == b else 1.0) * slope, abs=2e-5)


@pytest.mark.parametrize("scale", [0.7, 3.0, 11.0])
def test_two_tokens_are_in_closed_form(scale):
    """Every output at 200 omega, contradicted ones of up to 18 standard deviations too."""
    omega = scale * np.random.default_rng(93).uniform(-1.0, 1.0, (200, 2, 2))
    omega = np.maximum(omega, omega.transpose(0, 2, 1))
    for best in possible(2):
        observed = np.tile(best, (200, 1))
        np.testing.assert_allclose(
            ManyHardmax(2).gradient(observed, omega, 1.0).G, two_tokens.gradient(observed, omega, 1.0)[0], atol=1e-6
        )


@pytest.mark.parametrize("output", [[0, 1, 2], [1, 0, 0], [2, 2, 2], [1, 2, 2]])
def test_posterior_of_three_tokens_against_rejection(output):
    """Means over prior samples that have the output; false-alarm rate 1e-4 each."""
    rng = np.random.default_rng(94)
    omega = symmetric(rng, 1, 3, 0.5)
    h = omega + symmetric(rng, 400_000, 3, 1.0)
    chosen = h[np.all(np.argmax(h, axis=2) == output, axis=1)] - omega
    means, probabilities = posterior([output], omega)
    assert_mean(chosen, means[0])
    count = len(chosen)
    assert abs(count / 400_000 - probabilities[0]) < 4.0 * np.sqrt(probabilities[0] / 400_000)


def test_nearest_scores_have_the_output():
    """The projection: the output is that seen, omega itself where it has the output, and further ones are further away."""
    rng = np.random.default_rng(95)
    omega, h = symmetric(rng, 300, 4, 4.0), np.empty((4, 4))
    best = np.argmax(symmetric(rng, 300, 4, 1.0), axis=2)
    for one, at in zip(best, omega, strict=True):
        distance = nearest(one, at, h)
        rows = np.arange(4)
        assert (h[rows, one][:, None] >= h - 0.1).all()
        assert nearest(np.argmax(at, axis=1), at, h) == 0
        assert nearest(one, 2.0 * at, h) == pytest.approx(4.0 * distance, rel=0.05, abs=0.05)


@pytest.mark.parametrize("tokens", [3, 4, 6, 8])
def test_far_contradicted_outputs_have_finite_gradients(tokens):
    """Scores 10 to 1000 standard deviations on the wrong side: finite, symmetric, towards the output."""
    rng = np.random.default_rng(96)
    best = np.argmax(symmetric(rng, 20, tokens, 1.0), axis=2)
    for scale in (10.0, 1000.0):
        omega = scale * symmetric(rng, 20, tokens, 1.0)
        G = ManyHardmax(tokens).gradient(best, omega, 1.0).G
        assert np.isfinite(G).all()
        np.testing.assert_array_equal(G, G.transpose(0, 2, 1))
        assert (np.einsum("nab,nab->n", G, omega) <= 1e-9).all()


def test_thresholds_of_weak_recovery():
    """Computed independently: 0.1754(1) and 0.1051(1); two tokens 0.40341."""
    assert weak_recovery(ManyHardmax(2)) == pytest.approx(0.403411, abs=1e-6)
    assert weak_recovery(ManyHardmax(3)) == pytest.approx(0.1754, abs=1e-4)
    assert weak_recovery(ManyHardmax(4)) == pytest.approx(0.1051, abs=1e-4)


def test_limits_of_two_tokens():
    """f(0), f(1) and 2 H from the closed forms, f'(1) from a difference of the exact information."""

    def f(s):
        return two_tokens.information(1.0 / s**2 - 1.0) / s

    value, slope, entropy = without_samples(2)
    assert tie_information(2) == pytest.approx(SIGN_INTEGRAL * np.sqrt(8.0 / np.pi), rel=1e-9)
    assert value == pytest.approx(float(f(1.0)), rel=1e-8)
    # The step of the central differences, 0.02: 2e-4 of the slope.
    assert slope == pytest.approx(float(3.0 * f(1.0) - 4.0 * f(0.999) + f(0.998)) / 0.002, rel=5e-4)
    probability = 0.25 + np.array([1.0, -1.0]) * np.arcsin(1 / 3) / (2 * np.pi)
    assert entropy == pytest.approx(-2.0 * probability @ np.log(probability), rel=1e-8)
    # The law int_0^1 f ds = 2 H by which the curve of more tokens is fixed.
    x, weight = np.polynomial.legendre.leggauss(40)
    assert 0.5 * weight @ f(0.5 * (x + 1.0)) == pytest.approx(2.0 * entropy, rel=1e-8)


def test_information_of_two_tokens_is_within_its_bound():
    channel, V = ManyHardmax(2), 1.5 / (1.0 + np.geomspace(1e-3, 1e6, 60))
    exact = two_tokens.information((1.5 - V) / V) / V
    assert channel.uncertainty(V, 1.5) < 3e-4
    np.testing.assert_allclose(channel.information(V, 1.5), exact, rtol=channel.uncertainty(V, 1.5))


def row_squares(omega, variances, best):
    """2 sum_e v_e g_e^2 of one row alone, entries omega (n, M) of variances v (M,), largest entry best (n,); and P(best)."""
    x, weight = np.polynomial.legendre.leggauss(48)
    rows, deviations = np.arange(len(omega)), np.sqrt(variances)
    others = np.where(np.arange(omega.shape[1]) == best[:, None], -np.inf, omega).max(axis=1)
    center = np.maximum(omega[rows, best], 0.5 * (omega[rows, best] + others))
    nodes = center[:, None] + 9.0 * x
    z = (nodes[:, :, None] - omega[:, None]) / deviations
    largest = (np.arange(omega.shape[1]) == best[:, None])[:, None]
    density, below = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi), np.maximum(ndtr(z), 1e-300)
    weights = 9.0 * weight * np.where(largest, density / deviations, below).prod(axis=2)
    chance = weights.sum(axis=1)
    slopes = np.where(largest, z, -density / below) / deviations
    g = np.einsum("nx,nxe->ne", weights, slopes) / np.maximum(chance, 1e-200)[:, None]
    return 2.0 * g**2 @ variances, chance


def rows_alone(s):
    """E of `row_squares` over three rows of three tokens: an integral over the two differences of entries, trapezoidal rule."""
    ratio = 1.0 / s**2 - 1.0
    limit = np.arcsinh(8.0 / s)
    u, step = np.linspace(-limit, limit, 61, retstep=True)
    z, weight = s * np.sinh(u), s * np.cosh(u) * step
    first, second = np.meshgrid(z, z, indexing="ij")
    covariance = np.array([[3.0, 2.0], [2.0, 3.0]])
    points = np.stack([first.ravel(), second.ravel()], axis=1)
    density = np.exp(-0.5 * np.einsum("ni,ij,nj->n", points, np.linalg.inv(covariance), points))
    density *= np.outer(weight, weight).ravel() / np.sqrt(np.linalg.det(2.0 * np.pi * covariance))
    kept = density > 1e-12 * density.max()
    omega = np.concatenate([np.zeros((kept.sum(), 1)), np.sqrt(ratio) * points[kept]], axis=1)
    total = 0.0
    for best in range(3):
        squares, chance = row_squares(omega, np.array([2.0, 1.0, 1.0]), np.full(len(omega), best))
        total += 3.0 * density[kept] @ (squares * chance)
    return total


@pytest.mark.parametrize("s", [0.3, 0.6, 0.85])
def test_information_of_three_tokens_is_within_its_bound(s):
    """E 4 sum G^2 at V = s^2, Q = 1 by Monte Carlo of 20 000 outputs, with the information of the rows alone, a two-dimensional
    integral, as control variate: a standard error of some 1e-3. False-alarm rate 1e-4."""
    channel, rng = ManyHardmax(3), np.random.default_rng(97)
    omega = symmetric(rng, 20_000, 3, 1.0 / s**2 - 1.0)
    best = np.argmax(omega + symmetric(rng, 20_000, 3, 1.0), axis=2)
    squares = np.sum(posterior(best, omega)[0] ** 2, axis=(1, 2))
    alone = np.zeros(len(omega))
    for row in range(3):
        order = [row, *(token for token in range(3) if token != row)]
        place = np.argmax(np.array(order) == best[:, row][:, None], axis=1)
        alone += row_squares(omega[:, row][:, order], np.array([2.0, 1.0, 1.0]), place)[0]
    expected = channel.information(s**2, 1.0) * s**2
    assert_mean(squares - alone, expected - rows_alone(s), allowance=channel.uncertainty(s**2, 1.0) * expected)


@pytest.mark.parametrize(("tokens", "s"), [(4, 0.4), (4, 0.8), (6, 0.5)])
def test_information_of_more_tokens_is_within_its_bound(tokens, s):
    """By plain Monte Carlo of 4000 outputs, a standard error of 1 to 2 %; false-alarm rate 1e-4."""
    channel, rng = ManyHardmax(tokens), np.random.default_rng(98)
    omega = symmetric(rng, 4000, tokens, 1.0 / s**2 - 1.0)
    best = np.argmax(omega + symmetric(rng, 4000, tokens, 1.0), axis=2)
    expected = channel.information(s**2, 1.0) * s**2
    assert_mean(
        np.sum(posterior(best, omega)[0] ** 2, axis=(1, 2)),
        expected,
        allowance=channel.uncertainty(s**2, 1.0) * expected,
    )


@pytest.mark.parametrize("tokens", [3, 4])
def test_large_alpha_law(tokens):
    """The relative correction is of order 1/alpha, and the bound on the information counts twice. At alpha = 10 the errors of
    three tokens were once sampled, 1.59e-4 and 1.86e-4."""
    channel = ManyHardmax(tokens)
    for alpha in (10.0, 100.0):
        expected = pytest.approx(tail(channel, 0.5, [alpha])[0], rel=1.0 / alpha + 2.0 * channel.uncertainty(1.0, 1.5))
        assert solve(channel, 0.5, [alpha]).mmse[0] == expected


def test_more_tokens_lower_the_error():
    """At equal samples each further token lowers the error, at any width."""
    rescaled = np.array([0.45, 1.0, 5.0])
    curves = [small_width(ManyHardmax(tokens), rescaled).mmse for tokens in (2, 3, 4, 5)]
    assert (np.diff(curves, axis=0) < 0).all()
