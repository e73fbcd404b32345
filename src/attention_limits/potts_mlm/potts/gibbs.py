"""Gibbs sampling of the generalised Potts model with parallel tempering, and tests of equilibrium.

At the low temperatures of Rende et al. 2024 a single chain stays near its initial state. A ladder of inverse temperatures begins
at 0; neighbours on it exchange configurations. Every configuration returns to beta = 0, where it forgets its past.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.chain_diagnostics import autocorrelation_time, jackknife, split_r_hat
from attention_limits.numerics.simd.float32_lanes import WIDTH
from attention_limits.pipeline.base.progress import progress
from attention_limits.potts_mlm.potts import gibbs_kernels
from attention_limits.potts_mlm.potts.model import Potts

# Blocks of the jackknife. In a useful run each is longer than the autocorrelation time.
BLOCKS = 20
# Configurations per call of the kernel. The line of progress moves between calls.
BATCH = 50


@dataclass(frozen=True)
class Sampled:
    """Configurations of one run.

    Attributes
    ----------
    states : int8 array (n, K, L)
        By temperature.
    energies : array (n, K)
    swap_rate : array (K - 1,)
        Accepted fraction of the exchanges of neighbouring temperatures.
    """

    states: np.ndarray
    energies: np.ndarray
    swap_rate: np.ndarray


class Ladder:
    """Replicas of a model at increasing inverse temperatures, from random colours; independent runs are swept side by side.

    The sweeps compute in single precision, the saved energies in double precision.

    Parameters
    ----------
    model : Potts
    betas : array (K,)
        Inverse temperatures, at least 0 and increasing.
    rng : numpy.random.Generator
    runs : int
        Number of independent ladders.
    random_sites : bool
        Draw L sites with replacement per sweep instead of visiting the sites in order.

    Raises
    ------
    ValueError
        When `betas` does not increase or is negative.
    """

    def __init__(self, model: Potts, betas, rng: np.random.Generator, runs: int = 1, random_sites: bool = False):
        self.model, self.rng, self.random_sites = model, rng, random_sites
        self.betas = np.array(betas, dtype=float, ndmin=1)
        if self.betas[0] < 0 or np.any(np.diff(self.betas) <= 0):
            raise ValueError(f"betas {self.betas.tolist()}: must be at least 0 and increase")
        order = np.arange(runs * len(self.betas)).reshape(runs, -1)
        blocks = -(-order.size // WIDTH)
        colors = rng.integers(0, model.colors, (blocks, model.sites, WIDTH), dtype=np.int32)
        places = colors * WIDTH + np.arange(WIDTH, dtype=np.int32)
        states = rng.integers(0, 2**64, (blocks, 4, WIDTH), dtype=np.uint64)
        self._replicas = gibbs_kernels.Replicas(order, places, states)
        rows = -(-model.colors // gibbs_kernels.ROWS) * gibbs_kernels.ROWS
        narrow_U = np.zeros((rows, model.colors), dtype=np.float32)
        narrow_U[: model.colors] = model.U
        self._couplings = gibbs_kernels.Couplings(model.J, model.U, model.J.astype(np.float32), narrow_U)

    def sample(self, count: int, gap: int, label: str = "") -> list[Sampled]:
        """The next `count` configurations of each run and temperature, `gap` sweeps apart; `label` names the line of progress."""
        runs, size = self._replicas.order.shape
        states = np.empty((runs, count, size, self.model.sites), dtype=np.int8)
        energies = np.empty((runs, count, size))
        accepted, tried = np.zeros((2, runs, size - 1), dtype=np.int64)
        starts = range(0, count, BATCH)
        for start in progress(starts, len(starts), label) if label else starts:
            part = slice(start, start + BATCH)
            saved = gibbs_kernels.Saved(states[:, part], energies[:, part], accepted, tried)
            gibbs_kernels.temper(self.rng, self._couplings, self.betas, self._replicas, self.random_sites, gap, saved)
        rates = accepted / np.maximum(tried, 1)
        return [Sampled(*run) for run in zip(states, energies, rates, strict=True)]


def hamming_distance(states, colors: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean fraction of sites at which two configurations of a run differ, and its standard error.

    d_H = (1/L) sum_i [1 - sum_a n_ia (n_ia - 1) / (n (n - 1))]; the error is that of a jackknife over blocks of the run.

    Parameters
    ----------
    states : int8 array (n, ..., L)
        In the order of the run, n >= 2 BLOCKS.
    colors : int
        C.

    Returns
    -------
    distance, error : arrays (...)
    """
    blocks = np.array([color_counts(block, colors) for block in np.array_split(states, BLOCKS)])
    return jackknife(_distance, blocks)


