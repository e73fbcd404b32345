"""Untied attention: the law of its scores, its channels, thresholds, limits, and refusals."""

from pathlib import Path

import numpy as np
import pytest
from aim_tools import GRADIENT_DESCENT, ONE_LAYER, SIZES, TWO_LAYERS, computed, estimator, load
from scipy.special import ndtr

from agreement import assert_mean
from attention_limits.attention_indexed.amp.matrix_amp import draw_dataset
from attention_limits.attention_indexed.channels.hardmax.untied import (
    _limits,
    posterior_rows,
    posterior_signs,
    tie_information,
)
from attention_limits.attention_indexed.channels.loading import load_channel, make_channel
from attention_limits.attention_indexed.model.score_law import row_nodes
from attention_limits.attention_indexed.model.scores import draw_sequences, draw_untied, scores
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.loading import load_prior
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.attention_indexed.priors.wishart import Wishart
from attention_limits.attention_indexed.state_evolution.curve import (
    curve,
    exact_recovery,
    small_width,
    solve,
    tail,
    weak_recovery,
)
from attention_limits.attention_indexed.state_evolution.generalization import bayes_error, plug_in_error
from attention_limits.interface.thresholds import thresholds
from attention_limits.pipeline.base.errors import SpecError

CHANNELS = [("linear", 2), ("linear", 3), ("softmax", 2), ("softmax", 3), ("hardmax", 2), ("hardmax", 3)]


def test_all_scores_are_independent():
    """Products of two scores over 4000 pairs of sequences of one S, d = 200, M = 2: covariance the identity, false-alarm rate
    1e-4. tr S S^T / d has the standard deviation 2 / d: 6 / d is allowed."""
    rng = np.random.default_rng(20)
    S = draw_untied(200, 100, rng)
    h = scores(draw_sequences(4000, 2, 200, rng), S, draw_sequences(4000, 2, 200, rng)).reshape(4000, 4)
    assert_mean(h[:, :, None] * h[:, None], np.eye(4), allowance=6.0 / 200)


def test_posterior_of_a_row_of_two_is_that_of_a_sign():
    """The difference has the variance 2: mean shift phi / (Phi sqrt 2) at k = difference / sqrt 2, also far in both tails."""
    k = np.array([-30.0, -5.0, -0.3, 0.0, 2.0, 5.0])
    omega = np.stack([k, -k], 1) / np.sqrt(2.0)
    mills = np.exp(-0.5 * k**2) / np.sqrt(2.0 * np.pi) / ndtr(k)
    for best, sign in ((0, 1), (1, -1)):
        for posterior in (posterior_rows, posterior_signs):
            means, logs = posterior(np.full(6, best), sign * omega)
            np.testing.assert_allclose(
                means, sign * np.stack([mills, -mills], 1) / np.sqrt(2.0), rtol=1e-10, atol=1e-12
            )
            np.testing.assert_allclose(np.exp(logs[1:]), ndtr(k[1:]), rtol=1e-12)


@pytest.mark.parametrize("tokens", [3, 6])
def test_posterior_of_a_row_is_the_gradient_of_its_probability(tokens):
    """Central differences of log P of every output, whose probabilities add up to one."""
    omega, h = 1.5 * np.random.default_rng(23).standard_normal(tokens), 1e-5
    best = np.arange(tokens)
    means, logs = posterior_rows(best, np.tile(omega, (tokens, 1)))
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-12)
    for place in range(tokens):
        step = h * (best == place)
        difference = (
            posterior_rows(best, np.tile(omega + step, (tokens, 1)))[1]
            - posterior_rows(best, np.tile(omega - step, (tokens, 1)))[1]
        )
        np.testing.assert_allclose(means[:, place], difference / (2.0 * h), rtol=1e-6, atol=1e-9)


def test_the_interpolated_information_meets_that_of_two_tokens():
    """The four limits of more tokens, used for two, give the integral within their bound and 2 per cent."""
    channel, V = make_channel("hardmax", 2, untied=True), np.geomspace(1e-6, 1.0, 30)
    limits, s = _limits(2), np.sqrt(V)
    difference = np.abs(limits.cubic(s) / (channel.information(V, 1.0) * s) - 1.0)
    assert difference.max() < 1.5 * limits.uncertainty < 0.02
    assert difference[0] < 1e-3
    assert difference[-1] < 1e-10


