"""Two layers of extensive width: model, channel, state evolution, and AMP that follows it.

Stochastic comparisons are t-tests of `tools`, false-alarm rate 1e-4 each.
"""

import numpy as np
import pytest
from aim_tools import amp_settings

from agreement import assert_mean
from attention_limits.attention_indexed.amp.sample_sums import all_scores
from attention_limits.attention_indexed.model.scores import draw_sequences, draw_weights, traceless
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.priors.denoisers.wishart import effective_dimension, mmse
from attention_limits.attention_indexed.schema.two_layers import TwoLayersStateEvolution
from attention_limits.attention_indexed.two_layers.amp import draw_dataset, run
from attention_limits.attention_indexed.two_layers.state_evolution import solve
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import SPREADS, TwoLayers, contrasts, slopes
from attention_limits.numerics.differences import FIRST, OFFSETS, SECOND
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

Solver = TwoLayersStateEvolution.Solver

pytestmark = pytest.mark.slow

MODELS = (TwoLayers(), TwoLayers(skip=2.5, beta=0.6))
VARIANCES = ([1.0, 1.0], [0.7, 0.2], [0.02, 0.5], [1e-3, 1e-3])


def symmetric(rng, count):
    """Symmetric Gaussian fields (count, 2, 2), variance 2 on the diagonal, 1 off it."""
    h = rng.standard_normal((count, 2, 2))
    return (h + h.transpose(0, 2, 1)) / np.sqrt(2.0)


def draw(model, V, count, seed):
    """(a, means, whitened deviations) of outputs of fields with prior means drawn as in the state evolution."""
    rng = np.random.default_rng(seed)
    V = np.asarray(V)[:, None, None]
    means = [np.sqrt(1.0 - v) * symmetric(rng, count) for v in V]
    fields = [mean + np.sqrt(v) * symmetric(rng, count) for mean, v in zip(means, V, strict=True)]
    a = model.observe(model.log_output(*fields))
    prior = np.stack([contrasts(mean) for mean in means], axis=1)
    truth = np.stack([contrasts(field) for field in fields], axis=1)
    return a, prior, (truth - prior) / (np.sqrt(V[:, 0]) * SPREADS)


def test_the_second_layer_reads_mixed_tokens():
    """y is the attention of the tokens B X under the traceless part of S_2, to rounding."""
    model, rng, dimension = TwoLayers(1.5, 0.8), np.random.default_rng(0), 30
    S = [draw_weights(dimension, 15, rng)[1] for _ in range(2)]
    X = draw_sequences(20, 2, dimension, rng)
    first, second = (all_scores(X, traceless(one)) for one in S)
    y = np.exp(model.log_output(first, second))
    for x, found in zip(X, y, strict=True):
        scores = [one - np.trace(one) / dimension * np.eye(dimension) for one in S]
        h = 0.8 * x @ scores[0] @ x.T / np.sqrt(dimension)
        mixed = (1.5 * np.eye(2) + np.exp(h) / np.exp(h).sum(axis=1, keepdims=True)) @ x
        h = 0.8 * mixed @ scores[1] @ mixed.T / np.sqrt(dimension)
        np.testing.assert_allclose(found, np.exp(h) / np.exp(h).sum(axis=1, keepdims=True), rtol=1e-10)


def test_raw_fields_of_the_layers_are_independent_with_variance_two_on_the_diagonal():
    """Finite size changes the variance by 1/d: 500 samples of 12 teachers at d = 60, allowance 2/d of the largest."""
    covariances = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        S = [draw_weights(60, 30, rng)[1] for _ in range(2)]
        X = draw_sequences(500, 2, 60, rng)
        entries = np.concatenate([all_scores(X, traceless(one))[:, [0, 1, 0], [0, 1, 1]] for one in S], axis=1)
        covariances.append(entries.T @ entries / len(entries))
    assert_mean(covariances, np.diag([2.0, 2.0, 1.0] * 2), allowance=2 * 2.0 / 60)


@pytest.mark.parametrize(("model", "accuracy"), [(MODELS[0], 1e-3), (MODELS[1], 1e-6)])
@pytest.mark.parametrize("V", VARIANCES)
def test_moments_are_derivatives_of_log_z(model, accuracy, V):
    """d log Z / d means and its second derivatives, by eighth-order differences at step 0.2 prior widths. The lattice gives log Z
    to `accuracy`: at c = 1, where e may come close to zero, the density has ridges that it resolves less well. Differences
    magnify an error in one value by at most 4/5 and 205/72 over the step and its square; for each sum of two, twice."""
    a, means, _ = draw(model, V, 12, seed=1)
    widths = np.sqrt(np.asarray(V))[:, None] * SPREADS
    _, z, spread, resolved = model.posterior(a, means, V)
    assert np.all(resolved)
    second = np.empty_like(z)
    for layer in range(2):
        for k in range(2):
            values = []
            for offset in OFFSETS:
                shifted = means.copy()
                shifted[:, layer, k] += 0.2 * offset * widths[layer, k]
                values.append(model.posterior(a, shifted, V)[0])
            np.testing.assert_allclose(FIRST @ values / 0.2, z[:, layer, k], atol=accuracy * 0.8 / 0.2 + 1e-6)
            second[:, layer, k] = SECOND @ values / 0.04
    np.testing.assert_allclose(2.0 + second.sum(axis=2), spread, atol=2 * accuracy * 205 / 72 / 0.04 + 1e-5)


