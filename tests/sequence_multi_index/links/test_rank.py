"""Attention layers of rank p: reduction to rank one, exact thresholds, the quadrature over rotations, GAMP."""

from pathlib import Path

import numpy as np
import pytest
from smi_tools import (
    Generic,
    channel_of,
    draw_channels,
    gamp_settings,
    gradient_and_hessian,
    node_sets,
    path_settings,
    search_settings,
)

from agreement import assert_mean
from attention_limits.attention_indexed.channels.loading import load_channel
from attention_limits.attention_indexed.state_evolution.curve import small_width, weak_recovery
from attention_limits.sequence_multi_index.data.teacher_overlap import towards_teacher
from attention_limits.sequence_multi_index.figures.thresholds import rank, rank_limit
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.rank import RankAttention
from attention_limits.sequence_multi_index.links.attention.untied import UntiedAttention
from attention_limits.sequence_multi_index.links.attention.untied_heads import UntiedHeads
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.links.link import ROTATION
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold

pytestmark = pytest.mark.slow

RANK_TWO = RankAttention(2)


def fields(rows, tokens, count=20):
    return np.random.default_rng(3).standard_normal((count, rows, tokens))


@pytest.mark.parametrize(("depth", "tokens"), [(1, 2), (2, 3)])
def test_rank_one_is_deep_attention(depth, tokens):
    h = fields(depth, tokens)
    one = RankAttention(1, 0.7, 1.3, depth, tokens)
    np.testing.assert_allclose(one.forward(h), DeepAttention(0.7, 1.3, depth, tokens).forward(h), atol=1e-12)


def test_one_untied_head_is_untied_attention():
    h = fields(4, 2)
    one, untied = UntiedHeads(1, 0.7, 1.3, 2), UntiedAttention(0.7, 1.3, 2)
    np.testing.assert_allclose(one.forward(h), untied.forward(h), atol=1e-12)
    np.testing.assert_allclose(one.observe(h)[:, :, 0], untied.observe(h), atol=1e-12)
    np.testing.assert_allclose(one.log_volume(h), untied.log_volume(h), atol=1e-12)


def test_scores_of_the_heads_add_up():
    """Against loops over tokens and heads."""
    link, h = RankAttention(2, 1.0, 0.8, 1, 3, (1.0, 0.4)), fields(2, 3)
    untied, g = UntiedHeads(2, 1.0, 0.8, 1, 3, (1.0, 0.4)), fields(4, 3)
    for n in range(3):
        for found, left, right in ((link.forward(h)[n], h[n], h[n]), (untied.forward(g)[n], g[n, 2:], g[n, :2])):
            for a in range(3):
                scores = [0.8 * sum(w * left[k, a] * right[k, b] for k, w in enumerate((1.0, 0.4))) for b in range(3)]
                np.testing.assert_allclose(found[a], np.exp(scores) / np.exp(scores).sum(), atol=1e-12)


def test_readout_weights_are_those_of_the_mean_of_softmaxes():
    h = fields(2, 2)
    equal, given = MultiHeadAttention(2, beta=0.8), MultiHeadAttention(2, beta=0.8, readout=(0.5, 0.5))
    np.testing.assert_allclose(equal.forward(h), given.forward(h), atol=1e-12)
    single = DeepAttention(1.0, 0.8, 1)
    weighted = 0.7 * single.forward(h[:, :1]) + 0.3 * single.forward(h[:, 1:])
    np.testing.assert_allclose(MultiHeadAttention(2, beta=0.8, readout=(0.7, 0.3)).forward(h), weighted, atol=1e-12)


@pytest.mark.parametrize("make", [RankAttention, UntiedHeads, MultiHeadAttention])
def test_readout_weights_are_checked(make):
    for wrong in ((1.0,), (1.0, -1.0), (1.0, 0.0, 1.0)):
        with pytest.raises(ValueError, match="readout must be 2 numbers > 0"):
            make(2, readout=wrong)


def exact_threshold(rank, tokens):
    """1 / alpha_c = M (M + 1) / p - 2 max(p - M + 1, 0) / p^2 of one layer, derived here.

    y fixes the Gram matrix G of the fields up to the squared length of the mean's component outside of their differences, a
    chi-squared variable of p - M + 1 degrees over M, and nothing else: E[h_pa h_qb | y] = delta_pq K_ab, K = E[G | y] / p, and
    1 / alpha_c = E ||K - I||^2. For p = 1: 1 / (M (M + 1)); for p = M = 2: 2/5.
    """
    return 1.0 / (tokens * (tokens + 1) / rank - 2.0 * max(rank - tokens + 1, 0) / rank**2)


@pytest.mark.parametrize(("rank", "tokens"), [(1, 2), (2, 2), (3, 2), (2, 3)])
def test_first_threshold_of_one_layer_is_the_exact_one(rank, tokens):
    """Four scramblings, false-alarm rate 1e-4; the inverse of a mean of few nodes is biased by 3 % at most."""
    link = RankAttention(rank, tokens=tokens)
    found = [
        first_threshold(channel_of(link, 0.35, seed), nodes).alpha
        for seed, nodes in enumerate(node_sets(link, 256, 4, seed=4))
    ]
    exact = exact_threshold(rank, tokens)
    assert_mean(found, exact, 0.03 * exact)


def test_threshold_of_rank_two_is_the_reference_value():
    """.3988(15), from an independent program."""
    found = [first_threshold(channel_of(RANK_TWO), nodes).alpha for nodes in node_sets(RANK_TWO, 8192, 4, seed=5)]
    assert abs(np.mean(found) - 0.3988) < 4 * 0.0015


