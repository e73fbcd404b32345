"""Two layers with a hardmax as the last one: probabilities, posterior means, and the limits of a single layer.

Stochastic comparisons are t-tests of `agreement`, false-alarm rate 1e-4 each.
"""

import numpy as np
import pytest
from aim_tools import amp_settings
from scipy.special import owens_t
from scipy.stats import multivariate_normal

from agreement import assert_mean
from attention_limits.attention_indexed.channels.hardmax import two_tokens
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.schema.two_layers import TwoLayersStateEvolution
from attention_limits.attention_indexed.two_layers.amp import draw_dataset, run
from attention_limits.attention_indexed.two_layers.contrasts import matrices
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.state_evolution import solve
from attention_limits.attention_indexed.two_layers.two_tokens.hardmax_kernels import (
    NEXT,
    OUTPUTS,
    Normal,
    fill_normal,
    probability,
)
from attention_limits.numerics.differences import FIRST, OFFSETS
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

Solver = TwoLayersStateEvolution.Solver

pytestmark = pytest.mark.slow

MODELS = (HardmaxLayers(), HardmaxLayers(0.0, 2.0), HardmaxLayers(0.5, 0.7))


def draw(model, V, count, seed):
    """(outputs, prior means, deviations in prior standard deviations) as in the state evolution."""
    rng, V = np.random.default_rng(seed), np.asarray(V)[:, None]
    means, truth = np.sqrt(1.0 - V) * rng.standard_normal((count, 2, 2)), rng.standard_normal((count, 2, 2))
    fields = matrices(means + np.sqrt(V) * truth, 2)
    return model.observed(fields[:, 0], fields[:, 1]), means, truth


def information(model, V, replicas=6, count=128):
    """k_l (replicas, 2) of independent nodes."""
    models = [HardmaxLayers(model.skip, model.beta, seed) for seed in range(replicas)]
    nodes = [gaussian_nodes(4, count, np.random.default_rng(seed), 1.0) for seed in range(replicas)]
    return np.array([one.averages(V, points).information for one, points in zip(models, nodes, strict=True)])


def normal(kappa, r):
    """`Normal` of kappa (n, 2) and r."""
    found = Normal(np.empty(len(kappa)), np.empty((4, len(kappa))))
    fill_normal(*kappa.T.copy(), np.full(len(kappa), r), np.empty((2, len(kappa))), found)
    return found


