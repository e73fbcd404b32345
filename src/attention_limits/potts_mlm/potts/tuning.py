"""Search for the inverse temperature with a given mean Hamming distance, and ladders with a given swap rate.

Rende et al. 2024 (arXiv:2304.07235) choose the temperature of their data by this distance.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.potts_mlm.potts.gibbs import Ladder, compare
from attention_limits.potts_mlm.potts.model import Potts

# The first ladder, evenly spaced from 0: its top and its number of temperatures.
FIRST_TOP = 0.4
FIRST_RUNGS = 6
# Factor by which the top grows until the ladder brackets the target.
GROWTH = 1.4
# Length of the warm-up, as a fraction of the run.
WARM_UP = 0.25
# Keeps the barrier increasing where every exchange was accepted.
SMALLEST_REJECTION = 1e-3


class UnreachableError(ValueError):
    """No allowed inverse temperature gives so small a mean Hamming distance.

    Attributes
    ----------
    nearest : Tuning or None
        The ladder up to the largest allowed inverse temperature, if the search came there.
    """

    nearest = None


class Search(Protocol):
    """The settings that `tune` reads; the section `schema.samples.PottsSamples.Solver` has them.

    Attributes
    ----------
    tolerance : float
        Allowed deviation of the distance from the target, beyond one standard error.
    swap_rate : float
        Accepted fraction of the exchanges between neighbours for which a ladder is designed.
    beta_max : float
        Largest inverse temperature.
    tuning_samples, tuning_gap : int
        Configurations of a run in the bracketing, and sweeps between them; round t takes 2^t times as many.
    tuning_rounds : int
        Largest number of rounds.
    """

    tolerance: float
    swap_rate: float
    beta_max: float
    tuning_samples: int
    tuning_gap: int
    tuning_rounds: int


@dataclass(frozen=True)
class Tuning:
    """A ladder whose top is the inverse temperature at which the mean Hamming distance is the target.

    Attributes
    ----------
    betas : array (K,)
        From 0 to the tuned beta.
    error : float
        Standard error of the tuned beta: the error of the distance over the slope.
    distance, distance_error : float
        Measured at the tuned beta.
    """

    betas: np.ndarray
    error: float
    distance: float
    distance_error: float


def spaced(betas, rejection, top: float, swap_rate: float) -> np.ndarray:
    """A ladder from 0 to `top` at which neighbours exchange at about `swap_rate` or more.

    The rejection rates (K - 1,) on `betas` (K,) add up along the ladder to a barrier. If the ladder is fine, its choice does not
    change the barrier (Syed, Bouchard-Cote, Deligiannidis, Doucet 2022). The new ladder divides the barrier evenly.
    """
    barrier = np.concatenate([[0.0], np.cumsum(np.maximum(rejection, SMALLEST_REJECTION))])
    height = np.interp(top, betas, barrier)
    pieces = max(1, int(np.ceil(height / (1.0 - swap_rate) - 1e-9)))
    ladder = np.interp(np.linspace(0.0, height, pieces + 1), barrier, betas)
    # Beyond the measured ladder the last step of the new one is longer.
    ladder[-1] = top
    return ladder


def tune(model: Potts, target: float, rng: np.random.Generator, search: Search) -> Tuning:
    """Find the inverse temperature at which the mean Hamming distance of a `model` is `target`, with the settings `search`.

    Two independent tempered runs, with random numbers from the Generator `rng`, estimate the distance along a ladder, which grows
    until it brackets the target. Each round interpolates the target, lays a new ladder up to it, and measures it with twice
    the samples. The rounds end when the distance at the top deviates from the target by less than the tolerance plus its error.
    Raises UnreachableError when `beta_max` does not reach the target, or the target is not below the distance of random colours.
    """
    betas, distance, rejection = _bracket(model, target, rng, search)
    for turn in range(1, search.tuning_rounds + 1):
        found, slope = _crossing(betas, distance, target)
        betas = spaced(betas, rejection, found, search.swap_rate)
        distance, error, rejection = _measure(model, betas, rng, search.tuning_samples * 2**turn, search.tuning_gap)
        if abs(distance[-1] - target) <= search.tolerance + error[-1]:
            break
    return Tuning(betas, error[-1] / slope, distance[-1], error[-1])


def _bracket(model, target, rng, search):
    """A ladder whose top has a smaller distance than the target, with distances (K,) and rejection rates (K - 1,)."""
    random = 1.0 - 1.0 / model.colors
    if target >= random:
        raise UnreachableError(
            f"the mean Hamming distance is largest at beta = 0, {random:g} for {model.colors} colours; the target is {target:g}"
        )
    betas = np.linspace(0.0, min(FIRST_TOP, search.beta_max), FIRST_RUNGS)
    while True:
        distance, error, rejection = _measure(model, betas, rng, search.tuning_samples, search.tuning_gap)
        top = betas[-1]
        if distance[-1] < target - 2.0 * error[-1]:
            return betas, distance, rejection
        if top >= search.beta_max:
            missed = UnreachableError(
                f"the mean Hamming distance is {distance[-1]:.3f} ± {error[-1]:.3f} at beta = {top:g}, the largest allowed; "
                f"the target is {target:g}"
            )
            missed.nearest = Tuning(
                spaced(betas, rejection, top, search.swap_rate), np.nan, float(distance[-1]), float(error[-1])
            )
            raise missed
        # The next stretch is at first as fine as the last one.
        betas = spaced(betas, rejection, top, search.swap_rate)
        grown = min(top * GROWTH, search.beta_max)
        pieces = max(1, round((grown - top) / (betas[-1] - betas[-2])))
        betas = np.append(betas[:-1], np.linspace(top, grown, pieces + 1))


def _measure(model, betas, rng, samples, gap):
    """Distance and its error (K,) and rejection rates (K - 1,) on a ladder, from two independent runs."""
    ladder = Ladder(model, betas, rng, runs=2)
    ladder.sample(int(np.ceil(WARM_UP * samples)), gap)
    runs = ladder.sample(samples, gap)
    agreement = compare(*runs, model.colors)
    # The difference of the runs counts where it exceeds their errors.
    spread = np.abs(agreement.distance[:, 0] - agreement.distance[:, 1]) / 2.0
    error = np.maximum(np.hypot(*agreement.distance_error.T) / 2.0, spread)
    distance = agreement.distance.mean(axis=1)
    # Every ladder begins at beta = 0, where all colours are equally likely.
    distance[0], error[0] = 1.0 - 1.0 / model.colors, 0.0
    return distance, error, 1.0 - (runs[0].swap_rate + runs[1].swap_rate) / 2.0


def _crossing(betas, distance, target):
    """The beta at which the decreasing hull of the distance first meets the target, and -d distance / d beta at it.

    The last slope continues a ladder that ends just above the target.
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
