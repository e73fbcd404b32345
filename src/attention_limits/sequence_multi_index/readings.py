"""Numbers read off the cubes of the sequence multi-index family, for figures and for the audit."""

import numpy as np
import xarray as xr
from scipy.interpolate import BarycentricInterpolator
from scipy.special import bdtr, ndtr

from attention_limits.numerics.probability.statistics import (
    mean_and_error,
    mean_of_brackets,
    mean_with_floor,
)
from attention_limits.pipeline.base.registry import RESOLVED
from attention_limits.pipeline.cubes.readings import at, mean_at, passed, specifications

# Codes of `phases`.
IMPOSSIBLE, HARD, EASY = 0, 1, 2
# A sign or a difference is decided at this number of standard errors.
DECIDED = 3.0
# How a fixed point stands to that of the uninformed start.
_OPEN, _SAME, _WORSE, _BETTER = range(4)
# A layer is known on a branch if its overlap is above this; a direction that is followed has at least twice as much.
SMALLEST_KNOWN = 5e-4
# Sampling noise can make a growth factor near zero negative.
SMALLEST_FACTOR = 1e-3


def layer_threshold(cube, layer) -> xr.DataArray:
    """The threshold at which a layer is learned, (grid..., replica), else NaN: on one branch, see `branch_of_layer`."""
    return cube.threshold.where(steps_on_branch(cube, layer)).min("step")


def layer_threshold_and_error(cube, layer):
    """Threshold of a layer on one branch: mean over replicas and standard error, arrays (grid...).

    The branch is that of `branch_of_layer`; replicas on another one do not count. The error is the larger one of the spread over
    replicas and of the error that the nodes of the replicas show (`threshold_error`), because few replicas may agree by chance,
    together with the error of few nodes, which they share (`threshold_node_error`). NaN where fewer than half of the replicas
    are on the branch: those that learn the layer by chance would be the ones with a low threshold.
    """
    steps = steps_on_branch(cube, layer)
    most = 2 * steps.any("step").sum("replica") >= _computed(cube).sum("replica")
    return _of_steps(cube, steps & most)


def threshold_of_layer(cube, layer, **point):
    """Threshold of a layer at one point of the grid, and its error: see `layer_threshold_and_error`."""
    mean, error = layer_threshold_and_error(at(cube, **point), layer)
    return float(mean), float(error)


def branch_of_layer(cube, layer) -> xr.Dataset:
    """The branch on which most replicas learn a layer, bool (grid..., layer).

    Parameters
    ----------
    cube : Dataset
        Of `staircase` or `threshold_atlas`.
    layer : int

    Returns
    -------
    Dataset
        `known`: layers that are known before; `together`: other layers that the noise does not separate from this one, so that
        the number is no threshold of one layer. Both are false where no replica learns the layer.
    """
    chosen, bits = _chosen(cube, layer), _bits(cube)
    size = cube.sizes["layer"]
    return xr.Dataset({"known": (chosen & bits) > 0, "together": (chosen & (bits << size)) > 0})


def descent_cosine(cube, layer, batch, **point):
    """|cos| of a layer with its teacher after some batches of gradient descent: mean over replicas and standard error.

    The sign of a layer is free.
    """
    cosine = np.abs(at(cube.cosine_by_batch, layer=layer, batch=batch, **point))
    mean, error = mean_and_error(cosine.values)
    return float(mean), float(error)


def public_step(cube, layer, alpha):
    """Overlap of a layer after the first step of the public program's map, and its standard error over the replicas.

    Outputs whose quadrature fails its own check are a part of this map, so no replica is left out.
    """
    return mean_at(cube.overlap_trajectory, layer=layer, layer_star=layer, iteration=1, alpha=alpha)


