"""What the kinds that simulate SGD share: one run per grid value and replica, and the layout of the results."""

import itertools

import numpy as np
import xarray as xr

from attention_limits.pipeline.progress import progress
from attention_limits.sequence_single_index.reduced_sgd import Schedule


def sgd_dataset(spec, streams, simulate, threshold, observables):
    """Run SGD at every point.

    Parameters
    ----------
    simulate : callable
        (point, schedule, generator) -> reduced_sgd.Run; `point` holds the model and the grid values.
    threshold : callable
        point -> what counts as escaped (see `Schedule`).
    observables : dict
        Name of a variable -> function of states (..., n), stored at the end of a run and, with the suffix _trajectory, at the
        recorded steps.
    """
    grid, solver, replicas = spec["grid"], spec["solver"], spec["replicas"]
    records = np.linspace(0, solver["steps"], solver["records"]).round().astype(int) if solver["records"] else []
    shape = tuple(len(values) for values in grid.values())
    dims = (*grid, "replica")
    escaped, steps = np.empty((*shape, len(replicas)), bool), np.empty((*shape, len(replicas)), int)
    final = {name: np.empty((*shape, len(replicas))) for name in observables}
    path = {name: np.full((*shape, len(replicas), len(records)), np.nan) for name in observables}
    points = list(itertools.product(np.ndindex(*shape), range(len(replicas))))
    for index, j in progress(points, len(points), spec["estimator"]):
        at = {key: values[i] for (key, values), i in zip(grid.items(), index, strict=True)}
        point = {**spec["model"], **at}
        schedule = Schedule(solver["steps"], threshold(point), solver["stop"], records)
        run = simulate(point, schedule, streams.generator("tokens", replicas[j], **at))
        here = (*index, j)
        escaped[here], steps[here] = run.escaped, run.escape_step
        for name, function in observables.items():
            final[name][here] = function(run.state)
            path[name][here] = function(run.trajectory)
    variables = {"escaped": (dims, escaped), "escape_step": (dims, steps)}
    variables |= {name: (dims, values) for name, values in final.items()}
    coordinates = {**grid, "replica": replicas}
    if len(records):
        variables |= {f"{name}_trajectory": ((*dims, "step"), values) for name, values in path.items()}
        coordinates["step"] = records
    return xr.Dataset(variables, coordinates)
