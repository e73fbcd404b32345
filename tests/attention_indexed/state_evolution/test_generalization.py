"""Generalisation errors: closed forms, limits, and samples of the definition. False-alarm rates are per test; seeds are fixed."""

import numpy as np
import pytest

from attention_limits.attention_indexed.amp.fresh_data import between_draws, fresh_errors, fresh_errors_of_starts
from attention_limits.attention_indexed.channels.hardmax.distance import _same_place, different_places
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.model.score_law import row_nodes
from attention_limits.attention_indexed.model.scores import attention, attention_matrix, scores
from attention_limits.attention_indexed.state_evolution.generalization import bayes_error, output_errors, plug_in_error

NAMES = [("linear", 3), ("softmax", 2), ("softmax", 4), ("hardmax", 2), ("hardmax", 4)]


def nodes_of(tokens):
    return row_nodes(tokens, [np.random.default_rng(seed) for seed in range(8)])


def symmetric(generator, count, tokens):
    """Scores (n, M, M) of variance 1 off the diagonal and 2 on it."""
    half = generator.standard_normal((count, tokens, tokens))
    return (half + half.transpose(0, 2, 1)) / np.sqrt(2.0)


@pytest.mark.parametrize("tokens", [2, 5])
def test_linear_scores_have_the_error_of_their_equations(tokens):
    """The posterior mean of h is omega: both errors are V times the sum of all variances, M (M + 1)."""
    channel = make_channel("linear", tokens)
    for value, _ in (bayes_error(channel, 1.5, 0.3), plug_in_error(channel, 1.5, 0.3)):
        assert value == pytest.approx(0.3 * tokens * (tokens + 1), rel=1e-12)


@pytest.mark.parametrize(("name", "tokens"), NAMES)
def test_errors_are_those_of_sampled_symmetric_scores(name, tokens):
    """Whole symmetric matrices with the overlaps Q = 1.5, V = 0.4; the posterior mean from draws, without bias. Five standard
    errors and the uncertainty: rate 2e-6."""
    channel, generator, Q, V = make_channel(name, tokens, 1.7), np.random.default_rng(tokens), 1.5, 0.4
    omega = np.sqrt(Q - V) * symmetric(generator, 4000, tokens)
    h, *draws = (omega + np.sqrt(V) * symmetric(generator, 4000, tokens) for _ in range(5))
    truth = channel.output(h)
    plug_in = np.sum((truth - channel.output(omega)) ** 2, axis=(1, 2))
    errors = np.stack([truth - channel.output(draw) for draw in draws])
    bayes = np.array([between_draws(errors[:, sample]) for sample in range(4000)])
    nodes = nodes_of(tokens)
    found = (bayes_error(channel, Q, V, nodes), plug_in_error(channel, Q, V, nodes))
    for (value, uncertainty), samples in zip(found, (bayes, plug_in), strict=True):
        assert abs(value - samples.mean()) < 5.0 * samples.std() / np.sqrt(4000) + 5.0 * uncertainty


@pytest.mark.parametrize("tokens", [2, 3])
@pytest.mark.parametrize("name", ["softmax", "hardmax"])
def test_the_error_of_the_posterior_mean_is_its_variance(name, tokens):
    """Nishimori: E ||f(h) - E[f | omega]||^2 of samples of h and of the posterior mean from 400 other draws, whose part
    Var / 400 is taken off, agrees with the formula of the overlap. Five standard errors: rate 6e-7."""
    channel, generator, Q, V = make_channel(name, tokens, 2.0), np.random.default_rng(7), 1.3, 0.6
    omega = np.sqrt(Q - V) * symmetric(generator, 600, tokens)
    draws = np.stack([channel.output(omega + np.sqrt(V) * symmetric(generator, 600, tokens)) for _ in range(400)])
    truth = channel.output(omega + np.sqrt(V) * symmetric(generator, 600, tokens))
    error = np.sum((truth - draws.mean(axis=0)) ** 2, axis=(1, 2))
    error -= np.sum(draws.var(axis=0, ddof=1), axis=(1, 2)) / 400
    value, uncertainty = bayes_error(channel, Q, V, nodes_of(tokens))
    assert abs(value - error.mean()) < 5.0 * (error.std() / np.sqrt(600) + uncertainty)


