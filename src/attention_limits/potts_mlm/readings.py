"""Numbers read off the cubes of the Potts family, for the audit."""

import numpy as np

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.readings import at


def peak(cube, variable, axis, **point):
    """The value of the coordinate `axis` at which `variable`, a mean over replicas, is largest at a `point`; its error is 0."""
    curve = at(cube[variable], **point).mean("replica").dropna(axis)
    return float(curve[axis][int(np.argmax(curve.values))]), 0.0


def excess_exponent(cube, few, many, **point):
    """Exponent p of excess loss ~ M^p between `few` and `many` training sequences of factored attention, and its standard error.

    `point` holds distance, ridge and kind of attention.
    """
    means, errors = zip(
        *(mean_and_error(at(cube.excess_loss, samples=count, **point).values) for count in (few, many)), strict=True
    )
    span = np.log(many / few)
    return float(np.log(means[1] / means[0]) / span), float(np.hypot(*np.divide(errors, means)) / span)


def ordered(cube, samples, ridge, attention, optimizer, distance):
    """Fraction of the replicas in which factored attention ends below three layers and three layers below one layer.

    Compared are the losses above the optimum on the test sequences of each learner, in the replicas that have all of them; the
    error is 0.
    """
    point = {"distance": distance, "samples": samples}
    last = cube.transformer_test_loss.dropna("epoch", how="all").isel(epoch=-1) - cube.transformer_optimal_loss
    one, three = (at(last, layers=layers, optimizer=optimizer, **point).values for layers in (1, 3))
    factored = at(cube.excess_loss, ridge=ridge, attention=attention, **point).values
    complete = np.isfinite(one + three + factored)
    return float(np.mean(((factored < three) & (three < one))[complete])), 0.0
