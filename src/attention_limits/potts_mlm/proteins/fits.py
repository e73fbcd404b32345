"""Fits at one point of an experiment on an alignment, shared by the estimators that need one.

The ridges called plmdca are those of Ekeberg, Hartonen, Aurell 2014, J. Comput. Phys. 276, 341.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.attention.pair import PairFit, fit
from attention_limits.potts_mlm.attention.pair_parameters import Ridge, Shape
from attention_limits.potts_mlm.attention.training_sets import training_set
from attention_limits.potts_mlm.descent.minima import of_starts
from attention_limits.potts_mlm.proteins.statistics import sequence_weights

# The tolerance of a full model in units of that of heads: the gradient of a head sums over many couplings.
FULL = 0.1
# lambda_h and lambda_J of plmDCA.
PLMDCA = 0.01


@dataclass(frozen=True)
class Fits:
    """All starts at one point.

    Attributes
    ----------
    sequences : int8 array (M, L)
    weights : array (M,)
    shape : Shape
    starts : list of PairFit
        A convex fit stands for all its starts. The first start of free raw heads is the spectral one, the others are random.
    """

    sequences: np.ndarray
    weights: np.ndarray
    shape: Shape
    starts: list[PairFit]

    def described(self, prefix="") -> dict:
        """`minima.of_starts` with this `prefix`; a convex fit has one minimum, which its one start confirms."""
        found = of_starts(self.starts, prefix)
        return found | {f"{prefix}confirmed": self.starts[0].descent.converged} if self.shape.convex else found


def shape_of(sites: int, colors: int, heads: int, solver) -> Shape:
    """The model of `sites` L, `colors` C and a number of `heads` under the keys of a `solver`.

    From C^2 free heads on, and without a ridge on the heads, J itself is the parameter.
    """
    rank, attention = solver.rank, solver.attention
    full = heads >= colors**2 and rank is None and attention == "raw" and solver.weight_ridge == 0.0
    return Shape(sites, colors, heads, rank, attention, full)


def ridge_of(sites: int, solver, weights: float = 0.0) -> Ridge:
    """The ridges of a `solver` for L `sites`; the word `plmdca` stands for 0.02 / L on the fields and 0.01 / L on the couplings.

    `weights` is that of heads.

    The asymmetric plmDCA minimises the weighted mean of -log p(s_i | s_-i) + lambda_h |h_i|^2 + (lambda_J / 2) sum_j |J_ij|^2 at
    each site, with lambda_h = lambda_J = 0.01; lambda_J is halved because J_ij is fitted twice. Our objective is
    the mean over L sites with half of each ridge: 2 lambda_h / L and lambda_J / L.
    """
    fields, couplings = solver.field_ridge, solver.coupling_ridge
    return Ridge(
        2.0 * PLMDCA / sites if fields == "plmdca" else fields,
        PLMDCA / sites if couplings == "plmdca" else couplings,
        weights,
    )


def fit_point(spec, streams, data, at, replica, full_fits: dict) -> Fits:
    """All fits of a point `at` of an experiment, to the training sequences of a `replica` of `data` with their weights.

    `spec` and `streams` are those of the estimator; its solver holds the keys of `schema.proteins.Fitting`. `full_fits` keeps the
    fit of the full model to each set of sequences, {(samples, replica): PairFit}: points with different heads share it.
    """
    solver = spec["solver"]
    sequences = training_set(streams, data, replica, at, int(at["samples"]))
    weights = sequence_weights(sequences, solver.identity)
    shape = shape_of(sequences.shape[1], data.sizes["color"], int(at["heads"]), solver)
    ridge = ridge_of(shape.sites, solver, solver.weight_ridge)
    rngs = streams.generator("start", replica).spawn(1 if shape.convex else solver.starts)

    def full_fit():
        key = (at["samples"], replica)
        if key not in full_fits:
            full = Shape(shape.sites, shape.colors, 0, full=True)
            sharp = solver.model_copy(update={"tolerance": FULL * solver.tolerance})
            full_fits[key] = fit(sequences, weights, full, ridge, streams.generator("start", replica), sharp)
        return full_fits[key]

    if shape.full:
        found = [full_fit()]
    else:
        # Singular values have no meaning for products of factors and for softmax attention.
        free = shape.rank is None and shape.attention == "raw" and not shape.convex
        found = [
            fit(sequences, weights, shape, ridge, rng, solver, full_fit() if free and start == 0 else None)
            for start, rng in enumerate(rngs)
        ]  # fmt: skip
    return Fits(sequences, weights, shape, found * solver.starts if shape.convex else found)