@pytest.mark.parametrize(("model", "V"), [(MODELS[0], [0.7, 0.2]), (MODELS[1], [0.3, 1.0])])
def test_the_density_of_the_output_is_normalised(model, V):
    """Sum over a lattice of outputs out to 1e-6 of the density's mass on either side, in asinh coordinates."""
    means = np.array([[0.4, -0.3], [-0.8, 0.5]])
    x = np.linspace(-9.5, 9.5, 121)
    scale = 0.05
    a_s, a_d = np.meshgrid(scale * np.sinh(x), scale * np.sinh(x), indexing="ij")
    a = np.stack([a_s.ravel(), a_d.ravel()], axis=1)
    jacobian = scale**2 * np.cosh(x)[:, None] * np.cosh(x)
    log_z, *_ = model.posterior(a, np.broadcast_to(means, (len(a), 2, 2)), V)
    total = np.sum(np.exp(log_z).reshape(a_s.shape) * jacobian) * (x[1] - x[0]) ** 2
    assert total == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(("V", "seed"), [([1.0, 1.0], 2), ([0.9, 0.01], 3), ([0.3, 0.3], 4)])
def test_the_lattice_finds_what_a_fine_one_over_the_whole_prior_does(V, seed):
    model = TwoLayers()
    a, means, _ = draw(model, V, 4, seed)
    _, z, spread, resolved = model.posterior(a, means, V)
    assert np.all(resolved)
    half = 7.0 * np.sqrt(3.0 * V[0])
    u = (np.arange(1000) + 0.5) / 500 - 1.0
    for k in range(len(a)):
        u_1 = 0.5 * (means[k, 0, 0] + means[k, 0, 1]) + half * u[:, None]
        u_2 = 0.5 * (means[k, 0, 0] - means[k, 0, 1]) + half * u
        first, second = 1.0 / (1.0 + np.exp(-u_1)), 1.0 / (1.0 + np.exp(-u_2))
        e = first + second
        v_s = a[k, 0] / e**2
        v_d = 0.5 * (a[k, 1] / e + (second - first) * v_s)
        x = np.stack(
            [u_1 + u_2 - means[k, 0, 0], u_1 - u_2 - means[k, 0, 1], v_s - means[k, 1, 0], v_d - means[k, 1, 1]]
        )
        x /= (np.sqrt(V)[:, None] * SPREADS).ravel()[:, None, None]
        log_weight = -0.5 * np.sum(x**2, axis=0) - 3.0 * np.log(e)
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        mean = np.sum(weight * x, axis=(1, 2))
        np.testing.assert_allclose(z[k].ravel(), mean, atol=1e-3)
        variance = np.sum(weight * x**2, axis=(1, 2)) - mean**2
        np.testing.assert_allclose(spread[k], variance.reshape(2, 2).sum(axis=1), atol=2e-3)


@pytest.mark.parametrize("V", VARIANCES[:3])
def test_nishimori_identities_and_no_joint_information(V):
    """E |z_l|^2 = E z_l . truth = 2 - E spread_l, and E tr G_1 G_2 = 0."""
    model = TwoLayers()
    a, means, truth = draw(model, V, 4000, seed=5)
    _, z, spread, _ = model.posterior(a, means, V)
    G = slopes(z, np.asarray(V))
    assert_mean(np.sum(z**2 - z * truth, axis=2))
    assert_mean(np.sum(z**2, axis=2) - 2.0 + spread)
    assert_mean(np.sum(G[:, 0] * G[:, 1], axis=(1, 2))[:, None])
    np.testing.assert_allclose(np.sum(G**2, axis=(2, 3)), np.sum(z**2, axis=2) / (2.0 * np.asarray(V)), rtol=1e-12)
    np.testing.assert_allclose(G.sum(axis=(2, 3)), 0.0, atol=1e-9)
    np.testing.assert_allclose(contrasts(2.0 * np.asarray(V)[:, None, None] * G), z * np.sqrt(V)[:, None] * SPREADS)


def nodes(count, seed):
    """Sobol nodes of the average over the fields."""
    return gaussian_nodes(TwoLayers.node_dimension, count, np.random.default_rng(seed))


