"""Matrix AMP on data sets of several dimensions, with its limit d -> infinity; one replica is one teacher with its data."""

import numpy as np

from attention_limits.attention_indexed.estimators.one_layer.amp_point import ALONG, amp_point
from attention_limits.attention_indexed.estimators.one_layer.curves import channels_of, priors_of
from attention_limits.attention_indexed.state_evolution.bounded_solutions import bounded
from attention_limits.attention_indexed.state_evolution.curve import solve, trajectory
from attention_limits.pipeline.cubes.points import collect


def run(spec, streams):
    """Errors of the estimate, actual and predicted, also on fresh data, and the state evolution (see `variables`)."""
    solver = spec["solver"]
    steps, channel_of, prior_of = solver.max_iterations, channels_of(spec), priors_of(spec)

    def compute(at, replica):
        point = {**spec["model"], **at}
        channel, prior, alpha = channel_of(point), prior_of(point), point["alpha"]

        limit = bounded(channel, lambda samples: solve(channel, prior, samples), [alpha], prior.Q)
        _, _, variables = amp_point(channel, prior, point, int(at["dimension"]), solver, streams, replica, at)
        plain = solver.damping == 0
        return {
            **variables,
            "mmse_limit": limit.mmse[0],
            "mmse_limit_bound": limit.bound[0],
            "unique": limit.unique[0],
            "limit_by_iteration": trajectory(channel, prior, alpha, steps) if plain else np.full(steps, np.nan),
        }

    return collect(
        spec, compute, {**ALONG, "limit_by_iteration": ("iteration",)}, {"iteration": np.arange(1, steps + 1)}
    )
