"""Attention SGD linearised at the uninformed start and continued by its flow; one replica is one scrambling of the nodes."""

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.positional_semantic.exit import (
    flow_field,
    mean_escape_step,
    semantic_probability,
)
from attention_limits.sequence_single_index.positional_semantic.flow import linear_theory
from attention_limits.sequence_single_index.sgd.fixed_students import AttentionProblem, warn_unstable

# The flow at 25 points, each with four signs, uses one node in FLOW_PART, but at least LEAST_NODES.
FLOW_PART, LEAST_NODES = 16, 256


def run(spec, streams):
    """Curvatures and noise, P(semantic) and escape step of the Gaussian process, and with the flow (see `variables`)."""

    def compute(at, replica):
        model = {**spec["model"], **at}
        omega, scales = model["omega"], (model["learning_rate"], model["dimension"], model["threshold"])
        # The same nodes at all points: the curves are smooth, and their spread is the error.
        nodes = gaussian_nodes(4, spec["solver"].nodes, streams.generator("nodes", replica))
        problem, batch = AttentionProblem(model["a"], omega, model["loss"]), int(model["batch"])
        theory = linear_theory(problem, nodes, batch)
        warn_unstable(model["learning_rate"], theory.bound(), f"attention, omega = {omega:g}")
        escape, gaussian, semantic, mean = theory.escape_step(*scales), np.nan, np.nan, np.nan
        if np.isfinite(escape):
            gaussian = theory.semantic_probability(*scales[:2], escape)
            few = nodes.head(max(LEAST_NODES, len(nodes) // FLOW_PART))
            field = flow_field(theory, problem, model["learning_rate"], model["threshold"], few, batch)
            semantic = semantic_probability(theory, field, *scales)
            mean = mean_escape_step(theory, field, *scales)
        return {
            "curvature_position": theory.curvature[0],
            "curvature_semantic": theory.curvature[1],
            "noise_position": theory.noise[0],
            "noise_semantic": theory.noise[1],
            "noise_total": theory.total_noise,
            "gaussian_step": escape,
            "gaussian_semantic": gaussian,
            "flow_semantic": semantic,
            "flow_mean_step": mean,
        }

    return collect(spec, compute, {})
