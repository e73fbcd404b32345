"""Numbers read off the cubes of the sequence multi-index family, for figures and for the audit."""

import numpy as np
import xarray as xr

from attention_limits.numerics.statistics import mean_and_error
from attention_limits.pipeline.readings import at, value

# Smallest fraction of outputs with a resolved channel at which a threshold is a number; below it `thresholds` warns.
MOSTLY_RESOLVED = 0.95
# Sampling noise can make a growth factor near zero negative.
SMALLEST_FACTOR = 1e-3


def layer_threshold(cube, layer) -> xr.DataArray:
    """The threshold at which a layer is learned, (grid..., replica), else NaN: see `_learns`."""
    return cube.threshold.where(_learns(cube, layer)).min("step")


def layer_threshold_and_error(cube, layer):
    """Threshold of a layer: mean over replicas and standard error, arrays (grid...).

    The error is the larger one of the spread over replicas and of the error that the nodes of the replicas show
    (`threshold_error`): few replicas may agree by chance.
    """
    own = cube.threshold_error.where(_learns(cube, layer) & np.isfinite(cube.threshold)).min("step")
    values = layer_threshold(cube, layer).transpose(..., "replica").values
    return _mean_with_floor(values, own.transpose(..., "replica").values)


def threshold_of_layer(cube, layer, **point):
    """Threshold of a layer at one point of the grid, and its error: see `layer_threshold_and_error`."""
    mean, error = layer_threshold_and_error(at(cube, **point), layer)
    return float(mean), float(error)


def trusted(theory) -> xr.DataArray:
    """Whether points of the state evolution `theory` of empirical risk minimisation pass all flags; NaN where it has no point.

    They have converged, keep replica symmetry, and found the minima of their proximal operators.
    """
    sure = (theory.converged == 1) & (theory.replica_symmetric == 1) & (theory.resolved >= MOSTLY_RESOLVED)
    # A replica that only a simulation has is missing, not doubtful.
    return sure.where(theory.converged.notnull())


def trusted_value(cube, variable, **point):
    """`value` of a variable of the state evolution of empirical risk minimisation, over the replicas that are `trusted`.

    NaN where no replica is.
    """
    part = cube.sel(estimator="erm_state_evolution")
    return value(xr.Dataset({variable: part[variable].where(trusted(part) == 1)}), variable, **point)


def _learns(cube, layer):
    """Whether a step learns a layer, (grid..., replica, step): its share is at least half of the largest share of a layer.

    Layers that the noise does not separate are learned in one step.
    """
    shares = [cube.direction.sel(layer=row, layer_star=row, drop=True) for row in cube.layer.values]
    largest = xr.concat(shares, "row").max("row")
    return cube.direction.sel(layer=layer, layer_star=layer, drop=True) >= 0.5 * largest


def atlas_threshold(cube, layer):
    """Threshold of a layer in a cube of `threshold_atlas`: mean over replicas and standard error, arrays (grid...).

    A step learns a layer if the layer has at least half of the largest share of one. The error is the larger one of the spread
    over replicas and of the error that the nodes show; NaN where fewer than half of the replicas learn the layer. Steps with
    fewer than `MOSTLY_RESOLVED` resolved outputs do not count.
    """
    value, own = _lowest_resolved(cube, cube.learnt.sel(layer=layer, drop=True) >= 0.5 * cube.learnt.max("layer"))
    # Those that learn the layer by chance would be the ones with a low threshold.
    present = np.isfinite(cube.threshold).any("step").transpose(..., "replica").values
    most = 2 * np.isfinite(value).sum(axis=-1, keepdims=True) >= present.sum(axis=-1, keepdims=True)
    return _mean_with_floor(np.where(most, value, np.nan), np.where(most, own, np.nan))


def first_atlas_threshold(cube):
    """The first threshold, of any layer, as in `atlas_threshold`; NaN where no replica has a resolved one."""
    return _mean_with_floor(*_lowest_resolved(cube, cube.step == 1))


def _lowest_resolved(cube, steps):
    """The lowest threshold of the `steps` whose outputs are resolved, and its error: arrays (grid..., replica)."""
    kept = steps & (cube.step_resolved >= MOSTLY_RESOLVED)
    lowest = (cube[name].where(kept).min("step") for name in ("threshold", "threshold_error"))
    return tuple(values.transpose(..., "replica").values for values in lowest)


def _mean_with_floor(values, own):
    """Mean over the last axis and its standard error, at least that of the errors `own` of the values."""
    mean, spread = mean_and_error(values, axis=-1)
    known = np.isfinite(own) & np.isfinite(values)
    count = known.sum(axis=-1)
    least = np.sqrt(np.where(known, own, 0.0) ** 2 @ np.ones(own.shape[-1])) / np.maximum(count, 1)
    return mean, np.fmax(spread, np.where(count > 0, least, np.nan))


def recovery_and_error(cube):
    """Number of samples of exact recovery, n / D: middle of the brackets, mean over replicas and its error, arrays (grid...).

    The error is the standard error together with half of the width of a bracket; NaN where no replica recovers.
    """
    below, above = (cube[name].transpose(..., "replica").values for name in ("recovery_below", "recovery_above"))
    mean, spread = mean_and_error(0.5 * (below + above), axis=-1)
    width, _ = mean_and_error(above - below, axis=-1)
    return mean, np.hypot(np.nan_to_num(spread), 0.5 * width)


def recovery(cube):
    """`recovery_and_error` of a cube with one point of its grid, as two numbers."""
    mean, error = recovery_and_error(cube)
    return mean.item(), error.item()


def equal_free_entropy(cube):
    """Alpha at which the free entropy of the informed fixed point becomes the larger one, mean over replicas and its error.

    Linear between the points of the grid; NaN for a replica without a change of sign.
    """
    entropy = cube.free_entropy_by_start.dropna("alpha", how="all").transpose("alpha", "replica", "init")
    gain = (entropy.sel(init="informed") - entropy.sel(init="uninformed")).values
    alpha, found = entropy.alpha.values, np.full(gain.shape[1], np.nan)
    for k, values in enumerate(gain.T):
        first = np.flatnonzero((values[:-1] <= 0) & (values[1:] > 0))
        if len(first):
            i = first[0]
            found[k] = alpha[i] + (alpha[i + 1] - alpha[i]) * values[i] / (values[i] - values[i + 1])
    mean, error = mean_and_error(found)
    return float(mean), float(error)


def growth_at_threshold(cube, layer):
    """Where a layer begins to grow while the last layer alone is learned, in a cube of `shallow_growth`.

    Between two points of `held`, log alpha and the logarithms of all factors are linear in that of the factor of the layer.

    Returns
    -------
    alpha : DataArray (grid..., replica)
        n / D at which the factor of the layer is one; NaN for a replica whose factor does not cross one.
    factors : DataArray (grid..., replica, layer)
        Factors of all layers there, on the same nodes.
    """
    cube = cube.sortby("held")
    logs = np.log(np.maximum(cube.growth_factor, SMALLEST_FACTOR))
    own = logs.sel(layer=layer, drop=True)
    crosses = (own <= 0) & (own.shift(held=-1) > 0)
    first = crosses.argmax("held")
    places = first, (first + 1).clip(max=cube.sizes["held"] - 1)

    def ends(values):
        return (values.isel(held=place, drop=True).drop_vars("held", errors="ignore") for place in places)

    below, above = ends(own)
    part = -below / (above - below).where(crosses.any("held"))

    def there(values):
        low, high = ends(values)
        return np.exp(low + part * (high - low))

    return there(np.log(cube.branch_alpha)), there(logs)
