"""Numbers read off the cubes of the Potts family, for figures and for the audit, and the points that count as good.

One rule holds for figures and numbers: a mean holds only replicas that pass all flags, `good`.
"""

import numpy as np

from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.pipeline.cubes.readings import at, mean_at

# Largest standard error of the mean Hamming distance of an instance that counts as one at its target.
LARGEST_ERROR = 0.02


def of_chosen(cube, name, chosen="chosen"):
    """Variable `name` of the start that `chosen` names; missing where nothing was computed."""
    index = cube[chosen]
    return cube[name].isel(start=index.fillna(0).astype(int)).where(index.notnull())


def at_the_end(array):
    """An `array` after its last epoch that has a value, without the dimension `epoch`: learners stop at different epochs."""
    known = array.dropna("epoch", how="all")
    return (known if known.sizes["epoch"] else array).isel(epoch=-1)


def in_equilibrium(cube):
    """1 where both runs of the sampler agree, 0 elsewhere; 1 for the sequences of an alignment."""
    return cube.sample_converged if "sample_converged" in cube else 1.0


def at_target(cube):
    """1 where both runs of the sampler agree, meet the target of the mean Hamming distance, and know it to LARGEST_ERROR.

    0 elsewhere: for an instance that is frozen, one whose runs are too slow to determine its distance, and one whose distance
    stays above the target at any temperature.
    """
    error = np.sqrt((cube.hamming_error**2).sum("run")) / cube.sizes["run"]
    return (cube.sample_converged * cube.distance_converged * (error <= LARGEST_ERROR)).rename("at_target")


def settled_at_target(cube):
    """1 where the sequences are `at_target` and the chosen start of factored attention has converged, 0 elsewhere."""
    return at_target(cube) * of_chosen(cube, "converged")


def value_at_target(cube, variable, **point):
    """Mean of a `variable` of the best start of factored attention over the replicas that are `settled_at_target`.

    Returns it and its standard error.
    """
    return mean_at(of_chosen(cube, variable).where(settled_at_target(cube) == 1).rename(variable), **point)


def good(cube, prefix=""):
    """The product of all flags of a fit: 1 where the sequences are in equilibrium, the chosen start has converged, and a second
    start confirms its minimum, 0 elsewhere; missing where nothing was computed.

    `prefix` is that of the variables of the learner: empty, mixed_ or pair_.
    """
    return settled(cube, prefix) * cube[f"{prefix}confirmed"]


def settled(cube, prefix=""):
    """As `good`, but no second start need confirm the minimum: the lower one of those that were found counts."""
    converged = of_chosen(cube, f"{prefix}converged", f"{prefix}chosen")
    return (converged * in_equilibrium(cube)).where(converged.notnull())


def good_value(cube, variable, **point):
    """Mean of a `variable` of factored attention over the replicas that are `good` at a `point`, and its standard error."""
    return mean_at(cube[variable].where(good(cube) == 1).rename(variable), **point)


def value_of_best_start(cube, variable, **point):
    """Mean of a `variable` of factored attention over the replicas in equilibrium at a `point`, and its standard error.

    It is that of the start with the smallest objective, also where no second start confirms the minimum: an excess loss is then
    an upper bound of that of the minimum.
    """
    return mean_at(cube[variable].where(in_equilibrium(cube) == 1).rename(variable), **point)


def peak(cube, variable, axis, **point):
    """The value of the coordinate `axis` at which `variable`, a mean over replicas, is largest at a `point`; its error is 0."""
    curve = at(cube[variable], **point).mean("replica").dropna(axis)
    return float(curve[axis][int(np.argmax(curve.values))]), 0.0


def excess_exponent(cube, few, many, **point):
    """Exponent p of excess loss ~ M^p between `few` and `many` training sequences of factored attention, and its standard error.

    `point` holds distance, ridge and kind of attention. Only `good` replicas count.
    """
    means, errors = zip(
        *(good_value(cube, "excess_loss", samples=count, **point) for count in (few, many)), strict=True
    )
    span = np.log(many / few)
    return float(np.log(means[1] / means[0]) / span), float(np.hypot(*np.divide(errors, means)) / span)


def ordered(cube, samples, ridge, attention, optimizer, distance):
    """Fraction of the replicas in which factored attention ends below three layers and three layers below one layer.

    Compared are the losses above the optimum on the test sequences of each learner, in the replicas in equilibrium that have all
    of them. Factored attention has the loss of its best start, as in `value_of_best_start`. Returns the fraction and its standard
    error over these instances. Raises KeyError if there is no such replica.
    """
    point = {"distance": distance, "samples": samples}
    last = at_the_end(cube.transformer_test_loss) - cube.transformer_optimal_loss
    one, three = (at(last, layers=layers, optimizer=optimizer, **point).values for layers in (1, 3))
    loss = cube.excess_loss.where(in_equilibrium(cube) == 1)
    factored = at(loss, ridge=ridge, attention=attention, **point).values
    complete = np.isfinite(one + three + factored)
    if not complete.any():
        raise KeyError("no replica in equilibrium has all learners")
    fraction, spread = mean_and_error(((factored < three) & (three < one))[complete].astype(float))
    return float(fraction), float(spread)