def test_quadrature_over_rotations_is_the_sampled_posterior():
    """Two ways to one posterior, at correlated rows and unequal weights; the error of 16 000 samples is below 0.05."""
    link = RankAttention(2, readout=(1.0, 0.6))
    assert channel_of(link).method == ROTATION
    V = np.array([[0.7, 0.1], [0.1, 0.5]])
    observed, omega, _ = draw_channels(link, V, 40, 6)
    exact = channel_of(link).posterior(observed, omega, V)
    sampled = channel_of(Generic(link), 2.0).posterior(observed, omega, V)
    assert exact.resolved.all()
    for name in ("log_z", "mean", "covariance"):
        np.testing.assert_allclose(getattr(exact, name), getattr(sampled, name), atol=0.05)
    finer = channel_of(link, 3.0).posterior(observed, omega, V)
    np.testing.assert_allclose(exact.mean, finer.mean, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-4])
def test_moments_of_rank_two_are_derivatives_of_log_z(scale):
    """d log Z / d omega = V^-1 E[h - omega | y], its derivative V^-1 Cov V^-1 - V^-1, at any width of V."""
    V = scale * np.array([[0.7, 0.1], [0.1, 0.5]])
    observed, omega, _ = draw_channels(RANK_TWO, V, 5, 7)
    channel = channel_of(RANK_TWO, 2.0)
    moments = channel.posterior(observed, omega, V)
    gradient, hessian = gradient_and_hessian(
        lambda index, at: channel.posterior(observed[index], at, V).log_z, omega, V, np.full(5, 0.05)
    )
    root = np.repeat(np.sqrt(np.diag(V)), 2)
    precision = np.kron(np.linalg.inv(V), np.eye(2))
    mean, covariance = moments.mean.reshape(5, 4), moments.covariance.reshape(5, 4, 4)
    np.testing.assert_allclose(gradient, mean @ precision * root, atol=1e-5)
    wanted = (precision @ covariance @ precision - precision) * np.outer(root, root)
    np.testing.assert_allclose(hessian, wanted, atol=1e-4)


def test_gamp_of_rank_two_follows_the_state_evolution():
    """alpha = 0.8 with side information 0.3: Q after iterations 2 to 4; false-alarm rate 1e-4, finite size 4 / D."""
    channel = channel_of(RANK_TWO)
    settings = gamp_settings(max_iterations=4, start_overlap=1e-8, side_information=0.3, tolerance=0.0)
    runs = []
    for generator in np.random.default_rng(8).spawn(24):
        data = gamp.gaussian_dataset(RANK_TWO, 500, 400, generator)
        runs.append(gamp.run(channel, data, generator, settings).norm)
    paths = [
        trajectory(channel, 0.8, nodes, path_settings(0.0, 4, side_information=0.3)).overlap
        for nodes in node_sets(RANK_TWO, 1024, 4, seed=9)
    ]
    assert_mean(np.array(runs)[:, 1:], np.mean(paths, axis=0)[1:], 4 / 500, np.std(paths, axis=0, ddof=1)[1:] / 2.0)


def test_rank_two_is_learned_beyond_its_threshold_and_recovered():
    """Nothing at alpha = 0.3; both rows alike at 0.6, within the noise of the nodes; exact recovery at 2, beyond alpha = 1, where
    the two equations per sample meet the two unknowns per dimension."""
    channel = channel_of(RANK_TWO)
    (nodes,) = node_sets(RANK_TWO, 1024, 1, seed=10)
    low, middle, high = (
        np.diag(solve(channel, alpha, nodes, 1e-3, search_settings()).value) for alpha in (0.3, 0.6, 2.0)
    )
    assert np.all(low == 0.0)
    assert middle.min() > 0.2
    assert np.ptp(middle) < 0.1
    assert high.min() > 0.999


def test_estimate_is_turned_towards_the_teacher():
    """Every rotation of an estimate has the overlap of the estimate itself."""
    rng = np.random.default_rng(11)
    overlap = np.diag([0.8, 0.6]) + 0.01 * rng.standard_normal((2, 2))
    rotation = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    turned = towards_teacher(RANK_TWO, rotation @ overlap)
    np.testing.assert_allclose(turned, towards_teacher(RANK_TWO, overlap), atol=1e-12)
    np.testing.assert_allclose(turned, turned.T, atol=1e-12)
    assert np.linalg.eigvalsh(turned)[0] > 0


@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_large_rank_has_the_threshold_of_the_attention_indexed_model_at_small_width(tokens):
    """n / (D p) -> 1 / ((M - 1)(M + 2)), with a correction of order 1 / p; there the other family has n / (d r) at rho = 0."""
    channel = load_channel({"channel": "softmax", "tokens": tokens, "beta": 1.0}, Path())
    assert rank.first_threshold(10**6, tokens) / 10**6 == pytest.approx(weak_recovery(channel), rel=1e-4)


@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_overlap_of_small_width_is_that_of_the_attention_indexed_model(tokens):
    """The error of the scores is 1 - q^2."""
    channel = load_channel({"channel": "softmax", "tokens": tokens, "beta": 1.0}, Path())
    alpha = np.linspace(0.05, 0.6, 23)
    overlap = rank_limit.small_width_overlap(alpha, tokens)
    np.testing.assert_allclose(1.0 - overlap**2, small_width(channel, alpha).mmse, atol=1e-12)
