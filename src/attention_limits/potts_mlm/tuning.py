"""Inverse temperatures: a ladder with a wanted swap rate, up to the beta at which the mean Hamming distance is a target.

Rende et al. 2024 (arXiv:2304.07235) choose the temperature of their data by this distance.
"""

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
    """A ladder whose top is the inverse temperature at which the mean Hamming distance is the target.

    Attributes
    ----------
    betas : array (K,)
        From 0 to the beta found.
    error : float
        Standard error of the beta found: that of the distance over the slope.
    distance, distance_error : float
        As measured at the beta found.
    """

    betas: np.ndarray
    error: float
    distance: float
    distance_error: float


def spaced(betas, rejection, top: float, swap_rate: float) -> np.ndarray:
    """A ladder from 0 to `top` at which neighbours exchange at about `swap_rate` or more.

    The rejection rates (K - 1,) measured on `betas` (K,) add up along the ladder to a barrier that does not depend on the
    ladder when it is fine (Syed, Bouchard-Cote, Deligiannidis, Doucet 2022), and which is cut evenly here.
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejection, 1e-3))])
    height = np.interp(top, betas, barrier)
    pieces = max(1, int(np.ceil(height / (1.0 - swap_rate) - 1e-9)))
    ladder = np.interp(np.linspace(0.0, height, pieces + 1), barrier, betas)
    # Beyond the measured ladder the last step of the new one is longer.
    ladder[-1] = top
    return ladder


def tune(
    model: Potts, target: float, rng: np.random.Generator, *, tolerance: float, swap_rate: float, beta_max: float,
    samples: int, gap: int, rounds: int,
) -> Tuning:  # fmt: skip
    """Find the inverse temperature at which the mean Hamming distance of a `model` is `target`.

    Two independent tempered runs of `samples` configurations, `gap` sweeps apart, estimate the distance along a ladder that grows
    until it brackets the target. The target is interpolated, the ladder laid anew and measured with twice the samples, until
    the distance at its top is within `tolerance` plus its standard error of the target, or the `rounds` are over. Every ladder is
    laid so that neighbours exchange at about `swap_rate`; `rng` is a numpy.random.Generator.
    Raises UnreachableError when the target is not reached below `beta_max`, or not below the distance of random colours.
    """
    random = 1.0 - 1.0 / model.colors
    if target >= random:
        raise UnreachableError(
            f"the mean Hamming distance is largest at beta = 0, {random:g} for {model.colors} colours; the target is {target:g}"
        )
    betas = np.linspace(0.0, FIRST_TOP, 6)
    while True:
        distance, error, rejection = _measure(model, betas, rng, samples, gap)
        top = betas[-1]
        if distance[-1] < target - 2.0 * error[-1]:
            break
        if top >= beta_max:
            raise UnreachableError(
                f"the mean Hamming distance is {distance[-1]:.3f} ± {error[-1]:.3f} at beta = {beta_max:g}, the largest allowed; "
                f"the target is {target:g}"
            )
        # The next stretch is at first as fine as the last one.
        betas = spaced(betas, rejection, top, swap_rate)
        grown = min(top * GROWTH, beta_max)
        pieces = max(1, round((grown - top) / (betas[-1] - betas[-2])))
        betas = np.append(betas[:-1], np.linspace(top, grown, pieces + 1))
    for turn in range(1, rounds + 1):
        found, slope = _crossing(betas, distance, target)
        betas = spaced(betas, rejection, found, swap_rate)
        distance, error, rejection = _measure(model, betas, rng, samples * 2**turn, gap)
        if abs(distance[-1] - target) <= tolerance + error[-1]:
            break
    return Tuning(betas, error[-1] / slope, distance[-1], error[-1])


def _measure(model, betas, rng, samples, gap):
    """Distance and its error (K,) and rejection rates (K - 1,) on a ladder, from two independent runs."""
    runs = []
    for stream in rng.spawn(2):
        ladder = Ladder(model, betas, stream)
        ladder.sample(int(np.ceil(WARM_UP * samples)), gap)
        runs.append(ladder.sample(samples, gap))
    agreement = compare(*runs, model.colors)
    # What the runs disagree by beyond their own errors counts too.
    spread = np.abs(agreement.distance[:, 0] - agreement.distance[:, 1]) / 2.0
    error = np.maximum(np.hypot(*agreement.distance_error.T) / 2.0, spread)
    distance = agreement.distance.mean(axis=1)
    # At beta = 0, where every ladder begins, all colours are equally likely.
    distance[0], error[0] = 1.0 - 1.0 / model.colors, 0.0
    return distance, error, 1.0 - (runs[0].swap_rate + runs[1].swap_rate) / 2.0


def _crossing(betas, distance, target):
    """Where the decreasing hull of the distance first meets the target, and -d distance / d beta there.

    A ladder that ends just above the target is continued with its last slope.
    """
    hull = np.minimum.accumulate(distance)
    below = np.flatnonzero(hull < target)
    upper = below[0] if len(below) else len(betas) - 1
    above = np.flatnonzero(hull[:upper] > hull[upper])
    if not len(above):
        raise UnreachableError(
            f"the mean Hamming distance does not fall below {hull[0]:g} by more than its error up to beta = {betas[-1]:g}; "
            f"the target is {target:g}"
        )
    lower = above[-1]
    slope = (hull[lower] - hull[upper]) / (betas[upper] - betas[lower])
    return betas[upper] - (target - hull[upper]) / slope, slope
