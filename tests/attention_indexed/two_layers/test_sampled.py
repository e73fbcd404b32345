"""Softmax layers with a sampled posterior: model, channel, limits, and the lattice of two tokens.

Stochastic comparisons are t-tests of `agreement`, false-alarm rate 1e-4 each. The seeds of a `SampledLayers` are independent
nodes of its posterior, so replicas over seeds spread like the error of the nodes.
"""

import numpy as np
import pytest
from aim_tools import amp_settings

from agreement import assert_mean
from attention_limits.attention_indexed.model.scores import attention
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.two_layers.amp import draw_dataset, run
from attention_limits.attention_indexed.two_layers.contrasts import basis, contrasts, matrices
from attention_limits.attention_indexed.two_layers.sampled import SampledLayers
from attention_limits.attention_indexed.two_layers.sampled_fields_kernels import (
    SINGULAR,
    Given,
    Network,
    empty_space,
    energy,
)
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.simd.float64_lanes import WIDTH, store

pytestmark = pytest.mark.slow


def draw(model, V, count, seed):
    """(outputs, prior means, deviations in prior standard deviations) as in the state evolution."""
    rng, V = np.random.default_rng(seed), np.asarray(V)[:, None]
    shape = (count, model.layers, model.size)
    means, truth = np.sqrt(1.0 - V) * rng.standard_normal(shape), rng.standard_normal(shape)
    fields = matrices(means + np.sqrt(V) * truth, model.tokens)
    return model.observed(*np.moveaxis(fields, 1, 0)), means, truth


def information(tokens, V, skip=1.0, layers=2, replicas=6, count=128):
    """k_l of independent nodes, inside and outside of the posterior; (replicas, L)."""
    models = [SampledLayers(tokens, skip, layers=layers, seed=seed) for seed in range(replicas)]
    nodes = [gaussian_nodes(one.node_dimension, count, np.random.default_rng(k), 1.0) for k, one in enumerate(models)]
    return np.array([one.averages(V, points).information for one, points in zip(models, nodes, strict=True)])


