"""Generalisation errors of the estimates of two layers on fresh sequences, by sampling; `generalization` defines both errors."""

import math

import numpy as np

from attention_limits.attention_indexed.amp.fresh_data import between_draws
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.model.scores import draw_sequences, scores
from attention_limits.attention_indexed.two_layers.amp import traceless
from attention_limits.attention_indexed.two_layers.state_evolution import Model

# Fresh sequences at a time; draws of the scores given omega for each of them.
_ROWS, _DRAWS = 512, 8
# Tokens at a time, of many estimates.
_TOKENS = 2048


def fresh_errors(model: Model, teachers, estimates, V, count: int, generator) -> tuple[float, float]:
    """Mean over `count` >= 1 fresh sequences of the squared errors of f(omega) and of E[f(h) | omega]; NaN for a NaN.

    Parameters
    ----------
    model : state_evolution.Model
    teachers, estimates : array (2, d, d)
        S_l and S_hat_l.
    V : array (2,)
        Variance of the raw scores of each layer given omega, the error that the algorithm predicts.
    generator : numpy.random.Generator
    """
    if not (np.all(np.isfinite(estimates)) and np.all(np.isfinite(V))):
        return math.nan, math.nan
    plug_in = bayes = 0.0
    for start in range(0, count, _ROWS):
        sequences = draw_sequences(min(_ROWS, count - start), model.tokens, teachers.shape[1], generator)
        truth, omega = ([scores(sequences, traceless(S)) for S in both] for both in (teachers, estimates))
        output = model.output(*truth)
        plug_in += np.sum((output - model.output(*omega)) ** 2)
        errors = []
        for _ in range(_DRAWS):
            noise = [SYMMETRIC.scores(generator.standard_normal(h.shape), v) for h, v in zip(omega, V, strict=True)]
            errors.append(output - model.output(*(h + part for h, part in zip(omega, noise, strict=True))))
        bayes += between_draws(np.stack(errors))
    return float(plug_in / count), float(bayes / count)


def fresh_errors_of_starts(output, teachers, estimates, sizes, count: int, tokens: int, generator):
    """Errors of the means of m estimates for each m of `sizes`, array, and of the mean of infinitely many outputs.

    As `amp.fresh_data.fresh_errors_of_starts`, for several layers.

    Parameters
    ----------
    output : callable
        y (n, T, T) of the raw scores (L, n, T, T).
    teachers : array (L, d, d)
        S_l.
    estimates : array (K, L, d, d)
        Of each start; NaN in one gives NaN.
    sizes : sequence of int
        From 1 to K; means are over disjoint sets of m successive starts.
    count, tokens : int
        Number of fresh sequences, and T.
    generator : numpy.random.Generator
    """
    errors, outputs, size = np.zeros(len(sizes)), 0.0, max(1, _TOKENS // tokens)
    for first in range(0, count, size):
        sequences = draw_sequences(min(size, count - first), tokens, teachers.shape[-1], generator)
        # (K, L, n, T, T); the raw scores are linear in the estimates.
        truth, *omega = (np.stack([scores(sequences, traceless(S)) for S in one]) for one in (teachers, *estimates))
        wanted, omega = output(truth), np.stack(omega)
        for place, most in enumerate(sizes):
            sets = omega[: len(omega) // most * most].reshape(-1, most, *truth.shape).mean(axis=1)
            errors[place] += sum(np.sum((wanted - output(one)) ** 2) for one in sets) / len(sets)
        outputs += between_draws(np.stack([wanted - output(one) for one in omega])) if len(omega) > 1 else math.nan
    return errors / count, float(outputs / count)