def jump_and_error(cube):
    """Alpha of the jump of a cube of `staircase`: mean over replicas and standard error, arrays (grid...).

    NaN unless the branch turns back in every replica: few nodes do not separate a jump from a steep rise.
    """
    values = cube.jump.transpose(..., "replica").values
    mean, error = mean_and_error(values, axis=-1)
    every = np.all(np.isfinite(values), axis=-1)
    return np.where(every, mean, np.nan), np.where(every, error, np.nan)


def _learns(cube, layer):
    """Whether a step learns a layer, (grid..., replica, step): its share is at least half of the largest share of a layer.

    Layers that the noise does not separate are learned in one step.
    """
    shares = _diagonal(cube, "direction", "learnt")
    learns = (shares.sel(layer=layer, drop=True) >= 0.5 * shares.max("layer")) & np.isfinite(cube.threshold)
    return learns & _settled(cube)


def _settled(cube):
    """Whether a step gives a number, (grid..., replica, step): its branch has converged, and the nodes resolve the channel."""
    return (cube.step_resolved >= RESOLVED) & (cube.step_converged == 1)


def _known(cube):
    """Whether a layer is known before a step, (grid..., replica, step, layer): a branch has no overlap elsewhere."""
    return _diagonal(cube, "overlap_at_threshold", "overlap_before") > SMALLEST_KNOWN


def _diagonal(cube, matrix, by_layer):
    """Diagonal of a matrix over the layers (cube of `staircase`), or the values by layer (of `threshold_atlas`)."""
    if by_layer in cube:
        return cube[by_layer]
    return xr.concat([cube[matrix].sel(layer=row, layer_star=row, drop=True) for row in cube.layer.values], cube.layer)


def _bits(cube):
    return xr.DataArray(2 ** np.arange(cube.sizes["layer"]), {"layer": cube.layer}, "layer")


def _branches(cube, layer):
    """Layers known before a layer is learned, and those learned with it, in binary; -1 if it is not: (grid..., replica)."""
    bits, size = _bits(cube), cube.sizes["layer"]
    others = xr.concat([_learns(cube, row) & (row != layer) for row in cube.layer.values], cube.layer)
    codes = (_known(cube) * bits).sum("layer") + (others * (bits << size)).sum("layer")
    return codes.where(_first(cube, layer)).max("step").fillna(-1).astype(int)


def _first(cube, layer):
    """The step that first learns a layer, (grid..., replica, step): one of several rows may be learned in parts."""
    learns = _learns(cube, layer)
    return learns & (learns.cumsum("step") == 1)


def _chosen(cube, layer):
    """The most frequent of `_branches`, the smallest of equally frequent ones; 0 if there are none: (grid...)."""

    def most_frequent(codes):
        found, counts = np.unique(codes[codes >= 0], return_counts=True)
        return found[np.argmax(counts)] if len(found) else 0

    return xr.apply_ufunc(most_frequent, _branches(cube, layer), input_core_dims=[["replica"]], vectorize=True)


def steps_on_branch(cube, layer) -> xr.DataArray:
    """Steps that first learn a layer on the branch of most replicas, (grid..., replica, step)."""
    return _first(cube, layer) & (_branches(cube, layer) == _chosen(cube, layer))


def _computed(cube):
    """Whether a replica has any threshold, (grid..., replica): at some points a cube has fewer replicas."""
    return np.isfinite(cube.threshold).any("step")


def first_atlas_threshold(cube):
    """The first threshold, of any layer, as in `layer_threshold_and_error`; NaN where no replica has a settled one."""
    return _of_steps(cube, (cube.step == 1) & _settled(cube))


def _of_steps(cube, steps):
    """Mean of the threshold of some steps, at most one of each replica, and its error: arrays (grid...)."""
    names = "threshold", "threshold_error", "threshold_node_error"
    values, own, shift = (cube[name].where(steps).min("step").transpose(..., "replica").values for name in names)
    return _mean_with_shift(values, own, shift)


