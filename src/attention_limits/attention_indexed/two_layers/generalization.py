"""Generalisation errors of two layers on a fresh sequence, from the errors V_l of both layers.

In the limit the raw scores of layer l of the teacher and of its posterior mean are jointly Gaussian on a fresh sequence, and
independent of those of the other layer: off the diagonal the covariances are 1, 1 - V_l and 1 - V_l, on it twice as large. With
f the output of both layers, as for one layer (`generalization`),

    plug-in:  E ||f(h) - f(omega)||_F^2          (the layers with the estimates S_hat_l)
    Bayes:    E ||f(h) - E[f(h) | omega]||_F^2   (the posterior mean of the output) = E ||f(h) - f(h')||_F^2 / 2,

h and h' two independent draws of the scores of both layers given omega. Derived for the model of `softmax`.
"""

import math

import numpy as np

from attention_limits.attention_indexed.channels.linear import FEWEST_NODES
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.state_evolution.generalization import posterior_pair
from attention_limits.attention_indexed.two_layers.state_evolution import Model
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

# Nodes of one scrambling.
NODES = 4096


def output_errors(model: Model, V, generator, count=NODES) -> tuple[float, float]:
    """Bayes and plug-in error at errors V (2,) of the layers, each summed over the M^2 entries of the output.

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
    """E ||f(h) - f(h')||^2; `fields` holds for each layer the raw scores h and h', (n, M, M)."""
    first, second = (model.output(*pair) for pair in zip(*fields, strict=True))
    values = np.sum((first - second) ** 2, axis=(1, 2))
    if np.any(values) and values.sum() ** 2 < FEWEST_NODES * np.sum(values**2):
        return math.nan
    return float(values.mean())