@pytest.mark.parametrize(("name", "tokens"), NAMES)
def test_limits_and_order(name, tokens):
    """Exact recovery has no error, the posterior mean none larger than the estimate, and the errors rise with V."""
    channel = make_channel(name, tokens, 1.0)
    V = np.array([0.0, 1e-8, 1e-3, 0.3, 0.7, 1.0])
    found = output_errors(channel, 0.5, V, np.zeros_like(V), nodes_of(tokens))
    assert found.bayes[0] == 0.0
    assert found.plug_in[0] == 0.0
    slack = 5.0 * np.hypot(found.bayes_uncertainty, found.plug_in_uncertainty) + 1e-12
    assert np.all(found.bayes <= found.plug_in + slack)
    assert np.all(np.diff(found.bayes) > 0)
    assert np.all(np.diff(found.plug_in) > 0)


def test_equal_errors_of_the_estimate_are_computed_once():
    """Beyond the recovery threshold the error is zero at every alpha."""
    channel, nodes, computed = make_channel("softmax", 2, 1.0), nodes_of(2), []

    class Counted:
        def distance(self, mixing, nodes):
            computed.append(mixing)
            return channel.distance(mixing, nodes)

    V = np.array([0.7, 0.0, 0.3, 0.0, np.nan, 0.7])
    found = output_errors(Counted(), 0.5, V, np.zeros_like(V), nodes)
    # Both errors of three values.
    assert len(computed) == 2 * 3
    for place, value in enumerate(V):
        alone = output_errors(channel, 0.5, np.array([value]), np.zeros(1), nodes)
        for name in ("bayes", "bayes_uncertainty", "plug_in", "plug_in_uncertainty"):
            np.testing.assert_array_equal(getattr(found, name)[place], getattr(alone, name)[0])


def test_no_samples():
    """At alpha = 0, V = 1 and the estimate is sqrt(rho) I. In the limit of small width it vanishes: a one-hot output of two
    tokens is then guessed, error 1/2 per row for the mean (1/2, 1/2), and 1 per row for a guess."""
    channel = make_channel("hardmax", 2)
    assert bayes_error(channel, 1.0, 1.0)[0] == pytest.approx(1.0, rel=1e-12)
    assert plug_in_error(channel, 1.0, 1.0)[0] == pytest.approx(2.0, rel=1e-12)
    # Sheppard: the signs of normal variables of correlation rho / (1 + rho) differ with the probability arccos / pi.
    assert bayes_error(channel, 1.5, 1.0)[0] == pytest.approx(2.0 * np.arccos(1.0 / 3.0) / np.pi, rel=1e-12)
    for tokens in (3, 6):
        # Independent rows agree with the probability sum of p^2, p the chance of each place.
        generator = np.random.default_rng(0)
        width = np.r_[np.sqrt(2.0), np.ones(tokens - 1)]
        places = np.argmax(width * generator.standard_normal((200_000, tokens)), axis=1)
        chances = np.bincount(places, minlength=tokens) / 200_000
        # Standard error below 1.5e-3, rate of five 6e-7.
        assert different_places(tokens, 0.5 * np.pi, 2.0)[0] == pytest.approx(1.0 - np.sum(chances**2), abs=7.5e-3)


@pytest.mark.parametrize("theta", [1e-9, 1e-4, 0.3, 1.5, 3.0])
def test_quadrature_of_the_places_meets_the_closed_form_of_two_tokens(theta):
    """The quadrature of more tokens, used for two. The table agrees with its quadrature, and is certain to 1e-4."""
    if theta > 1e-5:
        assert 1.0 - _same_place(2, theta, 64, 2.0) == pytest.approx(theta / np.pi, abs=1e-13)
    for tokens in (3, 8):
        value, uncertainty = different_places(tokens, theta, 2.0)
        assert 0 < value < 1
        assert uncertainty < 1e-4 * theta
        if theta > 1e-5:
            assert 1.0 - _same_place(tokens, theta, 80, 2.0) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize("tokens", [2, 3])
