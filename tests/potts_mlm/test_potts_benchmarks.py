"""The naive peers of the benchmarks compute the same."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from attention_limits.potts_mlm.factored_attention import objective

pytestmark = pytest.mark.slow

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
benchmark = importlib.import_module("potts_mlm")


def test_naive_gradient_is_ours():
    rng = np.random.default_rng(1)
    sequences = rng.integers(0, 3, (40, 4)).astype(np.int8)
    parameters = rng.standard_normal(16 + 9)
    parameters[:16:5] = 0.0
    loss, gradient = objective(parameters, sequences, 3, "raw", 0.0)
    naive = benchmark.naive_objective(parameters[:16].reshape(4, 4), parameters[16:].reshape(3, 3).T, sequences)
    assert naive[0] == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(naive[1].ravel(), gradient[:16], atol=1e-12)
    np.testing.assert_allclose(naive[2].T.ravel(), gradient[16:], atol=1e-12)


def test_naive_sweeps_have_the_same_stationary_distribution():
    """Mean energy of 2 spins of 2 colours over 20 000 sweeps against enumeration; the autocorrelation at this beta is below 0.1,
    so that 6 standard errors of independent samples are far beyond a false-alarm rate of 1e-4."""
    potts = benchmark.Potts([[0.0, 1.0], [1.0, 0.0]], [[0.5, -0.2], [-0.2, 0.1]])
    states, probability = potts.enumerate(0.8)
    energies = potts.energy(states)
    expected = probability @ energies
    state, rng, found = np.zeros(2, dtype=int), np.random.default_rng(2), []
    for _ in range(20_000):
        benchmark.naive_sweep(potts, 0.8, state, rng)
        found.append(state.copy())
    spread = np.sqrt(probability @ (energies - expected) ** 2 / len(found))
    assert potts.energy(np.array(found)).mean() == pytest.approx(expected, abs=6 * spread)
