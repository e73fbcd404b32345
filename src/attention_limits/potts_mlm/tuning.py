"""Inverse temperatures: a ladder with a wanted swap rate, and the beta at which the mean Hamming distance is a target."""

import itertools
from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.gibbs import Ladder, compare
from attention_limits.potts_mlm.potts import Potts

FIRST_TOP = 0.4
GROWTH = 1.4
# Fraction of a run that is thrown away at its beginning.
WARM_UP = 0.25


class UnreachableError(ValueError):
    """The model does not come as close together as asked for within the inverse temperatures allowed."""


@dataclass(frozen=True)
class Tuning:
    """A ladder that contains the inverse temperatures at which the distance is each target.

    Attributes
    ----------
    betas : array (K,)
    index : array of whole numbers (targets,)
        Where each target's beta is in `betas`.
    error : array (targets,)
        Standard error of each target's beta: that of the distance over the slope.
    distance, distance_error : arrays (targets,)
        As measured at the betas found.
    """

    betas: np.ndarray
    index: np.ndarray
    error: np.ndarray
    distance: np.ndarray
    distance_error: np.ndarray


def spaced(betas, rejection, anchors, swap_rate: float) -> np.ndarray:
    """A ladder from 0 through all `anchors` (increasing, > 0) at which neighbours exchange at about `swap_rate` or more.

    The rejection rates (K - 1,) measured on `betas` (K,) add up along the ladder to a barrier that does not depend on the
    ladder when it is fine (Syed, Bouchard-Cote, Deligiannidis, Doucet 2022); each stretch between anchors is cut evenly in it.
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejection, 1e-3))])
    ends = np.concatenate([[0.0], anchors])
    heights = np.interp(ends, betas, barrier)
    ladder = [0.0]
    for low, high, end in zip(heights[:-1], heights[1:], anchors, strict=True):
        pieces = max(1, int(np.ceil((high - low) / (1.0 - swap_rate))))
        inner = np.linspace(low, high, pieces + 1)[1:-1]
        ladder += [*np.interp(inner, barrier, betas), end]
    return np.array(ladder)


def tune(
    model: Potts, targets, rng: np.random.Generator, *, tolerance: float, swap_rate: float, beta_max: float, samples: int,
    gap: int, rounds: int,
) -> Tuning:  # fmt: skip
    """Find the inverse temperatures at which the mean Hamming distance is each of `targets` (decreasing).

    Two independent tempered runs of `samples` configurations estimate the distance along a ladder; each target is bracketed
    and interpolated, the ladder is laid through the betas found and measured again with twice the samples, until every
    distance is within `tolerance` (plus its error) of its target or the rounds are over.
    Raises UnreachableError when a target is not reached below `beta_max`.
    """
    targets = np.asarray(targets, dtype=float)
    top, betas = FIRST_TOP, np.linspace(0.0, FIRST_TOP, 6)
    while True:
        distance, error, rejection = _measure(model, betas, rng, samples, gap)
        if distance[-1] < targets[-1] - 2.0 * error[-1]:
            break
        if top >= beta_max:
            raise UnreachableError(
                f"the mean Hamming distance is {distance[-1]:.3f} ± {error[-1]:.3f} at beta = {beta_max:g}, the largest allowed; "
                f"the target is {targets[-1]:g}"
            )
        # The next stretch is at first as fine as the last one.
        betas = spaced(betas, rejection, [top], swap_rate)
        grown = min(top * GROWTH, beta_max)
        pieces = max(1, round((grown - top) / (betas[-1] - betas[-2])))
        betas = np.append(betas[:-1], np.linspace(top, grown, pieces + 1))
        top = grown
    for turn in itertools.count(1):
        found, slope = _crossings(betas, distance, targets)
        betas = spaced(betas, rejection, found, swap_rate)
        index = np.searchsorted(betas, found)
        distance, error, rejection = _measure(model, betas, rng, samples * 2**turn, gap)
        missed = np.abs(distance[index] - targets)
        if np.all(missed <= tolerance + error[index]) or turn == rounds:
            return Tuning(betas, index, error[index] / slope, distance[index], error[index])
        # A distance just above the last target at the top of the ladder leaves nothing to interpolate to.
        betas, distance, rejection = _beyond(betas, distance, rejection, slope[-1], targets[-1])


def _measure(model, betas, rng, samples, gap):
    runs = []
    for stream in rng.spawn(2):
        ladder = Ladder(model, betas, stream)
        ladder.sample(int(np.ceil(WARM_UP * samples)), gap)
        runs.append(ladder.sample(samples, gap))
    agreement = compare(*runs, model.colors)
    within = agreement.distance.mean(axis=1)
    # What the runs disagree by beyond their own errors counts too.
    spread = np.abs(agreement.distance[:, 0] - agreement.distance[:, 1]) / 2.0
    error = np.maximum(np.hypot(*agreement.distance_error.T) / 2.0, spread)
    return within, error, 1.0 - (runs[0].swap_rate + runs[1].swap_rate) / 2.0


def _crossings(betas, distance, targets):
    """Where the decreasing hull of the distance first meets each target, and -d distance / d beta there."""
    hull = np.minimum.accumulate(distance)
    upper = np.array([int(np.argmax(hull < target)) for target in targets])
    slope = (hull[upper - 1] - hull[upper]) / (betas[upper] - betas[upper - 1])
    return betas[upper] - (targets - hull[upper]) / slope, slope


def _beyond(betas, distance, rejection, slope, target):
    """The measured ladder with one more rung, extrapolated with the last slope, when its top has not passed the target."""
    if distance[-1] < target:
        return betas, distance, rejection
    step = 2.0 * (distance[-1] - target) / slope + 0.01 * betas[-1]
    return np.append(betas, betas[-1] + step), np.append(distance, 2.0 * target - distance[-1] - 1e-3), np.append(rejection, 0.1)