def test_a_steep_softmax_has_the_errors_of_the_hardmax(tokens):
    """beta = 300 smooths ties by 1/300 of a score: relative difference below 2 %, and five standard errors (rate 6e-7)."""
    nodes = nodes_of(tokens)
    soft, uncertainty = bayes_error(make_channel("softmax", tokens, 300.0), 1.5, 0.5, nodes)
    hard, _ = bayes_error(make_channel("hardmax", tokens), 1.5, 0.5)
    assert abs(soft - hard) < 0.02 * hard + 5.0 * uncertainty


@pytest.mark.parametrize(("name", "tokens"), [("linear", 2), ("softmax", 3), ("hardmax", 2), ("hardmax", 3)])
def test_fresh_data_at_a_known_overlap(name, tokens):
    """An estimate of d = 60 with measured overlaps, not those of a posterior mean, on 6000 fresh sequences. Scores are Gaussian
    up to corrections of relative order 1 / d: 3 %, and five standard errors of the sample, below 1.5 % each (rate 6e-7)."""
    d, generator = 60, np.random.default_rng(3)
    S = attention_matrix(generator.standard_normal((d, 40)))
    estimate = 0.8 * S + 0.3 * symmetric(generator, 1, d)[0] / np.sqrt(d)
    Q, m, q = (float(np.sum(first * second)) / d for first, second in ((S, S), (S, estimate), (estimate, estimate)))
    channel = make_channel(name, tokens)
    found, _ = fresh_errors(channel, S, estimate, 0.1, 6000, np.random.default_rng(4))
    mixing = np.array([[m / np.sqrt(q), np.sqrt(Q - m**2 / q)], [np.sqrt(q), 0.0]])
    expected, uncertainty = channel.distance(mixing, nodes_of(tokens))
    assert abs(found - expected) < (0.03 + 5 * 0.015) * expected + 5.0 * uncertainty


def test_many_starts():
    """One estimate, repeated: means of estimates and outputs are its outputs, and all errors are equal. Two different ones:
    errors of the mean matrix and the product of the two errors, from the same sequences."""
    generator = np.random.default_rng(5)
    S, first, second = (attention_matrix(generator.standard_normal((20, 10))) for _ in range(3))
    channel = make_channel("softmax", 2)

    def starts(estimates, sizes):
        return fresh_errors_of_starts(channel, S, np.array(estimates), sizes, 50, np.random.default_rng(6))

    one, products = starts([first] * 3, [1, 2, 3])
    np.testing.assert_allclose(one, products, rtol=1e-12)
    both, product = starts([first, second], [1, 2])
    X = np.random.default_rng(6).standard_normal((50, 2, 20))
    g, g1, g2, mean = (attention(scores(X, matrix)) for matrix in (S, first, second, 0.5 * (first + second)))
    squares = [np.sum((g - other) ** 2) / 50 for other in (g1, g2, mean)]
    np.testing.assert_allclose(both, [0.5 * (squares[0] + squares[1]), squares[2]], rtol=1e-12)
    assert product == pytest.approx(np.sum((g - g1) * (g - g2)) / 50, rel=1e-12)
    assert np.isnan(starts([first], [1])[1])


def test_an_estimate_that_diverged_has_no_error():
    channel = make_channel("softmax", 2)
    assert np.isnan(fresh_errors(channel, np.eye(4), np.full((4, 4), np.nan), 0.1, 10, np.random.default_rng(0))).all()
    assert np.isnan(fresh_errors(channel, np.eye(4), np.eye(4), np.nan, 10, np.random.default_rng(0))).all()


def test_few_nodes_are_flagged_and_the_published_channel_has_no_posterior_mean():
    value, uncertainty = bayes_error(make_channel("softmax", 2, 1000.0), 1.5, 1e-8, nodes_of(2))
    assert np.isnan(value)
    assert np.isnan(uncertainty)
    found = output_errors(make_channel("hardmax_published", 2), 0.5, np.array([0.5]), np.zeros(1))
    assert np.isnan(found.bayes).all()


def test_bounds_of_the_curve_enter_the_uncertainty():
    """Linear scores: the errors are proportional to V, and so are their bounds."""
    found = output_errors(make_channel("linear", 2), 0.5, np.array([0.2]), np.array([0.01]))
    assert found.bayes_uncertainty[0] == pytest.approx(0.06, rel=1e-9)