def _mean_with_shift(values, own, shift):
    """Mean of (..., replica), and its error: `mean_with_floor` with the mean of the signed `shift`, which replicas share."""
    mean, error = mean_with_floor(values, own)
    return mean, np.hypot(error, np.nan_to_num(mean_and_error(shift, axis=-1)[0]))


def recovery_and_error(cube):
    """Number of samples of exact recovery, n / D: middle of the brackets, mean over replicas and its error, arrays (grid...).

    The error is the standard error together with half of the width of a bracket and the mean error of few nodes. A replica whose
    search has a fixed point that did not converge has no part; NaN where no replica recovers, or fewer than half converge.
    """
    names = "recovery_below", "recovery_above", "recovery_node_error"
    there = cube.recovery_above.notnull()
    sound = there & (passed(cube, "recovery_above") == 1)
    sound = sound & (2 * sound.sum("replica") >= there.sum("replica"))
    return mean_of_brackets(*(cube[name].where(sound).transpose(..., "replica").values for name in names))


def recovery(cube, estimator=None):
    """`recovery_and_error` of a cube with one point of its grid, as two numbers; of one `estimator` where two search."""
    mean, error = recovery_and_error(cube if estimator is None else cube.sel(estimator=estimator))
    return mean.item(), error.item()


def phases(cube) -> xr.Dataset:
    """The phase of learning at each point of a cube of `phase_comparison`, decided over all replicas together.

    Which fixed point has the larger free entropy is decided for the mean over replicas: its sign must hold at three standard
    errors, and so must the statement that two fixed points agree within `gap`. A standard error is that of the mean over the
    replicas, at least that of the errors of few nodes within them, together with the mean of these errors, which the replicas
    share. A replica in which one of the two starts fails a flag has no part; nothing is decided with fewer than half of them.

    Returns
    -------
    Dataset
        `phase` (grid...): IMPOSSIBLE, the optimal fixed point has no overlap; HARD, some start ends at a fixed point of larger
        free entropy than the uninformed one; EASY, the uninformed start ends at the optimal one; NaN where this is not decided.
        `exact` (grid...): whether the uninformed start ends at exact recovery from continuous outputs. `unique` (grid...):
        whether all starts end at one fixed point; then, and where the phase is EASY or IMPOSSIBLE, the uninformed fixed point is
        Bayes-optimal among the fixed points found.
    """
    gap = specifications(cube)["phase_comparison"]["solver"]["gap"]
    names = (
        "overlap_by_start",
        "overlap_by_start_node_error",
        "free_entropy_by_start",
        "free_entropy_by_start_node_error",
    )
    parts = [cube[name] for name in (*names, "learned_by_start")]
    matrix, number = ["replica", "init", "layer", "layer_star"], ["replica", "init"]
    phase, exact, unique = xr.apply_ufunc(
        lambda *arrays: _phase(*arrays, gap), *parts, _sound(cube), input_core_dims=[matrix] * 2 + [number] * 4,
        output_core_dims=[[]] * 3, vectorize=True,
    )  # fmt: skip
    return xr.Dataset({"phase": phase, "exact": exact.astype(bool), "unique": unique.astype(bool)})


def _sound(cube):
    """Whether a fixed point of `phase_comparison` passes its flags, (grid..., replica, init); NaN where there is none."""
    flags = passed(cube, "free_entropy_by_start")
    return flags.where(cube.converged_by_start.notnull())


def _phase(overlap, overlap_shift, entropy, entropy_shift, learned, flags, gap):
    """`phases` at one point: arrays (replica, start, ...), the uninformed start first."""
    there, sound = np.isfinite(flags).any(axis=1), flags == 1
    found = []
    for start in range(1, entropy.shape[1]):
        kept = sound[:, 0] & sound[:, start]
        if not kept.any() or 2 * kept.sum() < there.sum():
            found.append(_OPEN)
            continue
        pair = [array[kept][:, [0, start]] for array in (overlap, overlap_shift, entropy, entropy_shift)]
        found.append(_relation(*pair, gap))
    kept = sound[:, 0]
    knows, exact = learned[kept, 0] == 1, np.isposinf(entropy[kept, 0])
    phase = np.nan
    if _BETTER in found:
        phase = HARD
    elif _OPEN not in found and len(set(knows)) == 1:
        phase = EASY if knows[0] else IMPOSSIBLE
    return float(phase), float(kept.any() and exact.all()), float(all(one == _SAME for one in found))


