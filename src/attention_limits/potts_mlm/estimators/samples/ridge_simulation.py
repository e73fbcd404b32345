"""Simulated ridge regression of masked Gaussian sequences; one replica is one precision matrix with its sequences."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.potts_mlm.replica.simulation import draw_instance, draw_sequences, errors, realised_samples


def run(spec, streams):
    """Generalisation and training error per matrix, and the realised sizes (see `variables`).

    All ridges of a point (gamma, alpha, replica) share the sequences, and all alpha share the matrix. Errors are missing where
    the matrix is not positive definite, which happens for gamma within about L^(-2/3) of 2.
    """
    grid, sites = spec["grid"], spec["solver"].sites
    ridges, alphas = grid["ridge"], grid["alpha"]
    shape = (len(ridges), len(alphas))
    samples = np.broadcast_to(np.array([realised_samples(alpha, sites) for alpha in alphas], dtype=np.int64), shape)

    def compute(at, replica):
        found = np.full((2, *shape), np.nan)
        instance = draw_instance(at["gamma"], sites, streams.generator("matrix", replica, **at))
        for k, alpha in enumerate(alphas if instance is not None else ()):
            rng = streams.generator("sequences", replica, **at, alpha=alpha)
            found[:, :, k] = errors(instance, draw_sequences(instance, samples[0, k], rng), ridges)
        return {
            "simulated_generalization_error": found[0],
            "simulated_training_error": found[1],
            "realised_samples": samples,
            "realised_alpha": samples / (sites - 1),
        }

    names = ("simulated_generalization_error", "simulated_training_error", "realised_samples", "realised_alpha")
    dims = dict.fromkeys(names, ("ridge", "alpha"))
    # One matrix serves all ridges and alpha: they are dimensions of a point in gamma.
    per_matrix = {**spec, "grid": {"gamma": grid["gamma"]}}
    return collect(per_matrix, compute, dims, {"ridge": ridges, "alpha": alphas}).transpose(*grid, "replica")
