"""Attention SGD linearised at the uninformed start and continued by its flow; one replica is one scrambling of the nodes."""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.progress import progress
from attention_limits.sequence_single_index.attention_exit import flow_field, semantic_probability
from attention_limits.sequence_single_index.attention_flow import linear_theory
from attention_limits.sequence_single_index.reduced_sgd import warn_unstable

# The flow is computed at 25 points with this part of the nodes, each used with four signs.
FLOW_PART = 16


def run(spec, streams):
    """Curvatures and noise, and what is learnt at the escape: by the Gaussian process, and with the flow (see `variables`)."""
    model, omegas, replicas = spec["model"], spec["grid"]["omega"], spec["replicas"]
    curvature, noise = np.empty((2, len(omegas), len(replicas))), np.empty((2, len(omegas), len(replicas)))
    total, escape, gaussian, semantic = np.full((4, len(omegas), len(replicas)), np.nan)
    scales = model["learning_rate"], model["dimension"], model["threshold"]
    points = [(i, j) for i in range(len(omegas)) for j in range(len(replicas))]
    for i, j in progress(points, len(points), spec["estimator"]):
        # The same nodes for all omega: the curves are smooth, and their spread is the error.
        nodes = gaussian_nodes(4, spec["solver"]["nodes"], streams.generator("nodes", replicas[j]))
        theory = linear_theory(model["a"], omegas[i], model["loss"], nodes)
        warn_unstable(model["learning_rate"], theory.bound(), f"attention, omega = {omegas[i]:g}")
        curvature[:, i, j], noise[:, i, j], total[i, j] = theory.curvature, theory.noise, theory.total_noise
        escape[i, j] = theory.escape_step(*scales)
        if np.isfinite(escape[i, j]):
            gaussian[i, j] = theory.semantic_probability(*scales[:2], escape[i, j])
            field = flow_field(
                theory, model["a"], omegas[i], model["loss"], model["learning_rate"], model["threshold"],
                nodes.head(max(256, len(nodes) // FLOW_PART)),
            )  # fmt: skip
            semantic[i, j] = semantic_probability(theory, field, *scales)
    dims = ("omega", "replica")
    return xr.Dataset(
        {
            "curvature_position": (dims, curvature[0]),
            "curvature_semantic": (dims, curvature[1]),
            "noise_position": (dims, noise[0]),
            "noise_semantic": (dims, noise[1]),
            "noise_total": (dims, total),
            "gaussian_step": (dims, escape),
            "gaussian_semantic": (dims, gaussian),
            "flow_semantic": (dims, semantic),
        },
        {"omega": omegas, "replica": replicas},
    )