def test_averages_on_nodes_are_those_of_random_fields():
    model, V = TwoLayers(), [0.7, 0.2]
    a, means, _ = draw(model, V, 4000, seed=6)
    plain = 2.0 * np.sum(model.posterior(a, means, V)[1] ** 2, axis=2)
    on_nodes = np.array([model.averages(V, nodes(256, seed)).information for seed in range(8)])
    error = on_nodes.std(axis=0, ddof=1) / np.sqrt(8)
    assert_mean(plain, on_nodes.mean(axis=0), error=error)


def test_an_output_gives_four_equations_where_little_is_unknown():
    found = [TwoLayers().averages([1e-5, 1e-5], nodes(256, seed)).information.sum() for seed in range(12)]
    assert_mean(found, 4.0, allowance=0.01)


@pytest.mark.parametrize(("model", "V"), [(TwoLayers(), [1e-8, 0.5]), (TwoLayers(skip=1000.0), [0.7, 0.5])])
def test_the_second_layer_is_learned_like_a_single_one_where_the_mixing_is_known(model, V):
    """Known because layer 1 is, or because the skip connection outweighs it: k_2 = 4, M^2 + M - 2 of one layer of two tokens."""
    found = [model.averages(V, nodes(256, seed)).information for seed in range(8)]
    assert_mean(found, [0.0, 4.0], allowance=0.01)


def test_both_layers_are_recovered_from_two_equations_for_all_parameters():
    """nu d^2 parameters per layer, so alpha = nu; 10 % on either side, more than the noise of 256 nodes."""
    model, recovery = TwoLayers(), float(effective_dimension(0.5))
    below = solve(model, 0.5, 0.9 * recovery, nodes(256, 7), Solver())
    above = solve(model, 0.5, 1.1 * recovery, nodes(256, 7), Solver())
    assert below.converged
    assert np.all(below.value > 1e-4)
    assert above.converged
    assert np.all(above.value < 1e-6)


def test_state_evolution_begins_as_its_first_order_in_alpha():
    """1 - V_l = alpha k_l(1, 1) (1 - mmse slope): for D -> infinity mmse(D) = 1 - 1/D."""
    averages = TwoLayers().averages([1.0, 1.0], nodes(256, 8))
    found = solve(TwoLayers(), 0.5, 1e-4, nodes(256, 8), Solver())
    np.testing.assert_allclose(1.0 - found.value, 1.0 - mmse(0.5, 1.0 / (1e-4 * averages.information)), rtol=5e-3)
    np.testing.assert_allclose(1.0 - found.value, 1e-4 * averages.information, rtol=5e-3)
    assert np.all(solve(TwoLayers(), 0.5, 0.0, nodes(16, 0), Solver()).value == 1.0)


def test_starts_meet_at_one_fixed_point():
    uninformed, informed = (
        solve(TwoLayers(), 0.5, 0.25, nodes(256, 9), Solver(), start=s) for s in ((1.0, 1.0), (1e-3, 1e-3))
    )
    np.testing.assert_allclose(uninformed.value, informed.value, rtol=5e-3)


def test_amp_follows_state_evolution_and_knows_its_error():
    """d = 50 at alpha = 0.1, 6 data sets; the allowance of 0.04 is the finite size, 2/d of an error of order one. Without the
    measured variance two of them end at an error of 5.9, with an estimate larger than any posterior mean."""
    model, dimension, alpha = TwoLayers(), 50, 0.1
    theory = np.array([solve(model, 0.5, alpha, nodes(256, seed), Solver()).value for seed in range(4)])
    runs = []
    for seed in range(6):
        data = draw_dataset(model, Sizes(round(alpha * dimension**2), dimension, 25), np.random.default_rng(seed))
        runs.append(run(model, data, amp_settings(max_iterations=300, tolerance=1e-2)))
    assert not any(one.diverged for one in runs)
    assert all(one.converged for one in runs)
    assert all(one.resolved == 1.0 for one in runs)
    error = theory.std(axis=0, ddof=1) / 2
    assert_mean([one.error[-1] for one in runs], theory.mean(axis=0), allowance=0.04, error=error)
    assert_mean([one.error[-1] - one.variance[-1] for one in runs], allowance=0.04)


def test_amp_recovers_both_layers_and_knows_it():
    """d = 50, 1.17 times the samples of exact recovery: the errors of two data sets fall with those that AMP predicts. With the
    predicted variance in place of the measured one the errors stay above 7e-5 while the prediction falls to 1e-9."""
    model = TwoLayers()
    for seed in range(2):
        data = draw_dataset(model, Sizes(1100, 50, 25), np.random.default_rng(seed))
        found = run(model, data, amp_settings())
        assert found.converged
        assert found.resolved > 0.999
        assert np.all(found.error[found.best] < 1e-6)


def test_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="skip"):
        TwoLayers(skip=-0.1)
    with pytest.raises(ValueError, match="beta"):
        TwoLayers(beta=np.inf)
    data = draw_dataset(TwoLayers(), Sizes(10, 4, 2), np.random.default_rng(0))
    with pytest.raises(ValueError, match="damping"):
        run(TwoLayers(), data, amp_settings(damping=1.0))
