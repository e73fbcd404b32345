"""Escape time of SGD of any tied student at large dimension, from the diffusion of its overlap."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.estimators.sgd.link_sgd import SCRAMBLINGS, problem_of, rate_of
from attention_limits.sequence_single_index.large_dimension.any_student_flow import flows, with_error
from attention_limits.sequence_single_index.large_dimension.escape_diffusion import MESH, QUANTILES, escape_times


def run(spec, streams):
    """Mean and quantiles of the escape step with their errors (see `variables`)."""
    model = spec["model"]
    problem = problem_of({**model, "position": "none", "untied": False}, spec["project"])
    # The same nodes at all points.
    nodes = flows(problem, 1.0, [streams.generator("nodes", replica) for replica in range(SCRAMBLINGS)])

    def compute(at, _):
        point = {**model, **at}
        dimension = int(point["dimension"])

        def times(flow):
            numbers = dimension, dimension**-0.5, point["threshold"]
            return [escape_times(flow, *numbers, mesh) for mesh in (MESH, MESH // 2)]

        rate, batch = rate_of(point, dimension), int(point["batch"])
        (fine, coarse), error = with_error([flow.at(rate, batch) for flow in nodes], times)
        error = error[0] + np.abs(fine - coarse)
        return {
            "diffusion_step": fine[0],
            "diffusion_step_error": error[0],
            "diffusion_quantile": fine[1:],
            "diffusion_quantile_error": error[1:],
        }

    dims = dict.fromkeys(("diffusion_quantile", "diffusion_quantile_error"), ("quantile",))
    return collect(spec, compute, dims, {"quantile": list(QUANTILES)})
