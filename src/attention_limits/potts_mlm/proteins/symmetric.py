"""Symmetric pseudo-likelihood: one J_ij(a, b) = J_ji(b, a) fitted to the conditionals of both sites at once.

The asymmetric fit of `pair` has two couplings for a pair, which are averaged afterwards. The joint fit is that of Ekeberg et al.
2013 (Phys. Rev. E 87, 012707); it is the pseudo-likelihood of a Potts model (Besag 1975), and convex as well.
"""

import numpy as np

from attention_limits.potts_mlm.attention.pair import FEWEST_PAIRS, PairFit, Settings, objective, site_frequencies
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape, composed, penalty
from attention_limits.potts_mlm.descent.lbfgs import descend


def unfolded(parameters, shape: Shape) -> np.ndarray:
    """The flat parameters of the full `shape` (shape.size,) from h (L, C) and J_ij, i < j, (L (L - 1) / 2, C, C), flat.

    J_ij(a, b) stands at [pair, b, a], pairs in the order of `numpy.triu_indices`; J_ji is its transpose.
    """
    full = np.zeros(shape.size, dtype=parameters.dtype)
    fields, couplings = shape.split(full)
    fields[:] = parameters[: fields.size].reshape(fields.shape)
    i, j = np.triu_indices(shape.sites, 1)
    couplings[i, j] = parameters[fields.size :].reshape(len(i), shape.colors, shape.colors)
    couplings[j, i] = couplings[i, j].swapaxes(1, 2)
    return full


def folded(gradient, shape: Shape) -> np.ndarray:
    """The gradient in the parameters of `unfolded` from the `gradient` in those of the full `shape` (shape.size,)."""
    fields, couplings = shape.split(gradient)
    i, j = np.triu_indices(shape.sites, 1)
    return np.concatenate([fields.ravel(), (couplings[i, j] + couplings[j, i].swapaxes(1, 2)).ravel()])


def fit_symmetric(sequences, weights, colors: int, ridge: Ridge, settings: Settings) -> PairFit:
    """Minimise the objective of `pair.fit` over symmetric couplings by L-BFGS, from the logarithms of the site frequencies.

    The ridges are those of the asymmetric fit: (ridge.couplings / 2) times the sum of J_ij(a, b)^2 over ordered pairs.

    Parameters
    ----------
    sequences : int8 array (M, L), colours 0 to `colors` - 1
    weights : array (M,), positive
    colors : int
        C.
    ridge : Ridge
    settings : pair.Settings
    """
    sequences = np.ascontiguousarray(sequences, dtype=np.int8)
    shape = Shape(sequences.shape[1], colors, 0, full=True)
    fields = np.log(site_frequencies(sequences, weights, colors, settings.pseudo_count))
    fields -= fields.mean(axis=1, keepdims=True)
    pairs = shape.sites * (shape.sites - 1) // 2
    start = np.concatenate([fields.ravel(), np.zeros(pairs * colors**2)])
    # Equal sequences are one sequence with their weights together.
    distinct, places = np.unique(sequences, axis=0, return_inverse=True)
    together = np.bincount(places.ravel(), weights)

    def function(flat, single=False):
        value, gradient = objective(unfolded(flat, shape), shape, distinct, together, ridge, single)
        return value, folded(gradient, shape)

    found = descend(
        function, start, settings.max_iterations, settings.tolerance, FEWEST_PAIRS,
        single=lambda flat: function(flat, single=True),
    )  # fmt: skip
    full = unfolded(found.parameters, shape)
    own_fields, couplings = composed(full, shape)
    return PairFit(found.objective - penalty(full, couplings, shape, ridge), found, own_fields, couplings)
