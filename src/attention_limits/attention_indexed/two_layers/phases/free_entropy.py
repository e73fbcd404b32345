"""Free entropy of two layers, per d^2 in nats: which of two fixed points is Bayes-optimal.

With the noise D_l of layer l, V_l = mmse(D_l), and i(1/D) the mutual information of S and S + sqrt(D) Z per d^2,

    F(V) = alpha E log P(y | omega) - sum_l [i(1 / D_l) - V_l / (4 D_l)],

omega the prior means and V_l the variances of the raw scores of layer l. The heat equation of P(y | omega) and the I-MMSE
relation (Guo, Shamai, Verdu 2005), for the d^2 / 2 entries of a symmetric matrix, give

    d E log P / d V_l = -k_l / (4 V_l),    d i(q_hat) / d q_hat = mmse(1 / q_hat) / 4,

    dF / dV_l = (1 / D_l - alpha k_l / V_l) / 4.

F is stationary at a fixed point of the state evolution, and has a maximum at a stable one. The posterior mean has the errors of
the maximum with the largest F. The difference of F between two points is an integral along any path, here straight in log V:

    F(V') - F(V) = alpha A - B,    A = -(1/4) int sum_l k_l d log V_l,    B = -(1/4) sum_l int dV_l / D_l.

Derived for the model of `two_tokens.softmax`; checked against E log P itself and along other paths.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

from attention_limits.attention_indexed.priors.denoisers.wishart import mmse
from attention_limits.numerics.solvers.roots import root_between

# Gauss-Legendre nodes of a panel of the path, and its largest length in log V; the same in log D.
_NODES, _LENGTH = 8, 2.0
_PRIOR_NODES, _PRIOR_LENGTH = 8, 0.25
# Nearer to one, an error is that of the prior to rounding.
_NOTHING = 1.0 - 1e-9


def noise_at(ratio: float, V):
    """D (...) with mmse(D) = V, for 0 < V < 1 (...) at the width `ratio`. Raises ValueError outside of this range."""
    V = np.asarray(V, dtype=float)
    if not np.all((V > 0) & (V < 1)):
        raise ValueError(f"need 0 < V < 1, got {V[~((V > 0) & (V < 1))].flat[0]}")
    # The best linear estimate has the error D / (1 + D). Of small width, D is larger by 1 / rho at most.
    low = np.log(V) - np.log1p(-V)
    high = low + math.log1p(1.0 / ratio)
    return np.exp(root_between(lambda x, wanted: mmse(ratio, np.exp(x)) - wanted, low - 1e-6, high + 1e-6, V))


def difference(information: Callable, ratio: float, alpha: float, first, last) -> float:
    """F(`last`) - F(`first`), of errors V (2,) between 0 and 1.

    Parameters
    ----------
    information : callable
        k (2,) at errors V (2,).
    ratio, alpha : float
        rho, and n / d^2.
    """
    noise = noise_at(ratio, np.minimum([first, last], _NOTHING))
    return alpha * gain(information, first, last) - sum(cost(ratio, *noise[:, layer]) for layer in range(2))


def gain(information: Callable, *points) -> float:
    """A, the change of E log P(y | omega), along the path through `points` V (2,), straight in log V.

    `information` gives k (2,) at V (2,).
    """
    logs = np.log(np.asarray(points, dtype=float))
    return sum(_gain_of_line(information, *ends) for ends in itertools.pairwise(logs))


def _gain_of_line(information, first, last):
    step = last - first
    places, weights = _panels(0.0, 1.0, max(1, math.ceil(np.max(np.abs(step)) / _LENGTH)), _NODES)
    values = np.array([information(np.exp(first + place * step)) for place in places])
    return -0.25 * float(weights @ values @ step)


def cost(ratio: float, first: float, last: float) -> float:
    """B of one layer of the width `ratio`, the change of i - V / (4 D), from the noise D = `first` to `last`.

    By parts, an integral in log D.
    """
    low, high = math.log(first), math.log(last)
    places, weights = _panels(low, high, max(1, math.ceil(abs(high - low) / _PRIOR_LENGTH)), _PRIOR_NODES)
    noise = np.exp(places)
    ends = mmse(ratio, np.array([first, last])) / np.array([first, last])
    return -0.25 * float(ends[1] - ends[0] + weights @ (mmse(ratio, noise) / noise))


def _panels(low, high, count, nodes):
    """Places and weights of `count` Gauss-Legendre panels between `low` and `high`."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    edges = np.linspace(low, high, count + 1)
    half = 0.5 * np.diff(edges)[:, None]
    return (0.5 * (edges[1:] + edges[:-1])[:, None] + half * x).ravel(), (half * w).ravel()
