"""Generalisation errors of two layers on a fresh sequence, from the errors V_l of both layers and on data.

In the limit the raw scores of layer l of the teacher and of its posterior mean are jointly Gaussian on a fresh sequence, and
independent of those of the other layer: off the diagonal the covariances are 1, 1 - V_l and 1 - V_l, on it twice as large. With
f the output of both layers, as for one layer (`generalization`),

    plug-in:  E ||f(h) - f(omega)||_F^2          (the layers with the estimates S_hat_l)
    Bayes:    E ||f(h) - E[f(h) | omega]||_F^2   (the posterior mean of the output) = E ||f(h) - f(h')||_F^2 / 2,

h and h' two independent draws of the scores of both layers given omega. Derived for the model of `softmax`.
"""

import math

import numpy as np

from attention_limits.attention_indexed.amp.fresh_data import between_draws
from attention_limits.attention_indexed.channels.linear import FEWEST_NODES
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.model.scores import draw_sequences, scores
from attention_limits.attention_indexed.state_evolution.generalization import posterior_pair
from attention_limits.attention_indexed.two_layers.amp import traceless
from attention_limits.attention_indexed.two_layers.state_evolution import Model
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

# Nodes of one scrambling; fresh sequences at a time; draws of the scores given omega for each of them.
NODES, _ROWS, _DRAWS = 4096, 512, 8


def output_errors(model: Model, V, generator, count=NODES) -> tuple[float, float]:
    """Bayes and plug-in error at errors V (2,) of the layers, each summed over the T^2 entries of the output.

    The mean over the `count` nodes of one scrambling, from the numpy.random.Generator `generator`. NaN where fewer than 20
    effective nodes carry it.
    """
    tokens = model.tokens
    # Two independent symmetric matrices for each layer, each from a matrix of standard normal numbers.
    points = gaussian_nodes(4 * tokens**2, count, generator, widening=1.0).points
    fields = SYMMETRIC.scores(points.reshape(count, 2, 2, tokens, tokens), 1.0)
    draws, plug_in = [], []
    for layer, variance in enumerate(V):
        s, t = fields[:, 0, layer], fields[:, 1, layer]
        draws.append([row[0] * s + row[1] * t for row in posterior_pair(1.0, variance)])
        mean = math.sqrt(1.0 - variance) * s
        plug_in.append([mean + math.sqrt(variance) * t, mean])
    return 0.5 * _distance(model, draws), _distance(model, plug_in)


def _distance(model, fields):
    """E ||f(h) - f(h')||^2; `fields` holds for each layer the raw scores h and h', (n, T, T)."""
    first, second = (model.output(*pair) for pair in zip(*fields, strict=True))
    values = np.sum((first - second) ** 2, axis=(1, 2))
    if np.any(values) and values.sum() ** 2 < FEWEST_NODES * np.sum(values**2):
        return math.nan
    return float(values.mean())


def fresh_errors(model: Model, teachers, estimates, V, count: int, generator) -> tuple[float, float]:
    """Mean over `count` >= 1 fresh sequences of the squared errors of f(omega) and of E[f(h) | omega]; NaN for a NaN.

    Parameters
    ----------
    model : two_layers_evolution.Model
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
