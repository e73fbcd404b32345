"""What the models of several layers share: two tokens, and posteriors by sampling. Derived for this project."""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from attention_limits.attention_indexed.model.scores import attention
from attention_limits.attention_indexed.two_layers import contrasts as of_scores
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes

# A sampled output is resolved if this many effective nodes carry it in both estimates.
FEWEST = 20.0
# The error of the nodes of a posterior is common to all outputs that share them: at least so many outputs of an average, in at
# most so many groups.
SHARED, GROUPS = 16, 64
# The least information: where the data hardly inform about a layer, noise of the nodes can make it negative.
LEAST = 1e-12


@dataclass(frozen=True)
class Averages:
    """Averages over outputs.

    Attributes
    ----------
    information : array (L,)
        k_l = 2 E |z_l|^2.
    resolved : float
        Fraction of outputs whose posterior met its accuracy check.
    """

    information: np.ndarray
    resolved: float


@dataclass(frozen=True)
class TwoTokens:
    """Two layers that read two tokens, at one strength of the residual connection.

    Attributes
    ----------
    skip : float
        c >= 0. For c >= 1 the mixing matrix of all tokens is invertible.
    beta : float
        Inverse temperature, > 0.

    Raises
    ------
    ValueError
        If c < 0, or beta is not positive; both must be finite.
    """

    skip: float = 1.0
    beta: float = 1.0

    tokens = 2
    layers = 2
    # Contrasts of a layer.
    size = 2

    def __post_init__(self):
        if not (0 <= self.skip < math.inf and 0 < self.beta < math.inf):
            raise ValueError(f"need skip >= 0 and beta > 0, both finite, got {self.skip} and {self.beta}")

    def last_scores(self, first, second):
        """h^2 = B h B^T (n, 2, 2) of the raw scores of the layers, `first` and h = `second` (n, 2, 2), B = c I + attention."""
        B = attention(first, self.beta) + self.skip * np.eye(2)
        return B @ second @ np.swapaxes(B, 1, 2)


class Sampled:
    """The posterior of a model with the fields `tokens` and `seed`, from the two independent `estimates` of a derived class.

    `estimates(observed, means, V)` gives arrays of two estimates each: log Z (2, n) of the outputs, posterior means of the
    contrasts minus their prior means (2, n, L, D), and of the squares of these deviations, summed over the contrasts of a layer
    (2, n, L), in units of sqrt(V_l) and V_l; and the effective number of nodes (2, n).
    """

    def part(self, number):
        """The model with other nodes of its posterior, for the part of this `number` of the nodes of an average."""
        return replace(self, seed=self.seed + 1 + number)

    def contrasts(self, h):
        """Contrasts (..., D) of scores h (..., M, M)."""
        return of_scores.contrasts(h)

    def slopes(self, z, V):
        """G_l (n, L, M, M) of posterior means z (n, L, D) in prior standard deviations, at variances V (L,)."""
        return of_scores.slopes(z, V, self.tokens)

    def posterior(self, observed, means, V):
        """Posterior of outputs `observed` (n, ...), at prior means (n, L, D) of `contrasts` and variances V (L,).

        Returns
        -------
        log_z : array (n,)
            Log probability of the output, or log density of its contrasts.
        z : array (n, L, D)
            Posterior means of the contrasts minus their prior means, in units of sqrt(V_l).
        spread : array (n, L)
            Posterior variances in these units, summed over the contrasts of a layer: E |z_l|^2 = D - E spread_l.
        resolved : bool array (n,)
            Whether at least FEWEST effective nodes carry the output in both estimates.
        """
        log_z, mean, squares, effective = self.estimates(observed, means, V)
        spread = squares.mean(axis=0) - np.sum(mean[0] * mean[1], axis=2)
        return np.logaddexp(*log_z) - np.log(2.0), mean.mean(axis=0), spread, np.all(effective >= FEWEST, axis=0)


def groups(count: int) -> Iterator[tuple[int, slice]]:
    """The groups of `count` outputs that share the nodes of their posterior: number and slice of each."""
    size = max(SHARED, count // GROUPS)
    for number, start in enumerate(range(0, count, size)):
        yield number, slice(start, start + size)


@functools.lru_cache(maxsize=8 * GROUPS)
def node_sets(seed: int, number: int, sets: int, dimension: int, count: int) -> list[np.ndarray]:
    """`sets` independent scramblings of `count` Gaussian nodes (count, dimension), for the group `number` of a model of this
    `seed`."""
    generator = np.random.default_rng((seed, number))
    return [gaussian_nodes(dimension, count, generator, widening=1.0).points for _ in range(sets)]
