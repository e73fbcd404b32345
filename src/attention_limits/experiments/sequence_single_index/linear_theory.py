"""Attention SGD linearised at the uninformed start; one replica is one scrambling of the nodes."""

import numpy as np
import xarray as xr

from attention_limits.progress import progress
from attention_limits.sequence_single_index.attention_flow import linear_theory
from attention_limits.sequence_single_index.reduced_sgd import warn_unstable


def run(spec, streams):
    """Curvatures and noise, and the Gaussian prediction of what is learnt at the escape (see `variables`)."""
    model, omegas, replicas = spec["model"], spec["grid"]["omega"], spec["replicas"]
    curvature, noise = np.empty((2, len(omegas), len(replicas))), np.empty((2, len(omegas), len(replicas)))
    total, escape, semantic = np.empty((3, len(omegas), len(replicas)))
    points = [(i, j) for i in range(len(omegas)) for j in range(len(replicas))]
    for i, j in progress(points, len(points), spec["estimator"]):
        # The same nodes for all omega: the curves are smooth, and their spread is the error.
        theory = linear_theory(
            model["a"], omegas[i], model["loss"], streams.generator("nodes", replicas[j]), spec["solver"]["nodes"]
        )
        warn_unstable(model["learning_rate"], theory.bound(), f"attention, omega = {omegas[i]:g}")
        curvature[:, i, j], noise[:, i, j], total[i, j] = theory.curvature, theory.noise, theory.total_noise
        escape[i, j] = theory.escape_step(model["learning_rate"], model["dimension"], model["threshold"])
        if np.isfinite(escape[i, j]):
            semantic[i, j] = theory.semantic_probability(model["learning_rate"], model["dimension"], escape[i, j])
        else:
            semantic[i, j] = np.nan
    dims = ("omega", "replica")
    return xr.Dataset(
        {
            "curvature_position": (dims, curvature[0]),
            "curvature_semantic": (dims, curvature[1]),
            "noise_position": (dims, noise[0]),
            "noise_semantic": (dims, noise[1]),
            "noise_total": (dims, total),
            "gaussian_step": (dims, escape),
            "gaussian_semantic": (dims, semantic),
        },
        {"omega": omegas, "replica": replicas},
    )
