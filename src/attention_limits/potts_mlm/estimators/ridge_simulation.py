"""Simulated ridge regression of masked Gaussian sequences; one replica is one precision matrix with its sequences."""

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.potts_mlm.ridge import draw_instance, draw_sequences, errors, realised_samples


def run(spec, streams):
    """Generalisation and training error per matrix, and the realised sizes (see `variables`).

    All ridges of a point (gamma, alpha, replica) see the same sequences, and all alpha the same matrix. Errors are missing where
    the matrix drawn is not positive definite, which happens for gamma within about L^(-2/3) of 2.
    """
    grid, replicas, sites = spec["grid"], spec["replicas"], spec["solver"]["sites"]
    shape = (len(grid["gamma"]), len(grid["ridge"]), len(grid["alpha"]), len(replicas))
    found = np.full((2, *shape), np.nan)
    samples = np.empty(shape, dtype=np.int64)
    samples[:] = np.reshape([realised_samples(alpha, sites) for alpha in grid["alpha"]], (-1, 1))
    pairs = [(i, j) for i in range(len(grid["gamma"])) for j in range(len(replicas))]
    for i, j in progress(pairs, len(pairs), spec["estimator"]):
        gamma, replica = grid["gamma"][i], replicas[j]
        instance = draw_instance(gamma, sites, streams.generator("matrix", replica, gamma=gamma))
        if instance is None:
            continue
        for k, alpha in enumerate(grid["alpha"]):
            rng = streams.generator("sequences", replica, gamma=gamma, alpha=alpha)
            sequences = draw_sequences(instance, realised_samples(alpha, sites), rng)
            found[:, i, :, k, j] = errors(instance, sequences, grid["ridge"])
    point = ("gamma", "ridge", "alpha", "replica")
    names = ("simulated_generalization_error", "simulated_training_error")
    variables = {name: (point, values) for name, values in zip(names, found, strict=True)}
    variables["realised_samples"] = (point, samples)
    variables["realised_alpha"] = (point, samples / (sites - 1))
    return xr.Dataset(variables, {**grid, "replica": replicas}).transpose(*grid, "replica")
