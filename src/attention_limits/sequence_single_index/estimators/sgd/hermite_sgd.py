"""SGD of a student and a target that are the same sum of Hermite polynomials: information exponent k = their order."""

import numpy as np

from attention_limits.sequence_single_index.estimators.sgd.runs import sgd_dataset
from attention_limits.sequence_single_index.large_dimension.fixed_students_flow import (
    escape_time,
    hermite_bound,
    hermite_drift,
)
from attention_limits.sequence_single_index.sgd.fixed_students import matched_hermite, warn_unstable


def learning_rate(prefactor, order, dimension):
    """c, c / log d, or c d^(-(k-2)/2) for k = 1, 2, and above: the largest orders in d at which SGD escapes."""
    if order == 2:
        return prefactor / np.log(dimension)
    return prefactor * dimension ** (-0.5 * max(0, order - 2))


def run(spec, streams):
    """Escape steps from m = d^(-1/2), and the prediction of the flow at this learning rate (see `variables`)."""

    def settings(point):
        order, tokens, dimension = int(point["order"]), int(point["tokens"]), int(point["dimension"])
        rate = learning_rate(point["learning_rate"], order, dimension)
        return order, tokens, dimension, rate

    def simulate(point, schedule, generators):
        order, tokens, dimension, rate = settings(point)
        if order > 1:
            warn_unstable(rate, hermite_bound(order, tokens, dimension), f"order {order}, d = {dimension}")
        return matched_hermite(order, tokens, dimension, rate, dimension**-0.5, schedule, generators)

    def flow(point):
        order, tokens, dimension, rate = settings(point)
        tau = escape_time(lambda m: hermite_drift(m, order, rate, tokens), dimension**-0.5, point["threshold"])
        return {"flow_step": tau * dimension}

    observables = {"overlap": lambda s, point: np.abs(s[..., 0])}
    return sgd_dataset(spec, streams, simulate, lambda point: point["threshold"], observables, flow)