@pytest.mark.parametrize("ratio", [0.01, 0.1, 0.5, 0.9, 1.1, 10.0])
@pytest.mark.parametrize(("name", "tokens", "equations"), [("linear", 2, 4), ("softmax", 2, 2), ("softmax", 5, 20)])
def test_exact_recovery_is_where_equations_meet_parameters(name, tokens, equations, ratio):
    """n M^2 or n M (M - 1) equations for 2 r d - r^2 or d^2 parameters; alpha(D) has a correction linear in D at small D (rho !=
    1): extrapolated to 1e-6."""
    channel, prior = make_channel(name, tokens, untied=True), Product(ratio)
    expected = (2.0 * ratio - ratio**2 if ratio < 1 else 1.0) / equations
    assert exact_recovery(channel, prior) == pytest.approx(expected, rel=1e-14)
    first, second = curve(channel, prior, np.array([1e-8, 2e-8])).alpha
    assert 2.0 * first - second == pytest.approx(expected, rel=1e-6)
    below, above = solve(channel, prior, expected * np.array([0.999, 1.001])).mmse
    assert above == 0 < below < 2e-2


@pytest.mark.parametrize(("name", "tokens"), CHANNELS)
def test_solution_is_a_fixed_point_and_small_width_its_limit(name, tokens):
    """V = mmse(D) and 1/D = alpha I(V); at rho = 1e-6 the limit of small width within 1e-4, away from its threshold 1 / I(1); the
    law of ties at many samples."""
    channel = make_channel(name, tokens, untied=True)
    alpha = np.array([0.1, 0.5, 0.9]) * (exact_recovery(channel, Product(0.4)) if channel.equations else 1.0)
    found = solve(channel, Product(0.4), alpha)
    np.testing.assert_allclose(found.mmse, Product(0.4).mmse(found.noise), rtol=1e-12)
    np.testing.assert_allclose(alpha * channel.information(found.mmse, 1.0) * found.noise, 1.0, rtol=1e-8)
    assert np.all(np.diff(found.mmse) < 0)
    rescaled = weak_recovery(channel) * np.array([0.5, 1.5, 1.9])
    limit = small_width(channel, rescaled).mmse
    assert limit[0] == 1 > limit[1] > limit[2]
    np.testing.assert_allclose(solve(channel, Product(1e-6), 1e-6 * rescaled).mmse, limit, atol=1e-4)
    if channel.equations is None:
        assert solve(channel, Product(0.5), [300.0]).mmse[0] == pytest.approx(
            tail(channel, Product(0.5), [300.0])[0], rel=1e-2
        )


def test_weak_recovery_by_hand():
    """1 / K; the hardmax of two tokens has I(1) = 2 * 4 / (2 pi) = 4 / pi. Ties of two tokens: J sqrt(2 / pi)."""
    assert weak_recovery(make_channel("linear", 3, untied=True)) == pytest.approx(1 / 9)
    assert weak_recovery(make_channel("softmax", 3, untied=True)) == pytest.approx(1 / 6)
    assert weak_recovery(make_channel("hardmax", 2, untied=True)) == pytest.approx(np.pi / 4.0, rel=1e-9)
    assert tie_information(2) == pytest.approx(1.80639457114 * np.sqrt(2.0 / np.pi), rel=1e-9)


@pytest.mark.parametrize(("name", "tokens"), CHANNELS)
def test_generalisation_errors_are_those_of_independent_scores(name, tokens):
    """Both errors at V = 0.4 from 20 000 pairs of scores: squared distance of two draws given omega, halved, and of h and omega;
    false-alarm rate 1e-4 beside the uncertainty of the theory."""
    channel, rng = make_channel(name, tokens, untied=True), np.random.default_rng(24)
    nodes = row_nodes(tokens, [np.random.default_rng(seed) for seed in range(8)], channel.law)
    omega = np.sqrt(0.6) * rng.standard_normal((20_000, tokens, tokens))
    first, second = (channel.output(omega + np.sqrt(0.4) * rng.standard_normal(omega.shape)) for _ in range(2))
    for values, other, error in (
        (0.5 * (first - second) ** 2, 1.0, bayes_error),
        ((first - channel.output(omega)) ** 2, 1.0, plug_in_error),
    ):
        expected, uncertainty = error(channel, 1.0, 0.4, nodes)
        assert_mean(other * values.sum(axis=(1, 2)), expected, error=uncertainty)


