"""GAMP on independent data sets, drawn here or read; one replica is one teacher with its data."""

import numpy as np
import xarray as xr

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index import gamp
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.estimators.points import coordinates, link_at, points, shape
from attention_limits.sequence_multi_index.gaussian_sequences import local_fields, sample_count
from attention_limits.sequence_multi_index.generalization import plug_in_error

# The test error is an expectation over fresh sequences given the overlaps: this many nodes make it exact to about 1e-3 of itself.
ERROR_NODES = 8192


def run(spec, streams):
    """Final overlaps and trajectories of GAMP (see `variables`); iterations after the last are missing."""
    solver, size = spec["solver"], link_at(spec).rows
    steps = solver["max_iterations"]
    square = (size, size)
    overlap = np.full((*shape(spec), steps, *square), np.nan)
    norm, variance = np.full_like(overlap, np.nan), np.full_like(overlap, np.nan)
    cosine = np.full((*shape(spec), steps, size), np.nan)
    final, teacher_norm = np.empty((2, *shape(spec), *square))
    error, residual, resolved, realised = np.full((4, *shape(spec)), np.nan)
    iterations, converged = np.empty(shape(spec), int), np.empty(shape(spec), bool)
    for at, values, replica in points(spec):
        link, alpha = link_at(spec, **values), values["alpha"]
        data = _data_set(spec, streams, link, replica, values)
        outcome = gamp.run(
            Channel(link, solver["resolution"], streams.generator("channel", replica)),
            data, streams.generator("start", replica, alpha=alpha),
            max_iterations=steps, damping=solver["damping"], start_overlap=solver["start_overlap"],
            side_information=solver["side_information"], regularization=solver["regularization"],
            tolerance=solver["tolerance"],
        )  # fmt: skip
        realised[at] = len(data.sequences) / data.teacher.shape[1]
        done = iterations[at] = len(outcome.overlap)
        overlap[at][:done], norm[at][:done] = outcome.overlap, outcome.norm
        variance[at][:done], cosine[at][:done] = outcome.variance, outcome.cosine
        final[at] = towards_teacher(link, outcome.overlap[-1])
        teacher_norm[at] = data.teacher @ data.teacher.T / data.teacher.shape[1]
        residual[at], converged[at], resolved[at] = outcome.residual, outcome.converged, outcome.resolved
        if np.all(np.isfinite(outcome.overlap[-1])):
            nodes = gaussian_nodes(
                2 * size * link.tokens, ERROR_NODES, streams.generator("error nodes", replica, alpha=alpha)
            )
            error[at] = plug_in_error(link, teacher_norm[at], outcome.overlap[-1], outcome.norm[-1], nodes)
    point = (*spec["grid"], "replica")
    trajectory = (*point, "iteration")
    pair = ("layer", "layer_star")
    return xr.Dataset(
        {
            "overlap": ((*point, *pair), final),
            "teacher_norm": ((*point, *pair), teacher_norm),
            "realised_alpha": (point, realised),
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
        {**coordinates(spec, link_at(spec)), "iteration": np.arange(1, steps + 1)},
    )


def _data_set(spec, streams, link, replica, values):
    """The data set of a point: read when the specification says so, drawn otherwise."""
    alpha = values["alpha"]
    if "reads" in spec:
        read = spec["data"](replica, **values)
        sequences, teacher = read.sequences.values, read.teacher.values
        generator = streams.generator("output noise", replica, alpha=alpha)
        noise = generator.standard_normal((len(sequences), link.noise_dimension))
        return gamp.Dataset(sequences, teacher, link.observe(local_fields(sequences, teacher), noise))
    dimension = spec["solver"]["dimension"]
    samples = sample_count(alpha, dimension)
    return gamp.gaussian_dataset(link, dimension, samples, streams.generator("data", replica, alpha=alpha))


def towards_teacher(link, overlap):
    """Overlap (P, P) of estimate and teacher with the estimate's free signs chosen towards the teacher."""
    if link.sign_symmetry == "rows":
        return np.where(np.diag(overlap) < 0, -1.0, 1.0)[:, None] * overlap
    return -overlap if link.sign_symmetry == "all" and np.trace(overlap) < 0 else overlap
