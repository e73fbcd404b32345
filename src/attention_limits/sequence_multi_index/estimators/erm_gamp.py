"""GAMP of empirical risk minimisation; one replica is one data set."""

from attention_limits.pipeline.points import collect
from attention_limits.sequence_multi_index.erm import gamp
from attention_limits.sequence_multi_index.erm.at_point import (
    DIMS,
    coordinates,
    data_at,
    of_weights,
    ridge_at,
    start_at,
    task_at,
)


def run(spec, streams):
    """Overlaps, training objective and test errors of the fixed point (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        task = task_at(spec, at)
        data = data_at(spec, streams, task, replica, at)
        found = gamp.run(
            task.loss, data.outputs, data.sequences, ridge_at(spec, at), start_at(spec, streams, task, data, replica, at),
            data.anchors, solver["damping"], solver["tolerance"], solver["max_iterations"],
        )  # fmt: skip
        return {
            **of_weights(task, data, found.weights, streams.generator("error nodes", replica, alpha=at["alpha"])),
            "susceptibility": found.variance, "objective": found.objective, "residual": found.residual,
            "iterations": found.iterations, "converged": found.converged,
        }  # fmt: skip

    return collect(spec, compute, DIMS, coordinates(spec))