def test_symmetric_scores_need_a_symmetric_matrix():
    with pytest.raises(ValueError, match="if and only if"):
        draw_dataset(make_channel("linear", 2, untied=True), Sizes(10, 5, 2), np.random.default_rng(0), Wishart(0.4))


def test_the_estimators_read_the_key(tmp_path):
    """Linear scores at large width: S is Gaussian, V = 1 - 4 alpha; matrix AMP stores singular values."""
    model = {"channel": "linear", "tokens": 2, "ratio": 100.0, "untied": True}
    part = load(tmp_path, estimator("state_evolution", model, {"alpha": [0.05, 0.2]})).estimators["state_evolution"]
    np.testing.assert_allclose(computed(part).mmse.squeeze(), [0.8, 0.2], rtol=2e-2)
    solver = {"dimension": 12, "max_iterations": 5, "fresh_sequences": 20}
    written = estimator("matrix_amp", {**model, "ratio": 0.5}, {"alpha": [0.3]}, solver=solver)
    found = computed(load(tmp_path, written).estimators["matrix_amp"])
    assert np.all(found.eigenvalues_teacher.squeeze()[:6] < 1e-9)
    assert np.all(found.eigenvalues >= 0)
    assert np.sum(found.eigenvalues_teacher**2) / 12 == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"channel": "hardmax_published"}, "hardmax_published: allowed with untied: true: linear, softmax, hardmax"),
        ({"channel": "softmax", "output_noise": 0.1}, "allowed: linear, or output_noise 0"),
        ({"channel": "config/channel.py:Mine"}, "allowed with untied: true"),
        ({"channel": "hardmax", "tokens": 9}, "at most 8 tokens"),
        ({"channel": "linear", "spectrum": "spectra_of_files.py:semicircle"}, "allowed: untied: false"),
    ],
)
def test_models_without_an_untied_form_are_refused(tmp_path, change, words):
    model = {"tokens": 2, "ratio": 0.5, "untied": True, **change}
    with pytest.raises(SpecError) as caught:
        load(tmp_path, estimator("state_evolution", model, {"alpha": [0.1]}))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "document",
    [
        GRADIENT_DESCENT,
        TWO_LAYERS,
        {**SIZES, "estimators": {"posterior_sampling": SIZES["estimators"]["posterior_sampling"]}},
    ],
)
def test_estimators_without_an_untied_form_are_refused(tmp_path, document):
    """Also beside an estimator that has one."""
    with pytest.raises(SpecError) as caught:
        load(tmp_path, {**document, "model": {**document["model"], "untied": True}})
    assert "model.untied: true: allowed: exactly false" in str(caught.value)
    both = {"state_evolution": ONE_LAYER["estimators"]["state_evolution"], **document["estimators"]}
    model = {"channel": "softmax", "tokens": 2, "ratio": 0.5, **document["model"], "untied": True}
    with pytest.raises(SpecError) as caught:
        load(tmp_path, {"model": model, "estimators": both})
    assert "model.untied: true: allowed: exactly false" in str(caught.value)


@pytest.mark.parametrize("name", ["softmax_untied", "hardmax_published", "channel.py:Mine"])
def test_a_channel_or_prior_without_an_untied_form_is_named(name):
    with pytest.raises(ValueError, match="allowed with untied: true"):
        load_channel({"channel": name, "tokens": 2, "untied": True}, Path())
    with pytest.raises(ValueError, match="allowed: untied: false"):
        load_prior({"ratio": 0.5, "spectrum": "spectrum.py:law", "untied": True}, Path())


def test_thresholds_of_untied_attention():
    """Exact recovery and weak recovery of the softmax, M = 3, rho = 0.5: 0.75 / 6 and 1 / 6."""
    model = {"channel": "softmax", "tokens": 3, "ratio": 0.5, "untied": True}
    found = thresholds(model).value
    assert found["exact recovery"] == pytest.approx(0.125)
    assert found["weak recovery at rho = 0"] == pytest.approx(1 / 6)
    assert solve(make_channel("softmax", 3, untied=True), Product(0.5), [found["half of the error"]]).mmse[
        0
    ] == pytest.approx(0.5)
