"""Runs of SGD at all points of a specification, as a dataset."""

import functools

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.sgd.fixed_students import Schedule


def records_of(solver):
    """Steps at which the overlaps are stored, of the keys `solver`."""
    return np.linspace(0, solver.steps, solver.records).round().astype(int) if solver.records else np.array([], int)


def sgd_dataset(spec, streams, simulate, threshold, observables, predict=lambda point: {}, predicted_dims=None):
    """One run of SGD at every grid value and replica.

    In the functions below, `point` holds the parameters of the model and the grid values.

    Parameters
    ----------
    spec, streams
        The arguments of `run` of the estimator.
    simulate : callable
        (point, schedule, generators) -> one fixed_students.Run for each generator.
    threshold : callable
        point -> threshold at which a run has escaped (see `Schedule`).
    observables : dict
        Name of a variable -> function of states (..., n) and of the point, stored at the end of a run and, with the suffix
        _trajectory, at the recorded steps.
    predict : callable, optional
        point -> {variable: number or array of the theory}, the same for all replicas.
    predicted_dims : dict, optional
        Dimensions of predicted arrays.
    """
    solver = spec["solver"]
    records = records_of(solver)

    @functools.cache
    def prediction(*values):
        return predict({**spec["model"], **dict(zip(spec["grid"], values, strict=True))})

    # The replicas of a point run side by side.
    @functools.lru_cache(maxsize=1)
    def runs(*values):
        at = dict(zip(spec["grid"], values, strict=True))
        point = {**spec["model"], **at}
        schedule = Schedule(solver.steps, threshold(point), solver.stop, records)
        generators = [streams.generator("tokens", replica, **at) for replica in spec["replicas"]]
        return dict(zip(spec["replicas"], simulate(point, schedule, generators), strict=True))

    def compute(at, replica):
        run = runs(*at.values())[replica]
        found = {"escaped": run.escaped, "escape_step": run.escape_step}
        point = {**spec["model"], **at}
        found |= {name: function(run.state, point) for name, function in observables.items()}
        if solver.records:
            found |= {f"{name}_trajectory": function(run.trajectory, point) for name, function in observables.items()}
        return found | prediction(*at.values())

    dims = {f"{name}_trajectory": ("step",) for name in observables} | (predicted_dims or {})
    return collect(spec, compute, dims, {"step": records} if solver.records else {})
