"""One-pass stochastic gradient descent in the limit of large dimension; a replica is a teacher, a start and a set of nodes.

The start is that of `online_sgd` in the same experiment, if both read the same data.
"""

import numpy as np

from attention_limits.pipeline.cubes.points import collect, points
from attention_limits.sequence_multi_index.estimators.at_point import link_at
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
    "learning_time": ("layer",), "learning_time_node_error": ("layer",),
}  # fmt: skip
# Largest difference of the cosines on half of the nodes and on all where the nodes resolve the flow.
SAME = 0.1
# Keys of a grid that are no parameters of the link.
NOT_OF_THE_LINK = frozenset({"alpha", "rate"})


def run(spec, streams):
    """Overlaps, cosines and loss along the flow (see `variables`)."""
    solver, compiled = spec["solver"], {}
    rows = np.arange(1, link_at(spec, _of_the_link(points(spec)[0][0])).rows + 1)

    def compute(at, replica):
        parameters = _of_the_link(at)
        # Points with equal parameters share the link, and with it the compiled program.
        link = compiled.setdefault(tuple(parameters.values()), [link_at(spec, parameters)])
        if len(link) == 1:
            link.append(compiled_gradient(link[0]))
        averages = Averages(link[0], solver.nodes, streams.generator("flow nodes", replica), link[1])
        start = _start(spec, streams, at, replica, link[0])
        path = flow(averages, start, at["rate"], solver)
        cosine = path.cosine(start.teacher)
        times = learning_times(path.times, cosine)
        rough = flow(averages.half(), start, at["rate"], solver).cosine(start.teacher)
        apart = np.abs(np.abs(rough) - np.abs(cosine)).max(axis=1)
        return {
            "student_by_time": path.student, "cross_by_time": path.cross, "cosine_by_time": cosine,
            "loss_by_time": path.loss, "learning_time": times,
            "learning_time_node_error": np.abs(learning_times(path.times, rough) - times),
            "flow_converged": path.finite, "flow_resolved": float(np.mean(apart <= SAME)),
        }  # fmt: skip

    times = np.linspace(0.0, solver.time, solver.records + 1)
    return collect(spec, compute, DIMS, {"layer": rows, "layer_star": rows, "time": times})


def _of_the_link(at):
    return {key: value for key, value in at.items() if key not in NOT_OF_THE_LINK}


def _start(spec, streams, at, replica, link):
    """The overlaps at the start: of the teacher of the data that are read, or of a drawn one."""
    std = spec["solver"].initial_std
    if "reads" in spec:
        teacher = spec["data"](replica, **at).teacher.values
        return random_start(teacher, std, streams.generator("start", replica, alpha=at["alpha"]))
    teacher = streams.generator("teacher", replica).standard_normal((link.rows, spec["solver"].dimension))
    return random_start(teacher, std, streams.generator("start", replica))