def _relation(overlap, overlap_shift, entropy, entropy_shift, gap):
    """How the second of two fixed points stands to the first; arrays (replica, 2, ...)."""
    (apart, error), size = _joint_difference(overlap, overlap_shift), overlap.shape[-1]
    apart, error = (np.sqrt(np.sum(entries**2) / size) for entries in (apart, error))
    if apart + DECIDED * error <= gap:
        return _SAME
    exact = np.isposinf(entropy)
    # On few nodes a fixed point is exact, on all it is not, or the reverse.
    if np.isinf(entropy_shift).any() or len(np.unique(exact, axis=0)) > 1 or exact.all():
        return _OPEN
    if exact.any():
        gain, spread = np.inf if exact[0, 1] else -np.inf, 0.0
    else:
        gain, spread = _joint_difference(entropy, entropy_shift)
    if gain < -DECIDED * spread:
        return _WORSE
    distinct = apart > max(gap, DECIDED * error)
    if gain > DECIDED * spread and distinct:
        return _BETTER
    # Two copies that a symmetry of the model exchanges have one spectrum and one free entropy.
    spectra = np.linalg.eigvalsh(overlap)
    shifted = np.linalg.eigvalsh(overlap + overlap_shift)
    apart, error = _joint_difference(spectra, shifted - spectra)
    copies = np.sqrt(np.sum((np.abs(apart) + DECIDED * error) ** 2) / size) <= gap
    return _SAME if copies and abs(gain) <= DECIDED * spread else _OPEN


def _joint_difference(values, shifts):
    """Second minus first of two numbers (replica, 2, ...): mean over replicas and its error, see `phases`."""
    difference, shift = (np.moveaxis(array[:, 1] - array[:, 0], 0, -1) for array in (values, shifts))
    mean, error = mean_with_floor(difference, np.abs(shift))
    return mean, np.hypot(error, shift.mean(axis=-1))


def free_entropy_gain(cube) -> xr.Dataset:
    """Free entropy of the informed minus that of the uninformed fixed point, over all replicas of `phase_comparison` together.

    Returns
    -------
    Dataset
        `gain` and `error` (grid...), as in `phases`; NaN where one of both is infinite, and where fewer than half of the replicas
        pass their flags.
    """
    sound = _sound(cube).min("init", skipna=False)
    kept = (sound == 1) & (2 * (sound == 1).sum("replica") >= sound.notnull().sum("replica"))

    def difference(name):
        by_start = cube[name].where(kept)
        return (by_start.sel(init="informed") - by_start.sel(init="uninformed")).transpose(..., "replica")

    values, shifts = difference("free_entropy_by_start"), difference("free_entropy_by_start_node_error")
    mean, error = _mean_with_shift(values.values, np.abs(shifts.values), shifts.values)
    dims = values.dims[:-1]
    return xr.Dataset({"gain": (dims, mean), "error": (dims, error)}, {name: values[name] for name in dims})


def equal_free_entropy(cube):
    """Alpha at which the free entropy of the informed fixed point becomes the larger one, and its error.

    The zero of `free_entropy_gain`, linear between the points of the grid around the first change of sign; its error is that of
    the gain there over the slope. Both are NaN without a change of sign.
    """
    found = free_entropy_gain(cube).dropna("alpha").sortby("alpha")
    alpha, gain, error = found.alpha.values, found.gain.values, found.error.values
    first = np.flatnonzero((gain[:-1] <= 0) & (gain[1:] > 0))
    if not first.size:
        return np.nan, np.nan
    low, high = first[0], first[0] + 1
    part = gain[low] / (gain[low] - gain[high])
    slope = (gain[high] - gain[low]) / (alpha[high] - alpha[low])
    # The nodes of a replica are the same at all alpha: the errors of both ends have one sign.
    spread = ((1.0 - part) * error[low] + part * error[high]) / slope
    return float(alpha[low] + part * (alpha[high] - alpha[low])), float(spread)


