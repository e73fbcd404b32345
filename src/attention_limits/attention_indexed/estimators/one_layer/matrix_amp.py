"""Matrix AMP on independent data sets; one replica is one teacher with its data."""

import numpy as np

from attention_limits.attention_indexed.estimators.one_layer.amp_point import ALONG, amp_point
from attention_limits.attention_indexed.estimators.one_layer.curves import channels_of, priors_of
from attention_limits.attention_indexed.model.sizes import sides
from attention_limits.pipeline.cubes.points import collect

_DIMS = {**ALONG, "eigenvalues": ("eigenvalue",), "eigenvalues_teacher": ("eigenvalue",)}


def run(spec, streams):
    """Errors of the estimate, actual and predicted, also on fresh data, and its spectrum (see `variables`)."""
    solver = spec["solver"]
    dimension, steps = solver.dimension, solver.max_iterations
    channel_of, prior_of = channels_of(spec), priors_of(spec)

    def compute(at, replica):
        point = {**spec["model"], **at}
        data, found, variables = amp_point(
            channel_of(point), prior_of(point), point, dimension, solver, streams, replica, at
        )
        return {
            **variables,
            "eigenvalues": data.prior.spectrum(found.estimate),
            "eigenvalues_teacher": data.prior.spectrum(data.teacher),
        }

    values = min(sides(dimension, spec["model"]["aspect"]))
    coordinates = {"iteration": np.arange(1, steps + 1), "eigenvalue": np.arange(1, values + 1)}
    return collect(spec, compute, _DIMS, coordinates)
