"""Stochastic gradient descent that takes several steps on each batch of a fixed data set; one replica is one data set."""

from collections.abc import Callable, Iterator

import jax
import numpy as np
import xarray as xr

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.base.progress import progress
from attention_limits.pipeline.cubes.points import points
from attention_limits.sequence_multi_index.data.sequences import local_fields
from attention_limits.sequence_multi_index.data.teacher_overlap import towards_teacher
from attention_limits.sequence_multi_index.estimators.at_point import NOT_OF_THE_LINK, link_at, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.generalization import ERROR_NODES, plug_in_error
from attention_limits.sequence_multi_index.training.gradient_descent import (
    Block,
    descend,
    drawn_batches,
    has_kernel,
)
from attention_limits.sequence_multi_index.training.outputs import teacher_output

_DIMS = {
    "cosine_by_batch": ("batch", "layer"),
    "norm_by_batch": ("batch", "layer"),
    "loss_by_batch": ("batch",),
    "overlap": ("layer", "layer_star"),
    "teacher_norm": ("layer", "layer_star"),
    "training_error_of_start": ("start",),
}


def run(spec, streams):
    """Cosines, norms, overlaps and errors (see `variables`), on the data that `reads` names."""
    solver = spec["solver"]

    def blocks(link, alpha, sequences, outputs, teachers):
        if not has_kernel(link):
            # Handed to JAX once, not with every block.
            sequences, outputs = jax.device_put(sequences), jax.device_put(outputs)
        orders = [
            drawn_batches(
                sequences.shape[1],
                solver.batch,
                solver.batches,
                streams.generator("batches", replica, alpha=alpha),
            )
            for replica in spec["replicas"]
        ]
        for done, count in block_sizes(solver):
            yield Block(sequences, outputs, np.stack([order[done : done + count] for order in orders]))

    return simulate(spec, streams, blocks)


def block_sizes(solver) -> list[tuple[int, int]]:
    """Batches before each block, and in it; a block lies between two records."""
    starts = range(0, solver.batches, solver.record_every)
    return [(done, min(solver.record_every, solver.batches - done)) for done in starts]


def simulate(spec, streams, blocks: Callable[..., Iterator[Block]]):
    """The dataset of a run; `blocks(link, alpha, sequences, outputs, teachers)` are the batches for all replicas at a point."""
    axes, replicas, rows = spec["grid"], spec["replicas"], rows_from_one(spec)
    found, links = [], {}
    for at, _ in points({**spec, "replicas": [0]}):
        # Points with equal parameters share the link, and with it the compiled program.
        parameters = tuple(value for key, value in at.items() if key not in NOT_OF_THE_LINK)
        link = links.setdefault(parameters, link_at(spec, at))
        found += _at_point(spec, streams, blocks, link, at)
    shape = (*map(len, axes.values()), len(replicas))
    stacked = {name: np.stack([each[name] for each in found]) for name in found[0]}
    variables = {
        name: ((*axes, "replica", *_DIMS.get(name, ())), array.reshape(*shape, *array.shape[1:]))
        for name, array in stacked.items()
    }
    done = [before + count for before, count in block_sizes(spec["solver"])]
    starts = np.arange(1, spec["solver"].starts + 1)
    coordinates = {"batch": [0, *done], "layer": rows, "layer_star": rows, "start": starts}
    return xr.Dataset(variables, {**axes, "replica": replicas, **coordinates})


def _at_point(spec, streams, blocks, link, at) -> list[dict]:
    """The variables at one point of the grid, for each replica."""
    solver, alpha, replicas = spec["solver"], at["alpha"], spec["replicas"]
    data = [spec["data"](replica, **at) for replica in replicas]
    sequences = np.stack([part.sequences.values for part in data])
    teachers = np.stack([part.teacher.values for part in data])
    outputs = np.stack(
        [
            output_of(link, x, teacher, streams.generator("output noise", replica, alpha=alpha))
            for x, teacher, replica in zip(sequences, teachers, replicas, strict=True)
        ]
    )
    shape, dimension = (solver.starts, *teachers.shape[1:]), teachers.shape[2]
    starts = np.stack([streams.generator("start", replica, alpha=alpha).standard_normal(shape) for replica in replicas])
    made = progress(blocks(link, alpha, sequences, outputs, teachers), len(block_sizes(solver)), spec["estimator"])
    path = descend(link, made, solver.initial_std * starts, teachers, solver)
    found = []
    for index, (part, replica) in enumerate(zip(data, replicas, strict=True)):
        errors = np.array([_training_error(link, sequences[index], outputs[index], w) for w in path.weights[index]])
        best = int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))
        weights, teacher = path.weights[index, best].astype(float), teachers[index]
        overlap, teacher_norm = (left @ teacher.T / dimension for left in (weights, teacher))
        error, finite = np.nan, bool(np.isfinite(weights).all())
        if finite:
            nodes = gaussian_nodes(
                2 * link.rows * link.tokens, ERROR_NODES, streams.generator("error nodes", replica, alpha=alpha)
            )
            error = plug_in_error(link, teacher_norm, overlap, weights @ weights.T / dimension, nodes)
        found.append(
            {
                "cosine_by_batch": path.cosine[index, best],
                "norm_by_batch": path.norm[index, best],
                "loss_by_batch": path.loss[index, best],
                "realised_alpha": part.realised_alpha.item(),
                "finite": finite,
                "training_error_of_start": errors,
                "overlap": towards_teacher(link, overlap),
                "teacher_norm": teacher_norm,
                "error_plug_in": error,
            }
        )
    return found


def output_of(link, sequences, teacher, generator):
    """Outputs (N, ...) of the teacher (P, D) on sequences (N, M, D), in single precision; ValueError as `teacher_output`."""
    noise = generator.standard_normal((len(sequences), link.noise_dimension))
    return teacher_output(link, local_fields(sequences, teacher), noise).astype(np.float32)


def _training_error(link, sequences, outputs, weights):
    """Mean over the sequences of ||y - g(h)||_F^2."""
    difference = outputs - link.forward(local_fields(sequences, weights.astype(float)))
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.mean(np.sum(difference.reshape(len(outputs), -1) ** 2, axis=1)))
