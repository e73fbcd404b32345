"""Simulated ridge regression against the replica theory."""

import numpy as np
import pytest

from agreement import assert_mean
from attention_limits.potts_mlm.replica.simulation import draw_instance, draw_sequences, errors
from attention_limits.potts_mlm.replica.theory import Spectrum, closed_form, saddle_point

pytestmark = pytest.mark.slow


def spectrum(K):
    """The spectral measures of the covariance of all sites but the first, from a precision matrix K (L, L)."""
    column = K[1:, 0]
    values, vectors = np.linalg.eigh(K[1:, 1:] - np.outer(column, column) / K[0, 0])
    weights = np.full(len(values), 1.0 / len(values))
    return Spectrum(1.0 / values, weights, 1.0 / values, (vectors.T @ column / K[0, 0]) ** 2, 1.0 / K[0, 0])


def test_a_matrix_that_is_no_precision_matrix_is_none():
    assert draw_instance(0.5, 50, np.random.default_rng(0)) is None


def test_simulation_agrees_with_theory():
    """L = 300, 24 instances, both errors, ridge and pseudo-inverse; false-alarm rate 1e-4. Corrections of order 1/L relative to
    the value are allowed with coefficient 2 (their size near alpha = 1, where they are larger, is not tested)."""
    sites, ridges, alphas = 300, [0.0, 0.1, 1.0], [0.4, 2.5]
    counts = [round(alpha * (sites - 1)) for alpha in alphas]
    found = []
    for rng in np.random.default_rng(21).spawn(24):
        instance = draw_instance(2.5, sites, rng)
        found.append([errors(instance, draw_sequences(instance, count, rng), ridges) for count in counts])
    for i, count in enumerate(counts):
        theory = closed_form(2.5, np.array(ridges), count / (sites - 1))
        expected = np.array([theory.generalization, theory.training])
        assert_mean(np.array(found)[:, i], expected, allowance=2.0 / sites * expected)


def test_simulation_agrees_with_the_saddle_point_of_its_own_matrix():
    """One instance, 24 data sets: no ensemble average, so any covariance may be used; false-alarm rate 1e-4."""
    rng = np.random.default_rng(22)
    sites, ridge, count = 300, 0.3, 450
    instance = draw_instance(2.3, sites, rng)
    K = instance.factor.T @ instance.factor
    theory = saddle_point(spectrum(K), ridge, count / (sites - 1))
    found = np.array([errors(instance, draw_sequences(instance, count, child), [ridge]) for child in rng.spawn(24)])
    expected = np.array([[theory.generalization], [theory.training]])
    assert_mean(found, expected, allowance=2.0 / sites * expected)
