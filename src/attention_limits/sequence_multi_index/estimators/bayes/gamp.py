"""GAMP on independent data sets, drawn or read; one replica is one teacher with its data."""

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.data.sequences import local_fields, sample_count
from attention_limits.sequence_multi_index.data.teacher_overlap import towards_teacher
from attention_limits.sequence_multi_index.estimators.at_point import link_at, prior_of, rows_from_one
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.state_evolution.generalization import ERROR_NODES, plug_in_error

_PAIR = ("layer", "layer_star")
_DIMS = {
    "overlap": _PAIR,
    "teacher_norm": _PAIR,
    "overlap_trajectory": ("iteration", *_PAIR),
    "norm_trajectory": ("iteration", *_PAIR),
    "variance_trajectory": ("iteration", *_PAIR),
    "cosine_trajectory": ("iteration", "layer"),
}


def run(spec, streams):
    """Final overlaps and trajectories of GAMP (see `variables`); iterations after the last are missing."""
    solver, rows = spec["solver"], rows_from_one(spec)
    steps = solver.max_iterations

    def compute(at, replica):
        link, alpha = link_at(spec, at), at["alpha"]
        prior = prior_of(spec, link, at)
        data = _data_set(spec, streams, link, prior, replica, at)
        channel = Channel(link, solver.resolution, streams.generator("channel", replica))
        outcome = gamp.run(channel, data, streams.generator("start", replica, alpha=alpha), solver, prior)
        dimension = data.teacher.shape[1]
        teacher_norm = data.teacher @ data.teacher.T / dimension
        error = np.nan
        if np.all(np.isfinite(outcome.overlap[-1])):
            generator = streams.generator("error nodes", replica, alpha=alpha)
            nodes = gaussian_nodes(2 * link.rows * link.tokens, ERROR_NODES, generator)
            error = plug_in_error(link, teacher_norm, outcome.overlap[-1], outcome.norm[-1], nodes)
        return {
            "overlap": towards_teacher(link, outcome.overlap[-1], prior),
            "teacher_norm": teacher_norm,
            "realised_alpha": len(data.sequences) / dimension,
            "error_plug_in": error,
            "residual": outcome.residual,
            "iterations": len(outcome.overlap),
            "converged": outcome.converged,
            "resolved": outcome.resolved,
            "overlap_trajectory": _filled(outcome.overlap, steps),
            "norm_trajectory": _filled(outcome.norm, steps),
            "variance_trajectory": _filled(outcome.variance, steps),
            "cosine_trajectory": _filled(outcome.cosine, steps),
        }

    return collect(spec, compute, _DIMS, {"layer": rows, "layer_star": rows, "iteration": np.arange(1, steps + 1)})


def _filled(trajectory, steps):
    """A trajectory (T, ...) as (steps, ...), missing after its end."""
    filled = np.full((steps, *trajectory.shape[1:]), np.nan)
    filled[: len(trajectory)] = trajectory
    return filled


def _data_set(spec, streams, link, prior, replica, at):
    """The data set of a point: read if the specification has the key `reads`, drawn otherwise."""
    alpha = at["alpha"]
    if "reads" in spec:
        read = spec["data"](replica, **at)
        sequences, teacher = read.sequences.values, read.teacher.values
        generator = streams.generator("output noise", replica, alpha=alpha)
        noise = generator.standard_normal((len(sequences), link.noise_dimension))
        sequences = gamp.with_spikes(link, sequences, teacher, noise)
        return gamp.Dataset(sequences, teacher, link.observe(local_fields(sequences, teacher), noise))
    dimension = spec["solver"].dimension
    samples = sample_count(alpha, dimension)
    return gamp.gaussian_dataset(link, dimension, samples, streams.generator("data", replica, alpha=alpha), prior)