def color_counts(states, colors: int) -> np.ndarray:
    """Number of occurrences of each of the C = `colors` colours at each site of states (n, ..., L): array (..., L, C)."""
    return np.stack([np.count_nonzero(states == color, axis=0) for color in range(colors)], axis=-1)


def _distance(counts) -> np.ndarray:
    total = counts[..., 0, :].sum(axis=-1)[..., None]
    return np.mean(1.0 - (counts * (counts - 1)).sum(axis=-1) / (total * (total - 1)), axis=-1)


def cross_distance(first, second) -> np.ndarray:
    """Mean fraction of differing sites between configurations of two runs: array (...).

    `first` and `second` are the colour counts (..., L, C) of the runs, from `color_counts`. Twice this distance, minus the
    distances within the two runs, is the squared difference of their site frequencies: zero in equilibrium.
    """
    sizes = first[..., 0, :].sum(axis=-1) * second[..., 0, :].sum(axis=-1)
    return np.mean(1.0 - (first * second).sum(axis=-1) / sizes[..., None], axis=-1)


@dataclass(frozen=True)
class Agreement:
    """Comparison of two independent runs at each temperature; arrays (..., 2) are by run.

    Attributes
    ----------
    distance, distance_error : arrays (K, 2)
        Hamming distance within each run.
    cross : array (K,)
        Between the runs.
    autocorrelation : array (K, 2)
        In saved configurations: the larger one of the times of two observables, energy and overlap with the commonest colours.
    r_hat : array (K,)
        Split R-hat: the larger one for the same two observables.
    """

    distance: np.ndarray
    distance_error: np.ndarray
    cross: np.ndarray
    autocorrelation: np.ndarray
    r_hat: np.ndarray

    def converged(self, largest_r_hat: float, deviations: float = 4.0) -> np.ndarray:
        """Whether R-hat is at most `largest_r_hat` and the distances agree within `deviations` standard errors: bool (K,)."""
        difference = np.abs(self.distance[:, 0] - self.distance[:, 1])
        error = np.hypot(self.distance_error[:, 0], self.distance_error[:, 1])
        return (self.r_hat <= largest_r_hat) & (difference <= deviations * error)


def compare(first: Sampled, second: Sampled, colors: int) -> Agreement:
    """Compare `first` and `second`, independent runs of the same ladder and length; `colors` is C."""
    runs = (first, second)
    counts = [color_counts(run.states, colors) for run in runs]
    distances = [hamming_distance(run.states, colors) for run in runs]
    common = (counts[0] + counts[1]).argmax(axis=-1)
    energies = [run.energies.T for run in runs]
    overlaps = [np.mean(run.states == common, axis=2).T for run in runs]
    # (observable, temperature, run, time)
    series = np.array([energies, overlaps]).swapaxes(1, 2)
    tau = np.array([[[autocorrelation_time(run) for run in pair] for pair in observable] for observable in series])
    r_hat = np.array([[split_r_hat(pair) for pair in observable] for observable in series])
    return Agreement(
        distance=np.stack([value for value, _ in distances], axis=-1),
        distance_error=np.stack([error for _, error in distances], axis=-1),
        cross=cross_distance(*counts),
        autocorrelation=tau.max(axis=0),
        r_hat=r_hat.max(axis=0),
    )