@pytest.mark.parametrize("r", [-0.9999, -0.9, -1 / 3, 0.0, 0.6, 0.9999])
def test_bivariate_normal_probabilities(r):
    """Of all four outputs, against a generic cumulative distribution function; Owen's T against that of scipy."""
    rng = np.random.default_rng(0)
    scales = rng.choice([0.01, 0.5, 2.0, 8.0], (400, 2))
    kappa = np.concatenate([[[0.0, 0.0], [0.0, 1.0], [-8.0, 8.0], [2.0, -2.0]], scales * rng.standard_normal((400, 2))])
    owen, below = normal(kappa, r)
    a, b = np.where(kappa == 0.0, NEXT, kappa).T
    c = np.sqrt((1.0 - r) * (1.0 + r))
    expected = owens_t(a, (b - r * a) / (a * c)) + owens_t(b, (a - r * b) / (b * c))
    # The ratios amplify the rounding error of 1 - r^2.
    np.testing.assert_allclose(owen, expected, atol=1e-16 / (1.0 - abs(r)) + 3e-16)
    for k in range(40):
        found = [probability(*signs, a[k], b[k], owen[k], below[0, k], below[1, k]) for signs in OUTPUTS]
        assert abs(sum(found) - 1.0) < 1e-13
        for signs, one in zip(OUTPUTS, found, strict=True):
            covariance = [[1.0, signs.prod() * r], [signs.prod() * r, 1.0]]
            exact = multivariate_normal([0.0, 0.0], covariance, allow_singular=True).cdf(signs * kappa[k])
            np.testing.assert_allclose(one, exact, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_add_up_and_posterior_means_are_a_martingale(model):
    """sum_y P(y) = 1 and sum_y P(y) z_l = 0 at any nodes."""
    V = [0.6, 0.3]
    means = draw(model, V, 20, seed=1)[1]
    found = [model.estimates(np.broadcast_to(signs, (20, 2)), means, V) for signs in OUTPUTS]
    Z = [np.exp(log_z) for log_z, *_ in found]
    np.testing.assert_allclose(sum(Z), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        sum(P[..., None, None] * z for P, (_, z, *_) in zip(Z, found, strict=True)), 0.0, atol=1e-12
    )
    np.testing.assert_allclose(
        sum(P[..., None] * squares for P, (_, _, squares, _) in zip(Z, found, strict=True)), 2.0, atol=1e-12
    )


@pytest.mark.parametrize("model", MODELS)
def test_moments_of_the_last_layer_are_derivatives_of_log_z(model):
    """Exact at fixed nodes, because the nodes do not move with m_2: differences of eighth order at step 0.1."""
    V = [0.6, 0.3]
    signs, means, _ = draw(model, V, 10, seed=2)
    _, z, _, _ = model.estimates(signs, means, V)
    for k in range(2):
        logs = []
        for offset in OFFSETS:
            shifted = means.copy()
            shifted[:, 1, k] += 0.1 * offset * np.sqrt(V[1])
            logs.append(model.estimates(signs, shifted, V)[0])
        np.testing.assert_allclose(np.tensordot(FIRST, logs, 1) / 0.1, z[:, :, 1, k], atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_posterior_means_are_those_of_plain_sampling(model):
    """Three prior means, 200 000 pairs of scores each: means and squares of the pairs with the same output, against the mean over
    16 independent sets of nodes. The allowance is the bias of a mean of weighted nodes, 1 / 100 at 100 effective nodes."""
    V, rng = np.array([0.7, 0.4]), np.random.default_rng(3)
    signs, means, _ = draw(model, V, 3, seed=4)
    found = [HardmaxLayers(model.skip, model.beta, seed).estimates(signs, means, V) for seed in range(8)]
    assert all(effective.min() >= 20 for *_, effective in found)
    log_z, z, squares = (np.concatenate(parts) for parts in list(zip(*found, strict=True))[:3])
    Z = np.exp(log_z)
    for k in range(3):
        x = rng.standard_normal((200_000, 2, 2))
        fields = matrices(means[k] + np.sqrt(V)[:, None] * x, 2)
        same = np.all(model.observed(fields[:, 0], fields[:, 1]) == signs[k], axis=1)
        for plain, ours in (
            (same[:, None], Z[:, k : k + 1]),
            (x[same], z[:, k]),
            (np.sum(x[same] ** 2, axis=2), squares[:, k]),
        ):
            assert_mean(plain, ours.mean(axis=0), allowance=0.01, error=ours.std(axis=0, ddof=1) / 4.0)


@pytest.mark.parametrize("V", [[1.0, 1.0], [0.5, 0.1], [0.02, 0.3]])
def test_nishimori_identities_and_no_joint_information(V):
    model = HardmaxLayers()
    signs, means, truth = draw(model, V, 2000, seed=5)
    _, z, spread, resolved = model.posterior(signs, means, V)
    assert np.mean(resolved) >= 0.99
    assert_mean(np.sum(z * truth, axis=2) - 2.0 + spread)
    assert_mean(np.sum(z[:, 0] * z[:, 1], axis=1)[:, None])
    assert_mean(
        information(model, V),
        2.0 * np.sum(z * truth, axis=2).mean(axis=0),
        error=2.0 * np.sum(z * truth, axis=2).std(axis=0, ddof=1) / np.sqrt(2000),
    )


def test_the_last_layer_is_learned_like_a_single_one_where_the_mixing_is_known():
    """c = 1000: k_2 is the number of one layer, `two_tokens.information` at q / V, and layer 1 has no information."""
    V = [0.7, 0.3]
    found = information(HardmaxLayers(1000.0), V)
    assert_mean(found, [0.0, float(two_tokens.information((1.0 - V[1]) / V[1]))], allowance=0.005)


def test_the_first_layer_gives_no_information_once_it_is_known():
    """A change sqrt(V_1) of its scores changes the output with a probability proportional to sqrt(V_1): k_1 vanishes like it."""
    assert_mean(information(HardmaxLayers(), [1e-8, 0.5])[:, 0], 0.0, allowance=0.002)


@pytest.mark.parametrize("V", [[0.0316, 0.00794], [0.119, 0.002]])
def test_outputs_of_a_probability_below_rounding_add_no_information(V):
    """c = 0, beta = 10: a few outputs are explained by no node. E |z_l|^2 is at most the prior variance of two contrasts."""
    model = HardmaxLayers(0.0, 10.0)
    nodes = gaussian_nodes(4, 128, np.random.default_rng(0), 1.0)
    found = model.averages(V, nodes).information
    assert np.all((found > 0) & (found < 4))


def test_amp_follows_state_evolution():
    """d = 40 at alpha = 0.5, three data sets of 20 iterations; the allowance is the finite size, 2/d + 2/r + d / (16 n)."""
    model, dimension = HardmaxLayers(), 40
    theory = solve(model, 0.5, 0.5, gaussian_nodes(4, 128, np.random.default_rng(6), 1.0), Solver(tolerance=1e-3)).value
    errors = []
    for seed in range(3):
        data = draw_dataset(model, Sizes(800, dimension, 20), np.random.default_rng(seed))
        errors.append(run(model, data, amp_settings(max_iterations=20, tolerance=1e-2)).error[-1])
    assert_mean(errors, theory, allowance=2 / 40 + 2 / 20 + 40 / 12800)


def test_refuses_what_makes_no_sense():
    for wrong in ({"skip": -0.1}, {"beta": 0.0}, {"skip": np.inf}):
        with pytest.raises(ValueError, match="need skip"):
            HardmaxLayers(**wrong)
