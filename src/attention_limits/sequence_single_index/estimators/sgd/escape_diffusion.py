"""Escape time of SGD of any tied student at large dimension, from the diffusion of its overlaps."""

import functools

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.estimators.sgd.link_sgd import SCRAMBLINGS, problem_of, rate_of, start_of
from attention_limits.sequence_single_index.large_dimension import escape_diffusion, escape_plane
from attention_limits.sequence_single_index.large_dimension.any_student_flow import flows, with_error


def run(spec, streams):
    """Mean and quantiles of the escape step with their errors (see `variables`)."""
    model = {**spec["model"], "untied": False}

    @functools.cache
    def of_length(tokens):
        """The problem with this number of tokens, and its flows on the same nodes at all points."""
        problem = problem_of({**model, "tokens": tokens}, spec["project"])
        return problem, flows(problem, 1.0, [streams.generator("nodes", replica) for replica in range(SCRAMBLINGS)])

    def compute(at, _):
        point = {**model, **at}
        dimension, (problem, nodes) = int(point["dimension"]), of_length(int(point["tokens"]))
        start = start_of(problem, point, dimension)
        if len(start) == 1:
            escape_times, (start,), mesh = escape_diffusion.escape_times, start, escape_diffusion.MESH
        else:
            escape_times, mesh = escape_plane.escape_times, escape_plane.PLANE_MESH

        def times(flow):
            return [escape_times(flow, dimension, start, point["threshold"], points) for points in (mesh, mesh // 2)]

        rate, batch = rate_of(point, dimension), int(point["batch"])
        (fine, coarse), error = with_error([flow.at(rate, batch) for flow in nodes], times)
        # An infinite time has no error.
        with np.errstate(invalid="ignore"):
            error = error[0] + np.abs(fine - coarse)
        return {
            "diffusion_step": fine[0],
            "diffusion_step_error": error[0],
            "diffusion_quantile": fine[1:],
            "diffusion_quantile_error": error[1:],
        }

    dims = dict.fromkeys(("diffusion_quantile", "diffusion_quantile_error"), ("quantile",))
    return collect(spec, compute, dims, {"quantile": list(escape_diffusion.QUANTILES)})