def growth_at_threshold(cube, layer) -> xr.Dataset:
    """Where a layer begins to grow while the last layer alone is learned, in a cube of `shallow_growth`.

    log alpha and the logarithms of all factors are polynomials in the logarithm of the factor of the layer, through the two
    points of `held` around the crossing and one more on each side, as far as this factor grows there. Points whose outputs the
    nodes do not resolve have no part.

    Returns
    -------
    Dataset
        `alpha` (grid..., replica): n / D at which the factor of the layer is one; NaN for a replica whose factor does not cross
        one between two resolved points. `factor` (grid..., replica, layer): factors of all layers there, on the same nodes.
        `alpha_interpolation_error`, `factor_interpolation_error`: distance from the chord between the two points.
        `alpha_node_error`, `factor_node_error`: error of few nodes, signed, at the crossing (linear between the points around
        it).
    """
    cube = cube.sortby("held")
    logs = np.log(np.maximum(cube.growth_factor, SMALLEST_FACTOR)).where(passed(cube, "growth_factor") == 1)
    own = logs.sel(layer=layer, drop=True)
    own_shift = (cube.growth_factor_node_error / cube.growth_factor).sel(layer=layer, drop=True)

    def at_one(values, shift):
        return xr.apply_ufunc(
            _where_zero,
            own,
            own_shift,
            values,
            shift,
            input_core_dims=[["held"]] * 4,
            output_core_dims=[[], [], []],
            vectorize=True,
        )

    # Where the nodes resolve few outputs alpha may be negative.
    branch = cube.branch_alpha.where(cube.branch_alpha > 0)
    log_alpha, alpha_change, alpha_shift = at_one(np.log(branch), cube.branch_alpha_node_error / branch)
    log_factor, change, shift = at_one(logs, cube.growth_factor_node_error / cube.growth_factor)
    alpha, factor = np.exp(log_alpha), np.exp(log_factor)
    return xr.Dataset(
        {
            "alpha": alpha, "alpha_interpolation_error": alpha * alpha_change, "alpha_node_error": alpha * alpha_shift,
            "factor": factor, "factor_interpolation_error": factor * change, "factor_node_error": factor * shift,
        }
    )  # fmt: skip


def _where_zero(own, own_shift, values, shift):
    """A function where another one, `own`, first crosses zero upwards; its distance from the chord there; its shift by the nodes.

    All are arrays over one axis; `own_shift` and `shift` are shifts of `own` and of `values`.
    """
    first = np.flatnonzero((own[:-1] <= 0) & (own[1:] > 0))
    if not first.size:
        return np.nan, np.nan, np.nan
    low, high = first[0], first[0] + 1
    before = [low - 1] if low > 0 and own[low - 1] < own[low] else []
    after = [high + 1] if high + 1 < len(own) and own[high + 1] > own[high] else []
    chosen = np.array([*before, low, high, *after])
    best = float(BarycentricInterpolator(own[chosen], values[chosen], rng=0)(0.0))
    part = -own[low] / (own[high] - own[low])
    chord = (1 - part) * values[low] + part * values[high]
    # Without a further point nothing shows the bend of the curve: it may be anywhere between both ends.
    rough = chord if len(chosen) > 2 else values[low if part < 0.5 else high]
    slope = (values[high] - values[low]) / (own[high] - own[low])
    moved = (1 - part) * (shift[low] - slope * own_shift[low]) + part * (shift[high] - slope * own_shift[high])
    return best, abs(best - rough), moved


