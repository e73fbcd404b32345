"""Peers of the Potts kernels: the incremental Gibbs sweep of one replica, and the step of adabmDCA."""

import numpy as np
from numba import njit

from attention_limits.numerics.fast_math import exp


def adabmdca_sweep(couplings, beta, onehot, rng):
    """One sweep of all chains, as `gibbs_sampling` of adabmDCA (Rosset et al. 2025, arXiv:2501.18456) does it, in numpy.

    The step of a site is one product of all chains with its couplings, then a colour from the softmax.

    Parameters
    ----------
    couplings : float32 array (L, C, L, C)
    onehot : float32 array (n, L, C), changed
    """
    chains, sites, colors = onehot.shape
    for i in range(sites):
        logits = beta * (onehot.reshape(chains, -1) @ couplings[i].reshape(colors, -1).T)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        sums = np.cumsum(weights, axis=1)
        drawn = rng.random((chains, 1), dtype=np.float32) * sums[:, -1:]
        chosen = np.minimum((sums <= drawn).sum(axis=1), colors - 1)
        onehot[:, i] = 0.0
        onehot[np.arange(chains), i, chosen] = 1.0


@njit(fastmath={"nnan", "nsz", "reassoc", "contract"})
def _draw(field, beta, weights, uniform):
    highest = field[0]
    for a in range(len(field)):
        highest = max(highest, field[a])
    total = 0.0
    for a in range(len(field)):
        weights[a] = exp(beta * (field[a] - highest))
        total += weights[a]
    left = uniform * total
    for a in range(len(field) - 1):
        left -= weights[a]
        if left < 0.0:
            return a
    return len(field) - 1


@njit(fastmath={"nnan", "nsz", "contract"})
def incremental_sweeps(rng, J, U, beta, state, fields, sweeps):
    """Cyclic sweeps of one replica in double precision, which keep the fields (L, C) of all sites up to date with state (L,)."""
    sites, colors = fields.shape
    weights, difference = np.empty(colors), np.empty(colors)
    for _ in range(sweeps):
        for i in range(sites):
            old = state[i]
            new = _draw(fields[i], beta, weights, rng.random())
            if new != old:
                for a in range(colors):
                    difference[a] = U[new, a] - U[old, a]
                for j in range(sites):
                    for a in range(colors):
                        fields[j, a] += J[i, j] * difference[a]
                state[i] = new
