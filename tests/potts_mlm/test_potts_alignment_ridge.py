"""Ridge regression on an alignment: population, exact errors, and the replica theory for its spectrum."""

import numpy as np
import pytest

from attention_limits.potts_mlm.alignment_ridge import errors, population
from attention_limits.potts_mlm.replica import saddle_point


def coupled(count, sites, colors, seed):
    """Sequences in which a site copies its left neighbour with probability 0.4."""
    rng = np.random.default_rng(seed)
    states = rng.integers(0, colors, (count, sites))
    for i in range(1, sites):
        states[:, i] = np.where(rng.random(count) < 0.4, states[:, i - 1], states[:, i])
    return states.astype(np.int8), rng.uniform(0.5, 1.0, count)


def test_the_teacher_is_the_best_linear_prediction():
    """Normal equations and residual in the weighted alignment, by another solver."""
    states, weights = coupled(300, 5, 3, 1)
    found = population(states, weights, 3, 2)
    root = np.sqrt(weights / weights.sum())[:, None]
    solution = np.linalg.lstsq(root * found.inputs, root * found.outputs, rcond=1e-10)[0]
    np.testing.assert_allclose(found.teacher, solution, atol=1e-10)
    assert found.noise == pytest.approx(np.sum((root * (found.outputs - found.inputs @ solution)) ** 2), rel=1e-10)
    assert np.count_nonzero(found.spectrum.values) == 4 * 2
    # rho = theta Sigma theta of all outputs, from the spectrum.
    rho = np.sum(root**2 * (found.inputs @ solution) ** 2)
    assert found.spectrum.teacher_values @ found.spectrum.teacher_weights == pytest.approx(rho, rel=1e-10)


@pytest.mark.parametrize("samples", [5, 40])
def test_errors_are_those_of_plain_ridge_regression(samples):
    """The generalisation error as a mean over the whole alignment, for fewer and for more samples than inputs."""
    states, weights = coupled(200, 4, 3, 2)
    found, ridges = population(states, weights, 3, 0), [0.01, 1.0]
    generalization, training = errors(found, samples, ridges, np.random.default_rng(3))
    chosen = np.random.default_rng(3).choice(200, samples, p=weights / weights.sum())
    X, Y = found.inputs[chosen], found.outputs[chosen]
    for k, ridge in enumerate(ridges):
        W = np.linalg.solve(X.T @ X + ridge * 9 * np.eye(9), X.T @ Y)
        everywhere = np.sum((found.outputs - found.inputs @ W) ** 2, axis=1)
        assert generalization[k] == pytest.approx(weights @ everywhere / weights.sum(), rel=1e-9)
        assert training[k] == pytest.approx(np.mean(np.sum((Y - X @ W) ** 2, axis=1)), rel=1e-9)


def test_theory_meets_simulation():
    """60 sites of 2 colours, nearly independent: inputs of many weak components, for which the Gaussian theory holds up to terms
    of order 1 / p. Mean of 40 training sets within 5 standard errors and 3 %; false-alarm rate below 1e-5 per comparison."""
    states, weights = coupled(4000, 61, 2, 4)
    found = population(states, weights, 2, 30)
    rng = np.random.default_rng(5)
    for samples in (40, 200):
        simulated = np.array([errors(found, samples, [0.02], child)[0][0] for child in rng.spawn(40)])
        theory = float(saddle_point(found.spectrum, 0.02, samples / 120).generalization)
        error = simulated.std(ddof=1) / np.sqrt(40)
        assert simulated.mean() == pytest.approx(theory, abs=5.0 * error + 0.03 * theory)


def test_many_samples_leave_the_noise():
    states, weights = coupled(300, 5, 3, 6)
    found = population(states, weights, 3, 1)
    theory = saddle_point(found.spectrum, 1e-6, 1e6)
    assert float(theory.generalization) == pytest.approx(found.noise, rel=1e-4)
