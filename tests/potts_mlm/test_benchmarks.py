"""The naive peers of the benchmarks compute the same."""

import importlib

import numpy as np
import pytest

from attention_limits.potts_mlm.attention.factored import objective
from attention_limits.potts_mlm.attention.pair import objective as pair_objective
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape
from attention_limits.potts_mlm.potts.gibbs import BLOCKS, Ladder, hamming_distance
from attention_limits.potts_mlm.potts.model import Potts
from toycodes import potts_mlm as toy

pytestmark = pytest.mark.slow

benchmark, peers = importlib.import_module("potts_mlm"), importlib.import_module("naive_potts_mlm")


def test_naive_gradient_is_ours():
    rng = np.random.default_rng(1)
    sequences = rng.integers(0, 3, (40, 4)).astype(np.int8)
    parameters = rng.standard_normal(16 + 9)
    parameters[:16:5] = 0.0
    loss, gradient = objective(parameters, sequences, 3, "raw", 0.0)
    naive = toy.objective(parameters[:16].reshape(4, 4), parameters[16:].reshape(3, 3).T, sequences)
    assert naive[0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(naive[1].ravel(), gradient[:16], atol=1e-12)
    np.testing.assert_allclose(naive[2].T.ravel(), gradient[16:], atol=1e-12)


def test_the_matrix_products_are_those_of_the_pseudo_likelihood():
    """Softmax between the two products gives our loss and gradient."""
    rng = np.random.default_rng(3)
    sequences, shape = rng.integers(0, 3, (40, 4)).astype(np.int8), Shape(4, 3, 0, full=True)
    parameters = rng.standard_normal(shape.size)
    fields, couplings = shape.split(parameters)
    couplings[range(4), range(4)] = 0.0
    inputs = benchmark.one_hot(sequences, 3)
    matrix = couplings.transpose(1, 2, 0, 3).reshape(12, 12)
    logits = (benchmark.one_hot_products(inputs, matrix, inputs)[0]).reshape(40, 4, 3) + fields
    probability = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    residual = (probability - inputs.reshape(40, 4, 3)).reshape(40, 12) / 160
    product = benchmark.one_hot_products(inputs, matrix, residual)[1].reshape(4, 3, 4, 3).transpose(0, 2, 3, 1)
    loss, gradient = pair_objective(parameters, shape, sequences, np.ones(40), Ridge())
    assert loss == pytest.approx(-np.mean(np.log(probability.reshape(40, 12)[inputs == 1.0])), rel=1e-12)
    product[range(4), range(4)] = 0.0
    np.testing.assert_allclose(shape.split(gradient)[1], product, atol=1e-13)


def _naive(potts, beta, state, rng):
    toy.sweep(potts.J, potts.U, beta, state, rng)


def _incremental(potts, beta, state, rng):
    peers.incremental_sweeps(rng, potts.J, potts.U, beta, state[0], potts.fields(state)[0], 1)


def _adabmdca(potts, beta, state, rng):
    couplings = np.einsum("ij,ab->iajb", potts.J, potts.U).astype(np.float32)
    onehot = np.eye(2, dtype=np.float32)[state]
    peers.adabmdca_sweep(couplings, beta, onehot, rng)
    state[:] = onehot.argmax(axis=2)


@pytest.mark.parametrize("sweep", [_naive, _incremental, _adabmdca])
def test_sweeps_of_the_peers_have_the_same_stationary_distribution(sweep):
    """Mean energy of 2 spins of 2 colours over 10 000 sweeps against enumeration; the autocorrelation at this beta is below 0.1,
    so that 6 standard errors of independent samples are far beyond a false-alarm rate of 1e-4."""
    potts = Potts([[0.0, 1.0], [1.0, 0.0]], [[0.5, -0.2], [-0.2, 0.1]])
    states, probability = potts.enumerate(0.8)
    energies = potts.energy(states)
    expected = probability @ energies
    state, rng, found = np.zeros((1, 2), dtype=np.int64), np.random.default_rng(2), []
    for _ in range(10_000):
        sweep(potts, 0.8, state, rng)
        found.append(state[0].copy())
    spread = np.sqrt(probability @ (energies - expected) ** 2 / len(found))
    assert potts.energy(np.array(found)).mean() == pytest.approx(expected, abs=6 * spread)


def _means(states, energies):
    """Mean energy and Hamming distance of a run, and their errors over blocks: two arrays (2,)."""
    blocks = [block.mean() for block in np.array_split(energies, BLOCKS)]
    distance, error = hamming_distance(states, benchmark.COLORS)
    return np.array([energies.mean(), distance]), np.array([np.std(blocks, ddof=1) / np.sqrt(BLOCKS), error])


def test_sampler_has_the_energy_and_the_distance_of_the_incremental_sampler():
    """At C = L = 20 and β = 0.3, where single chains forget quickly: replicas side by side in single precision against one
    replica with the fields of all sites in double precision.

    5 standard errors of 40 blocks, Student's t: a false alarm in 1e5 seeds.
    """
    potts, beta, gap, count = benchmark.model(), 0.3, 20, 3000
    ladder = Ladder(potts, [beta], np.random.default_rng(4), runs=2)
    ladder.sample(100, gap)
    ours = ladder.sample(count, gap)[0]
    rng, state, kept = np.random.default_rng(5), np.zeros(benchmark.SITES, dtype=np.int64), []
    fields = potts.fields(state[None])[0]
    for _ in range(100 + count):
        peers.incremental_sweeps(rng, potts.J, potts.U, beta, state, fields, gap)
        kept.append(state.copy())
    theirs = np.array(kept[100:]).astype(np.int8)
    means, errors = zip(
        _means(ours.states[:, 0], ours.energies[:, 0]), _means(theirs, potts.energy(theirs)), strict=True
    )
    assert np.all(np.abs(means[0] - means[1]) <= 5.0 * np.hypot(*errors)), (means, errors)
    # The comparison is sharp: one part in a hundred.
    assert np.all(np.hypot(*errors) < 0.02 * np.abs(means[0]))
