"""Weak-recovery thresholds of both layers against the skip strength; one replica is one scrambling of the nodes."""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.progress import progress
from attention_limits.sequence_multi_index.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.state_evolution import node_dimension
from attention_limits.sequence_multi_index.weak_recovery import first_instability, second_instability


def run(spec, streams):
    """Both thresholds, the subspace learnt first, and Q_22 where layer 1 is learnt (see `variables`)."""
    solver = spec["solver"]
    skips, replicas = spec["grid"]["skip"], spec["replicas"]
    shape = (len(skips), len(replicas))
    layers = np.arange(1, spec["model"]["layers"] + 1)
    alpha_1, alpha_2, overlap = np.empty(shape), np.empty(shape), np.empty(shape)
    direction = np.empty((*shape, len(layers), len(layers)))
    points = [(i, j) for i in range(len(skips)) for j in range(len(replicas))]
    for i, j in progress(points, len(points), spec["estimator"]):
        model = DeepAttention(skip=skips[i], **spec["model"])
        dimension = node_dimension(model)
        many = gaussian_nodes(dimension, solver["nodes_at_zero"], streams.generator("nodes at zero", replicas[j]))
        first = first_instability(model, many, solver["resolution"])
        alpha_2[i, j], direction[i, j] = first.alpha, first.direction
        nodes = gaussian_nodes(dimension, solver["nodes"], streams.generator("nodes", replicas[j]))
        alpha_1[i, j], overlap[i, j] = second_instability(model, nodes, solver["resolution"], solver["tolerance"])
    return xr.Dataset(
        {
            "alpha_1": (("skip", "replica"), alpha_1),
            "alpha_2": (("skip", "replica"), alpha_2),
            "overlap_at_alpha_1": (("skip", "replica"), overlap),
            "direction": (("skip", "replica", "layer", "layer_star"), direction),
        },
        {"skip": skips, "replica": replicas, "layer": layers, "layer_star": layers},
    )
