"""Weights and statistics of alignments, and Gibbs sampling of general pair couplings against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from attention_limits.potts_mlm.potts.contacts import joint_model
from attention_limits.potts_mlm.proteins.generation import energies, generate
from attention_limits.potts_mlm.proteins.statistics import (
    agreement,
    connected_correlations,
    neighbours,
    sequence_weights,
)

pytestmark = pytest.mark.slow


def test_weights_are_inverse_counts_of_similar_sequences():
    rng = np.random.default_rng(1)
    states = rng.integers(0, 2, (30, 10)).astype(np.int8)
    for identity in (0.5, 0.7, 0.8, 1.0):
        # Counts of equal sites avoid rounding: 0.7 of 10 sites are 7.
        expected = [sum((s == other).sum() >= round(10 * identity) for other in states) for s in states]
        np.testing.assert_array_equal(neighbours(states, states, identity), expected)
        np.testing.assert_allclose(sequence_weights(states, identity), 1.0 / np.array(expected))


def test_correlations_are_those_of_the_definition():
    rng = np.random.default_rng(2)
    states, weights = rng.integers(0, 3, (20, 3)).astype(np.int8), rng.uniform(0.1, 1.0, 20)
    frequency, pairs = connected_correlations(states, weights, 3)
    share = weights / weights.sum()
    for place, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        for a, b in itertools.product(range(3), repeat=2):
            f_i, f_j = share[states[:, i] == a].sum(), share[states[:, j] == b].sum()
            f_ij = share[(states[:, i] == a) & (states[:, j] == b)].sum()
            assert pairs[place, a, b] == pytest.approx(f_ij - f_i * f_j, abs=1e-14)
            assert frequency[i, a] == pytest.approx(f_i, abs=1e-14)


def test_agreement_is_that_of_a_line():
    x = np.array([0.0, 1.0, 3.0])
    assert agreement(x, 1.0 - 0.5 * x) == pytest.approx((-1.0, -0.5))
    assert np.isnan(agreement(x, np.ones(3))).all()


def test_chains_have_the_enumerated_distribution():
    """Chi-squared of 27 states of 3 sites over 20 000 chains of 30 sweeps; false-alarm rate 1e-4, the seed is fixed."""
    rng = np.random.default_rng(3)
    couplings = 0.5 * rng.standard_normal((3, 3, 3, 3))
    couplings[range(3), range(3)] = 0.0
    fields, couplings = joint_model(0.5 * rng.standard_normal((3, 3)), couplings)
    states = np.array(list(itertools.product(range(3), repeat=3)))
    written_out = np.array(
        [
            -sum(fields[i, s[i]] for i in range(3))
            - sum(couplings[i, j, s[j], s[i]] for i, j in ((0, 1), (0, 2), (1, 2)))
            for s in states
        ]
    )
    np.testing.assert_allclose(energies(fields, couplings, states), written_out, rtol=1e-12)
    probability = np.exp(-written_out) / np.exp(-written_out).sum()
    found = generate(fields, couplings, states.astype(np.int8), 20_000, 30, rng)
    counts = np.bincount(found.states.astype(int) @ [9, 3, 1], minlength=27)
    statistic = np.sum((counts - 20_000 * probability) ** 2 / (20_000 * probability))
    assert statistic < chi2(26).isf(1e-4)
    assert found.converged


def test_chains_that_remember_their_start_are_flagged():
    """Two sites that must agree, at a strength that no chain of one sweep leaves."""
    couplings = np.zeros((2, 2, 2, 2))
    couplings[0, 1] = couplings[1, 0] = 30.0 * np.eye(2)
    fields = np.array([[0.0, 8.0], [0.0, 8.0]])
    start = np.zeros((10, 2), dtype=np.int8)
    found = generate(fields, couplings, start, 200, 1, np.random.default_rng(4))
    assert not found.converged