@pytest.mark.parametrize("tokens", [2, 3, 4])
def test_contrasts_are_the_coordinates_that_a_constant_does_not_change(tokens):
    E = basis(tokens)
    np.testing.assert_allclose(np.einsum("kab,lab->kl", E, E), np.eye(tokens * (tokens + 1) // 2 - 1), atol=1e-14)
    np.testing.assert_allclose(E.sum(axis=(1, 2)), 0.0, atol=1e-14)
    h = np.random.default_rng(0).standard_normal((5, tokens, tokens))
    h += h.transpose(0, 2, 1)
    r = contrasts(h)
    np.testing.assert_allclose(contrasts(h + 3.0), r, atol=1e-13)
    np.testing.assert_allclose(matrices(r, tokens) + h.mean(axis=(1, 2), keepdims=True), h, atol=1e-13)


@pytest.mark.parametrize(("tokens", "layers"), [(2, 2), (3, 2), (3, 3)])
def test_outputs_determine_the_scores_of_the_last_layer_up_to_a_constant(tokens, layers):
    """Against a loop over the sequences, in which every layer reads the tokens of the one before."""
    model, rng = SampledLayers(tokens, 1.3, 0.7, layers), np.random.default_rng(1)
    fields = matrices(rng.standard_normal((layers, 4, model.size)), tokens)
    a = model.observed(*fields)
    for k in range(4):
        tokens_read = np.eye(tokens)
        for raw in fields[:, k]:
            h = tokens_read @ raw @ tokens_read.T
            weights = np.exp(0.7 * h) / np.exp(0.7 * h).sum(axis=1, keepdims=True)
            tokens_read = tokens_read * 1.3 + weights @ tokens_read
        np.testing.assert_allclose(contrasts(a[k]), contrasts(h), atol=1e-10)


@pytest.mark.parametrize("skip", [1.0, 1.7])
@pytest.mark.parametrize(("tokens", "layers"), [(2, 2), (3, 2), (4, 2), (3, 3)])
def test_energies_of_lanes_are_those_of_plain_matrices(tokens, layers, skip):
    """Energy and y of eight deviations at once, against inverse and determinant of numpy; one of them has a singular matrix."""
    rng, network = np.random.default_rng(3), Network(basis(tokens), layers, skip, 1.3)
    size, V = network.basis.shape[0], np.array([0.8, 0.3, 0.5])[:layers]
    x = rng.standard_normal(((layers - 1) * size, WIDTH))
    # The first two tokens attend to each other alone: with c = 1 two rows of c I + softmax are equal.
    exchange = np.zeros((tokens, tokens))
    exchange[0, 1] = exchange[1, 0] = 1e3
    x[:size, 5] = contrasts(exchange)
    given = Given(matrices(rng.standard_normal(size), tokens), 0.5 * rng.standard_normal((layers, size)), np.sqrt(V))
    given.means[0] = 0.0
    y, found = np.empty((size, WIDTH)), np.empty((1, WIDTH))
    _stored_energy(x, given, network, empty_space(tokens), y, found)
    for lane in range(WIDTH):
        fields = matrices(given.means[:-1] + given.roots[:-1, None] * x[:, lane].reshape(layers - 1, size), tokens)
        mixing = np.eye(tokens)
        for raw in fields:
            mixing = (attention(mixing @ raw @ mixing.T, 1.3) + skip * np.eye(tokens)) @ mixing
        det = np.linalg.det(mixing)
        if det < SINGULAR:
            assert lane == 5
            assert skip == 1.0
            assert found[0, lane] == np.inf
            assert np.all(y[:, lane] == 0.0)
            continue
        back = np.linalg.inv(mixing)
        expected = (contrasts(back @ given.output @ back.T) - given.means[-1]) / given.roots[-1]
        np.testing.assert_allclose(y[:, lane], expected, rtol=1e-9, atol=1e-9)
        total = (tokens + 1) * np.log(det) + 0.5 * np.sum(x[:, lane] ** 2) + 0.5 * np.sum(expected**2)
        np.testing.assert_allclose(found[0, lane], total, rtol=1e-9)
    assert np.isinf(found[0, 5]) == (skip == 1.0)


@njit(cache=False)
def _stored_energy(x, given, network, space, y, found):
    store(found, 0, energy(x, given, network, space, y))


@pytest.mark.parametrize("V", [[1.0, 1.0], [0.7, 0.2], [0.02, 0.5], [1e-3, 1e-3]])
def test_sampled_moments_of_two_tokens_are_those_of_the_lattice(V):
    """40 outputs, 8 sets of nodes: slopes G_l, variances and log Z agree in the mean over sets, output by output.

    A mean of weighted nodes has a bias of the order of its variance, 1 / effective nodes of the posterior variance: at most 1/128
    of a posterior standard deviation for the means, and twice that for variances and log Z.
    """
    lattice, sampled = TwoLayers(), [SampledLayers(2, seed=seed) for seed in range(8)]
    a, means, _ = draw(sampled[0], V, 40, seed=2)
    # In the contrasts of the lattice; log Z is a density in other units.
    prior = np.stack([lattice.contrasts(matrices(means[:, layer], 2)) for layer in range(2)], axis=1)
    log_z, z, spread, resolved = lattice.posterior(lattice.contrasts(a), prior, V)
    assert np.all(resolved)
    found = [one.posterior(a, means, V) for one in sampled]
    kept = np.all([one[3] for one in found], axis=0)
    assert kept.mean() >= 0.9
    G = lattice.slopes(z, np.asarray(V))
    unit = 2.0 * np.sqrt(np.asarray(V))[:, None, None]
    assert_mean(
        [((one.slopes(two[1], V) - G) * unit)[kept] for one, two in zip(sampled, found, strict=True)], 0.0, 0.03
    )
    assert_mean([(two[2] - spread)[kept] for two in found], 0.0, 0.06)
    assert_mean([(two[0] - log_z - 0.5 * np.log(32.0))[kept] for two in found], 0.0, 0.06)


def test_sampled_information_of_two_tokens_is_that_of_the_lattice():
    V = [0.7, 0.2]
    lattice = [
        TwoLayers().averages(V, gaussian_nodes(8, 256, np.random.default_rng(50 + k))).information for k in range(8)
    ]
    error = np.std(lattice, axis=0, ddof=1) / np.sqrt(8)
    assert_mean(information(2, V, replicas=8), np.mean(lattice, axis=0), error=error)


@pytest.mark.parametrize(("tokens", "V"), [(3, [1.0, 1.0]), (3, [0.5, 0.1]), (3, [0.01, 0.01]), (4, [0.8, 0.8])])
def test_nishimori_identities_of_the_sampled_posterior(tokens, V):
    """E z_l . z'_l = E z_l . truth, E of the squares = D, E tr G_1 G_2 = 0, over six sets of nodes with 100 outputs each; nearly
    all outputs are resolved. The allowance is the bias of a mean of weighted nodes, 1 / 50 for at least 50 effective nodes."""
    differences, squares, joint = [], [], []
    for seed in range(6):
        model = SampledLayers(tokens, seed=seed)
        a, means, truth = draw(model, V, 100, seed)
        _, mean, square, effective = model.estimates(a, means, V)
        assert np.mean(effective.min(axis=0) >= 20) >= 0.95
        power, overlap = np.sum(mean[0] * mean[1], axis=2), np.sum(mean.mean(axis=0) * truth, axis=2)
        differences.append((power - overlap).mean(axis=0))
        squares.append(square.mean(axis=(0, 1)))
        joint.append(np.sum(mean[0][:, 0] * mean[1][:, 1], axis=1).mean(keepdims=True))
    assert_mean(differences)
    assert_mean(squares, model.size, allowance=model.size / 50.0)
    assert_mean(joint)


@pytest.mark.parametrize("tokens", [3, 4])
def test_an_output_gives_as_many_equations_as_contrasts(tokens):
    """sum_l k_l -> 2 D at V = 1e-6."""
    assert_mean(information(tokens, [1e-6, 1e-6], count=64).sum(axis=1), tokens * (tokens + 1) - 2.0, allowance=0.02)


@pytest.mark.parametrize(("V", "skip"), [([1e-9, 0.5], 1.0), ([0.7, 0.5], 1000.0)])
def test_the_last_layer_is_learned_like_a_single_one_where_the_mixing_is_known(V, skip):
    """Known because layer 1 is, or because the skip connection outweighs it: k_2 = M^2 + M - 2 of one layer of three tokens."""
    assert_mean(information(3, V, skip, count=64), [0.0, 10.0], allowance=0.02)


def test_three_layers_have_correlated_gradients_of_the_first_two():
    """Without data (V = 1), over 1500 outputs of two tokens. The last layer is uncorrelated with both; layers 1 and 2 are not, so
    the state evolution with one noise for each layer does not hold for three layers."""
    model, V = SampledLayers(2, layers=3), np.ones(3)
    a, means, _ = draw(model, V, 1500, seed=4)
    _, mean, _, effective = model.estimates(a, means, V)
    assert np.mean(effective.min(axis=0) >= 20) >= 0.95
    product = 0.5 * (np.einsum("nlk,nmk->nlm", mean[0], mean[1]) + np.einsum("nlk,nmk->nlm", mean[1], mean[0]))
    assert_mean(product[:, [0, 1], [2, 2]])
    with pytest.raises(AssertionError):
        assert_mean(product[:, 0, 1][:, None])


def test_amp_is_that_of_the_lattice():
    """Two tokens, d = 40, the same data: after 12 iterations the errors of both posteriors differ by less than 2 / d."""
    size = Sizes(320, 40, 20)
    runs = []
    for model in (TwoLayers(), SampledLayers(2)):
        data = draw_dataset(model, size, np.random.default_rng(5))
        runs.append(run(model, data, amp_settings(max_iterations=12, tolerance=0.0)))
    np.testing.assert_allclose(runs[1].error, runs[0].error, atol=2 / 40)
    np.testing.assert_allclose(runs[1].variance, runs[0].variance, atol=2 / 40)
    assert runs[1].resolved >= 0.95


def test_refuses_what_makes_no_sense():
    for wrong in ({"tokens": 1}, {"tokens": 3, "skip": 0.9}, {"tokens": 3, "beta": 0.0}, {"tokens": 3, "layers": 1}):
        with pytest.raises(ValueError, match="need tokens"):
            SampledLayers(**wrong)
