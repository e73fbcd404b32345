"""One-pass stochastic gradient descent in the limit of large dimension; a replica is a teacher, a start and a set of nodes.

The start is that of `online_sgd` in the same experiment, if both read the same data.
"""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import link_at, rows_from_one
from attention_limits.sequence_multi_index.training.flow import (
    Averages,
    compiled_gradient,
    flow,
    learning_times,
    random_start,
)

PAIR = ("time", "layer", "layer_star")
DIMS = {
    "student_by_time": PAIR, "cross_by_time": PAIR, "cosine_by_time": ("time", "layer"), "loss_by_time": ("time",),
    "learning_time": ("layer",), "teacher_norm": PAIR[1:],
}  # fmt: skip
# Keys of a grid that are no parameters of the link.
NOT_OF_THE_LINK = frozenset({"alpha", "rate"})


def run(spec, streams):
    """Overlaps, cosines and loss along the flow (see `variables`)."""
    solver, rows = spec["solver"], rows_from_one(spec)
    compiled = {}

    def compute(at, replica):
        parameters = {key: value for key, value in at.items() if key not in NOT_OF_THE_LINK}
        # Points with equal parameters share the link, and with it the compiled program.
        link = compiled.setdefault(tuple(parameters.values()), [link_at(spec, parameters)])
        if len(link) == 1:
            link.append(compiled_gradient(link[0]))
        averages = Averages(link[0], solver.nodes, streams.generator("flow nodes", replica), link[1])
        start = _start(spec, streams, at, replica, link[0])
        path = flow(averages, start, at["rate"], solver)
        norms = np.diagonal(path.student, axis1=1, axis2=2) * np.diag(start.teacher)
        cosine = np.diagonal(path.cross, axis1=1, axis2=2) / np.sqrt(norms)
        return {
            "student_by_time": path.student, "cross_by_time": path.cross, "cosine_by_time": cosine,
            "loss_by_time": path.loss, "learning_time": learning_times(path.times, cosine), "finite": path.finite,
            "teacher_norm": start.teacher,
        }  # fmt: skip

    times = np.linspace(0.0, solver.time, solver.records + 1)
    return collect(spec, compute, DIMS, {"layer": rows, "layer_star": rows, "time": times})


def _start(spec, streams, at, replica, link):
    """The overlaps at the start: of the teacher of the data that are read, or of a drawn one."""
    std = spec["solver"].initial_std
    if "reads" in spec:
        teacher = spec["data"](replica, **at).teacher.values
        return random_start(teacher, std, streams.generator("start", replica, alpha=at["alpha"]))
    teacher = streams.generator("teacher", replica).standard_normal((link.rows, spec["solver"].dimension))
    return random_start(teacher, std, streams.generator("start", replica))
