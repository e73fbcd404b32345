"""GAMP on independent data sets; one replica is one teacher with its data."""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.progress import progress
from attention_limits.sequence_multi_index import gamp
from attention_limits.sequence_multi_index.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.generalization import plug_in_error
from attention_limits.sequence_multi_index.state_evolution import node_dimension

# The test error is an expectation over fresh sequences given the overlaps: this many nodes make it exact to about 1e-3 of itself.
ERROR_NODES = 8192


def run(spec, streams):
    """Final overlaps and trajectories of GAMP (see `variables`); iterations after the last are missing."""
    model = DeepAttention(**spec["model"])
    solver = spec["solver"]
    alphas, replicas = spec["grid"]["alpha"], spec["replicas"]
    dimension, steps = solver["dimension"], solver["iterations"]
    shape = (len(alphas), len(replicas))
    layers = np.arange(1, model.layers + 1)
    square = (model.layers, model.layers)
    overlap = np.full((*shape, steps, *square), np.nan)
    norm, variance = np.full_like(overlap, np.nan), np.full_like(overlap, np.nan)
    cosine = np.full((*shape, steps, model.layers), np.nan)
    final, teacher_norm = np.empty((*shape, *square)), np.empty((*shape, *square))
    error, residual, resolved = np.empty(shape), np.empty(shape), np.empty(shape)
    iterations, converged = np.empty(shape, int), np.empty(shape, bool)
    points = [(i, j) for i in range(len(alphas)) for j in range(len(replicas))]
    for i, j in progress(points, len(points), spec["estimator"]):
        alpha, replica = alphas[i], replicas[j]
        data = gamp.gaussian_dataset(
            model, dimension, max(1, round(alpha * dimension)), streams.generator("data", replica, alpha=alpha)
        )
        outcome = gamp.run(
            model, data, streams.generator("start", replica, alpha=alpha),
            iterations=steps, damping=solver["damping"], start_overlap=solver["start_overlap"],
            side_information=solver["side_information"], regularization=solver["regularization"],
            resolution=solver["resolution"], tolerance=solver["tolerance"],
        )  # fmt: skip
        done = iterations[i, j] = len(outcome.overlap)
        overlap[i, j, :done], norm[i, j, :done] = outcome.overlap, outcome.norm
        variance[i, j, :done], cosine[i, j, :done] = outcome.variance, outcome.cosine
        # The signs of a layer's weights do not change the output: the estimate is flipped towards the teacher.
        signs = np.where(np.diag(outcome.overlap[-1]) < 0, -1.0, 1.0)
        final[i, j] = signs[:, None] * outcome.overlap[-1]
        teacher_norm[i, j] = data.teacher @ data.teacher.T / dimension
        nodes = gaussian_nodes(
            node_dimension(model), ERROR_NODES, streams.generator("error nodes", replica, alpha=alpha)
        )
        error[i, j] = plug_in_error(model, teacher_norm[i, j], outcome.overlap[-1], outcome.norm[-1], nodes)
        residual[i, j], converged[i, j], resolved[i, j] = outcome.residual, outcome.converged, outcome.resolved
    point, trajectory = ("alpha", "replica"), ("alpha", "replica", "iteration")
    pair = ("layer", "layer_star")
    return xr.Dataset(
        {
            "overlap": ((*point, *pair), final),
            "teacher_norm": ((*point, *pair), teacher_norm),
            "error_plug_in": (point, error),
            "residual": (point, residual),
            "iterations": (point, iterations),
            "converged": (point, converged),
            "resolved": (point, resolved),
            "overlap_trajectory": ((*trajectory, *pair), overlap),
            "norm_trajectory": ((*trajectory, *pair), norm),
            "variance_trajectory": ((*trajectory, *pair), variance),
            "cosine_trajectory": ((*trajectory, "layer"), cosine),
        },
        {
            "alpha": alphas, "replica": replicas, "iteration": np.arange(1, steps + 1),
            "layer": layers, "layer_star": layers,
        },
    )  # fmt: skip
