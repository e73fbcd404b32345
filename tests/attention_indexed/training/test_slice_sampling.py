"""Elliptical slice sampling of small hardmax layers."""

import numpy as np
import pytest

from attention_limits.attention_indexed.model.scores import attention_matrix, draw_sequences, scores
from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.training.slice_sampling import sample_posterior
from attention_limits.attention_indexed.training.slice_sampling_kernels import agrees, chain, elliptical_step, margins

pytestmark = pytest.mark.slow


def layer(seed, count=3, tokens=3, dimension=5, rank=2):
    generator = np.random.default_rng(seed)
    weights = generator.standard_normal((dimension, rank))
    sequences = draw_sequences(count, tokens, dimension, generator)
    best = np.argmax(scores(sequences, attention_matrix(weights)), axis=2)
    return generator, weights, sequences, best


def turned(fields):
    """Fields (n, M, r) as (r, M, n)."""
    return np.ascontiguousarray(fields.transpose(2, 1, 0))


def test_margins_are_those_of_the_scores():
    """Entry by entry, in any order of the other entries of a row."""
    generator, weights, sequences, best = layer(3, count=4)
    other = generator.standard_normal(weights.shape)
    first, second = (turned(sequences @ weights), weights), (turned(sequences @ other), other)
    found = margins(first, second, best.T.copy())
    for sample in range(4):
        a = (sequences[sample] @ weights) @ (sequences[sample] @ other).T - np.eye(3) * np.sum(weights * other)
        both = a + a.T
        for row in range(3):
            top = both[row, best[sample, row]]
            expected = sorted(top - np.delete(both[row], best[sample, row]))
            np.testing.assert_allclose(sorted(found[2 * row : 2 * row + 2, sample]), expected, atol=1e-12)


def test_verdicts_along_the_ellipse_are_those_of_the_mixed_weights():
    generator, weights, sequences, best = layer(0)
    other, places = generator.standard_normal(weights.shape), best.T.copy()
    here, there = (turned(sequences @ weights), weights), (turned(sequences @ other), other)
    parts = margins(here, here, places), margins(here, there, places), margins(there, there, places)
    verdicts = set()
    for theta in np.linspace(0.0, 2.0 * np.pi, 30):
        c, s = np.cos(theta), np.sin(theta)
        h = scores(sequences, attention_matrix(c * weights + s * other))
        verdict = agrees(*parts, c, s)
        assert verdict == bool(np.all(np.argmax(h, axis=2) == best))
        verdicts.add(verdict)
    assert verdicts == {True, False}


def test_a_step_keeps_the_outputs_and_the_margins():
    generator, weights, sequences, best = layer(1, count=6)
    start, fields, places = weights.copy(), turned(sequences @ weights), best.T.copy()
    old = margins((fields, weights), (fields, weights), places)
    flat = sequences.transpose(2, 1, 0).reshape(sequences.shape[2], -1).copy()
    for _ in range(50):
        proposal = generator.standard_normal(weights.shape)
        elliptical_step(flat, places, weights, fields, old, proposal, generator)
        np.testing.assert_allclose(fields, turned(sequences @ weights), atol=1e-10)
        np.testing.assert_allclose(old, margins((fields, weights), (fields, weights), places), atol=1e-10)
        assert np.array_equal(np.argmax(scores(sequences, attention_matrix(weights)), axis=2), best)
    assert np.max(np.abs(weights - start)) > 0.1


def test_the_mean_is_that_of_accepted_draws_of_the_prior():
    """Rejection: weights of the prior with the same outputs have the same mean of W W^T, entry by entry. Ten errors, at most six
    standard errors with a chain of 60000 steps counted as 600 independent ones: false-alarm rate 2e-8."""
    generator, weights, sequences, best = layer(2, count=2, tokens=2, dimension=4, rank=2)
    draws = generator.standard_normal((60_000, 4, 2))
    matrices = draws @ draws.transpose(0, 2, 1)
    h = np.einsum("nai,kij,nbj->knab", sequences, matrices, sequences)
    trace = np.trace(matrices, axis1=1, axis2=2)
    h[:, :, [0, 1], [0, 1]] -= trace[:, None, None]
    kept = matrices[np.all(np.argmax(h, axis=3) == best, axis=(1, 2))]
    assert len(kept) > 500
    found = chain(sequences, best, weights, 100, 60_000, 10, generator, np.empty(6000))
    error = kept.std(axis=0) * np.sqrt(1.0 / len(kept) + 1.0 / 600)
    assert np.all(np.abs(found - kept.mean(axis=0)) < 6.0 * error)


def test_variance_and_error_of_the_mean_agree():
    """Both have the expectation of the Bayes-optimal error. Means over 40 data sets; the difference within five standard errors:
    false-alarm rate 1e-5 (Student's t)."""
    found = []
    for seed in range(40):
        generators = [np.random.default_rng([seed, part]) for part in range(3)]
        found.append(sample_posterior(Sizes(5, 4, 2), 2, 300, 3000, 10, generators[0], generators[1:]))
    difference = np.array([one.variance - one.error for one in found])
    assert abs(difference.mean()) < 5.0 * difference.std() / np.sqrt(40)
    assert 0.4 < np.mean([one.variance for one in found]) < 1.2
    assert np.median([one.r_hat for one in found]) < 1.1


def test_bad_numbers_of_steps_are_named():
    with pytest.raises(ValueError, match="multiple of record_every"):
        sample_posterior(Sizes(5, 4, 2), 2, 0, 30, 20, np.random.default_rng(0), ())
