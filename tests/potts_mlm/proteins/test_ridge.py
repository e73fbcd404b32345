"""Ridge regression on an alignment: population, exact errors, and the replica theory for its spectrum."""

import numpy as np
import pytest

from attention_limits.potts_mlm.proteins.gaussian_population import GaussianSequences
from attention_limits.potts_mlm.proteins.ridge import draw_distinct, errors, largest_training_set, population
from attention_limits.potts_mlm.replica.theory import saddle_point


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


def test_a_training_set_holds_distinct_sequences_in_proportion_to_their_weights():
    """Every draw is distinct, also the largest; in 4000 draws the count of a sequence is binomial with the probability M p_n, so
    none of 50 deviates by 5 standard deviations (false-alarm rate 3e-5). One more than the largest is refused."""
    weights = np.random.default_rng(0).uniform(0.2, 1.0, 50)
    probabilities = weights / weights.sum()
    most = largest_training_set(probabilities)
    assert most == int(weights.sum() / weights.max())
    rng = np.random.default_rng(1)
    for samples in (1, 10, most):
        counts = np.zeros(50)
        for _ in range(4000):
            chosen = draw_distinct(probabilities, samples, rng)
            assert len(np.unique(chosen)) == len(chosen) == samples
            counts[chosen] += 1
        expected = samples * probabilities
        assert np.all(np.abs(counts / 4000 - expected) <= 5.0 * np.sqrt(expected * (1.0 - expected) / 4000) + 1e-12)
    with pytest.raises(ValueError, match=f"allowed: at most {most}"):
        draw_distinct(probabilities, most + 1, rng)


def test_with_equal_weights_the_largest_training_set_is_the_population():
    probabilities = np.full(30, 1.0 / 30.0)
    assert largest_training_set(probabilities) == 30
    assert sorted(draw_distinct(probabilities, 30, np.random.default_rng(0))) == list(range(30))


@pytest.mark.parametrize("samples", [5, 40])
def test_errors_are_those_of_plain_ridge_regression(samples):
    """The generalisation error as a mean over the whole alignment, for fewer and for more samples than inputs."""
    states, weights = coupled(200, 4, 3, 2)
    found, ridges = population(states, weights, 3, 0), [1e-9, 0.01, 1.0]
    chosen = draw_distinct(found.probabilities, samples, np.random.default_rng(3))
    X, Y = found.inputs[chosen], found.outputs[chosen]
    generalization, training = errors(found, X, Y, ridges)
    for k, ridge in enumerate(ridges):
        # By singular values, which do not square the condition; ours may lose 2e-16 |X|^2 / (9 ridge), here below 1e-5.
        left, values, right = np.linalg.svd(X, full_matrices=False)
        W = right.T @ ((values / (values**2 + ridge * 9))[:, None] * (left.T @ Y))
        close = 1e-4 if ridge == 1e-9 else 1e-9
        everywhere = np.sum((found.outputs - found.inputs @ W) ** 2, axis=1)
        assert generalization[k] == pytest.approx(weights @ everywhere / weights.sum(), rel=close)
        assert training[k] == pytest.approx(np.mean(np.sum((Y - X @ W) ** 2, axis=1)), rel=close)


def test_theory_meets_gaussian_sequences():
    """60 sites of 2 colours: the theory holds for Gaussian sequences of this covariance up to terms of order 1 / p. Mean of 40
    training sets within 5 standard errors and 1 %; false-alarm rate below 1e-5 per comparison."""
    states, weights = coupled(4000, 61, 2, 4)
    found = population(states, weights, 2, 30)
    gaussian, rng = GaussianSequences(found), np.random.default_rng(5)
    for samples in (40, 200):
        drawn = (gaussian.draw(samples, child) for child in rng.spawn(40))
        simulated = np.array([errors(found, *pair, [0.02])[0][0] for pair in drawn])
        theory = float(saddle_point(found.spectrum, 0.02, samples / 120).generalization)
        error = simulated.std(ddof=1) / np.sqrt(40)
        assert simulated.mean() == pytest.approx(theory, abs=5.0 * error + 0.01 * theory)


def test_a_finite_gaussian_population_has_the_moments_of_the_alignment():
    """Means, covariance, teacher and noise, exactly: with them its errors are those of the population."""
    states, weights = coupled(60, 5, 3, 7)
    found = population(states, weights, 3, 1)
    X, Y = GaussianSequences(found).finite(np.random.default_rng(8))
    share = found.probabilities[:, None]
    np.testing.assert_allclose((share * X).sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose((share * X).T @ X, found.covariance, atol=1e-12)
    np.testing.assert_allclose((share * X).T @ Y, (share * found.inputs).T @ found.outputs, atol=1e-12)
    np.testing.assert_allclose((share * Y).T @ Y, (share * found.outputs).T @ found.outputs, atol=1e-12)


def test_many_samples_leave_the_noise():
    states, weights = coupled(300, 5, 3, 6)
    found = population(states, weights, 3, 1)
    theory = saddle_point(found.spectrum, 1e-6, 1e6)
    assert float(theory.generalization) == pytest.approx(found.noise, rel=1e-4)