def growth_threshold(cube, layer):
    """alpha at which a layer begins to grow while the last layer alone is learned, and its error: arrays (grid...).

    Mean over replicas of `growth_at_threshold`. The error holds the scatter of the replicas, and what they share: the error of
    the interpolation and that of few nodes. NaN where a replica does not reach the crossing.
    """
    return _mean_with_shared(growth_at_threshold(cube, layer), "alpha")


def growth_factors_at_threshold(cube, layer):
    """Factors of all layers where one begins to grow, and their errors as in `growth_threshold`: arrays (grid..., layer)."""
    return _mean_with_shared(growth_at_threshold(cube, layer), "factor")


def _mean_with_shared(found, name):
    values, change, shift = (
        found[f"{name}{part}"].transpose(..., "replica").values for part in ("", "_interpolation_error", "_node_error")
    )
    # A mean over the replicas that happen to reach the crossing would be a mean over the low ones.
    missing = np.isnan(values).any(axis=-1)
    mean, spread = mean_and_error(values, axis=-1)
    error = np.sqrt(spread**2 + change.mean(axis=-1) ** 2 + shift.mean(axis=-1) ** 2)
    return np.where(missing, np.nan, mean), np.where(missing, np.nan, error)


# Minima whose cosines with the target agree within this are the same one.
SAME_COSINE = 0.01


def lowest_start(cube) -> xr.Dataset:
    """Which start of `erm_minimisation` ends at the smallest training objective, decided over all data sets together.

    A start often ends in one of several minima, so that differences of objectives have heavy tails; their signs do not. Data
    sets in which a start does not converge have no part.

    Returns
    -------
    Dataset
        `start` (grid...): name of the start whose objective has the smallest median over the data sets. `decided` (grid...):
        whether no other start ends at a smaller objective with other cosines |w . w*| / |w| |w*| in half of the data sets, by a
        sign test at the level of three standard deviations: it needs ten data sets if none is an exception. Where `decided` is
        false, the objective does not decide between the cosines. Both are empty and false without data sets.
    """
    parts = [cube.objective_by_start, _cosine_by_start(cube), cube.converged_by_start]
    start, decided = xr.apply_ufunc(
        _lowest, *parts, input_core_dims=[["replica", "init"], ["replica", "init", "layer"], ["replica", "init"]],
        output_core_dims=[[], []], vectorize=True,
    )  # fmt: skip
    names = np.array([*cube.init.values, ""])
    return xr.Dataset({"start": start.copy(data=names[start.values.astype(int)]), "decided": decided.astype(bool)})


def _cosine_by_start(cube):
    """|cosine| of each row with that of its target, (grid..., replica, init, layer)."""
    rows = [
        abs(cube.overlap_by_start.sel(layer=row, layer_star=row, drop=True))
        / np.sqrt(
            cube.student_norm_by_start.sel(layer=row, layer_other=row, drop=True)
            * cube.target_norm.sel(layer_star=row, layer_star_other=row, drop=True)
        )
        for row in cube.layer.values
    ]
    return xr.concat(rows, cube.layer)


def _lowest(objective, cosine, converged):
    """`lowest_start` at one point: arrays (replica, start, ...); the start is -1 without data sets."""
    kept = np.all(converged == 1, axis=1)
    if not kept.any():
        return -1.0, 0.0
    objective, cosine = objective[kept], cosine[kept]
    lowest = int(np.argmin(np.median(objective, axis=0)))
    # NaN, of a row of norm zero, is no other cosine.
    apart = np.any(np.abs(cosine - cosine[:, [lowest]]) > SAME_COSINE, axis=-1)
    exceptions = np.sum(apart & (objective < objective[:, [lowest]]), axis=0).max()
    decided = not apart.any() or bdtr(exceptions, len(objective), 0.5) < ndtr(-DECIDED)
    return float(lowest), float(decided)
