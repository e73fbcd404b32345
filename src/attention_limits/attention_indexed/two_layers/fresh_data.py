"""Generalisation errors of the estimates of two layers on fresh sequences, by sampling; `generalization` defines both errors."""

import math

import numpy as np

from attention_limits.attention_indexed.amp.fresh_data import between_draws, errors_of_starts
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.model.scores import draw_sequences, scores, traceless
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
    """`amp.fresh_data.errors_of_starts` of several layers, on `count` fresh sequences of `tokens` tokens each.

    Parameters
    ----------
    output : callable
        y (..., n, M, M) of the raw scores (L, ..., n, M, M).
    teachers : array (L, d, d)
        S_l without its trace.
    estimates : array (K, L, d, d)
        Those of each start.
    sizes : sequence of int
        Numbers m <= K.
    generator : numpy.random.Generator
    """

    def scored():
        size = max(1, _TOKENS // tokens)
        for first in range(0, count, size):
            sequences = draw_sequences(min(size, count - first), tokens, teachers.shape[-1], generator)
            known, *omega = (np.stack([scores(sequences, S) for S in one]) for one in (teachers, *estimates))
            yield known, np.stack(omega)

    # The axis of the layers is the fourth from the end.
    return errors_of_starts(scored(), lambda raw: output(np.moveaxis(raw, -4, 0)), sizes, count)
