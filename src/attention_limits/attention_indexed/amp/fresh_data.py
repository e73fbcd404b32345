"""Generalisation errors of estimates S_hat on fresh sequences, by sampling; `generalization` defines both errors."""

import math

import numpy as np

from attention_limits.attention_indexed.channels.protocol import Posterior
from attention_limits.attention_indexed.model.scores import draw_sequences, scores

# Tokens of fresh sequences at a time.
_ROWS = 2048
# Draws of the scores given omega, for each fresh sequence.
_DRAWS = 8


def fresh_errors(
    channel: Posterior, teacher: np.ndarray, estimate: np.ndarray, variance: float, count: int, generator
) -> tuple[float, float]:
    """Mean over `count` fresh sequences of the squared errors of f(omega) and of E[f(h) | omega]; NaN for an estimate with a NaN.

    Parameters
    ----------
    channel : Posterior
    teacher, estimate : array (d, d)
        S and S_hat.
    variance : float
        V of h given omega, the error that the algorithm predicts. The second error is that of the posterior mean of the output if
        V is the error of S_hat. Its estimate uses products of independent draws of h: it is unbiased, and can be negative.
    count : int
        Number of sequences, at least one.
    generator : numpy.random.Generator
    """
    if not (np.all(np.isfinite(estimate)) and np.isfinite(variance)):
        return math.nan, math.nan
    plug_in = bayes = 0.0
    for sequences, keys in _fresh(channel, teacher.shape, count, generator):
        truth, omega = channel.output(scores(sequences, teacher, keys)), scores(sequences, estimate, keys)
        plug_in += np.sum((truth - channel.output(omega)) ** 2)
        noise = channel.law.scores(generator.standard_normal((_DRAWS, *omega.shape)), variance)
        bayes += between_draws(np.stack([truth - channel.output(omega + part) for part in noise]))
    return float(plug_in / count), float(bayes / count)


def between_draws(errors: np.ndarray) -> float:
    """Mean over pairs k != l of sum e_k e_l, the squared error of the mean of infinitely many; `errors` (K, ...), K >= 2."""
    count = len(errors)
    return float((np.sum(errors.sum(axis=0) ** 2) - np.sum(errors**2)) / (count * (count - 1)))


def fresh_errors_of_starts(
    channel: Posterior, teacher: np.ndarray, estimates: np.ndarray, sizes, count: int, generator
) -> tuple[np.ndarray, float]:
    """`errors_of_starts` of a `channel` on `count` fresh sequences from the numpy.random.Generator `generator`.

    `estimates` (K, d, d) are those of the starts, `teacher` (d, d) is S, and `sizes` are numbers m <= K.
    """
    scored = (
        (scores(sequences, teacher, keys), np.stack([scores(sequences, estimate, keys) for estimate in estimates]))
        for sequences, keys in _fresh(channel, teacher.shape, count, generator)
    )
    return errors_of_starts(scored, channel.output, sizes, count)


def errors_of_starts(scored, output, sizes, count: int) -> tuple[np.ndarray, float]:
    """Errors of the means of m estimates for each m of `sizes`, array, and of the mean of infinitely many outputs.

    The first are means over `count` sequences and over the disjoint sets of m successive estimates, m <= K. The last is the mean
    product of the errors of two outputs; NaN for a single estimate. Estimates with a NaN give NaN.

    Parameters
    ----------
    scored : iterable of (array (...), array (K, ...))
        Scores of a piece of the sequences under the teacher, and under each of K estimates.
    output : callable
        Outputs of scores, which may have one more axis in front.
    """
    errors, outputs = np.zeros(len(sizes)), 0.0
    for known, omega in scored:
        truth = output(known)
        for place, size in enumerate(sizes):
            # Scores are linear in the estimate.
            sets = omega[: len(omega) // size * size].reshape(-1, size, *omega.shape[1:]).mean(axis=1)
            errors[place] += np.sum((truth - output(sets)) ** 2) / len(sets)
        outputs += between_draws(truth - output(omega)) if len(omega) > 1 else math.nan
    return errors / count, float(outputs / count)


def _fresh(channel, dimensions, count, generator):
    """`count` sequences (n, M, d) in pieces, with the keys of untied attention or None."""
    size = max(1, _ROWS // channel.tokens)
    for first in range(0, count, size):
        shape = min(size, count - first), channel.tokens
        sequences = draw_sequences(*shape, dimensions[0], generator)
        yield sequences, None if channel.law.symmetric else draw_sequences(*shape, dimensions[1], generator)
