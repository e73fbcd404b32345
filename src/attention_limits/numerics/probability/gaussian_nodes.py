"""Gaussian expectations on scrambled Sobol nodes."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GaussianNodes:
    """Nodes and weights with E f(x) = mean over nodes of weights * f(points), x standard normal.

    Attributes
    ----------
    points : array (n, dimension)
    weights : array (n,)
        Ratio of the standard normal density to that of the nodes; its expectation is 1.
    widening : float
        Standard deviation of the nodes, the same in every dimension.
    """

    points: np.ndarray
    weights: np.ndarray
    widening: float

    def mean(self, values):
        """Weighted mean over the nodes of `values`, array (n, ...): array (...)."""
        return np.tensordot(self.weights, values, axes=1) / len(self.weights)

    def head(self, count):
        """The first `count` nodes; a power of two of Sobol nodes is balanced in itself."""
        return GaussianNodes(self.points[:count], self.weights[:count], self.widening)

    def without_first(self, count):
        """The same nodes without their first `count` variables, if f does not depend on these: the weights scatter less."""
        points = self.points[:, count:]
        return GaussianNodes(points, _weights(points, self.widening), self.widening)

    def first(self, count):
        """The same nodes with their first `count` variables alone, if f depends on no other: the weights scatter less."""
        points = self.points[:, :count]
        return GaussianNodes(points, _weights(points, self.widening), self.widening)

    def blocks(self, count):
        """`count` successive blocks of equal size, the number of nodes divided by it; each is balanced in itself."""
        parts = zip(np.split(self.points, count), np.split(self.weights, count), strict=True)
        return [GaussianNodes(points, weights, self.widening) for points, weights in parts]

    def __len__(self):
        return len(self.weights)


def gaussian_nodes(dimension, count, generator, widening=1.15) -> GaussianNodes:
    """Owen-scrambled Sobol nodes mapped to a normal distribution of standard deviation `widening`, with importance weights.

    The integrands of state evolution grow like the fourth power of the fields: their tails carry much of the expectation, and
    nodes at unit width underestimate both it and its error. Widening by 1.15 in eight dimensions raises the variance of a
    constant by 0.28 and lowers that of the channel averages by a factor of two to four.

    Parameters
    ----------
    dimension : int
        Number of standard normal variables per node, at least 1.
    count : int
        Number of nodes, a power of two (the balance of the Sobol sequence is lost otherwise).
    generator : numpy.random.Generator
        Source of the scrambling: independent scramblings give independent, unbiased estimates of an expectation, whose
        spread is its error.
    widening : float
        Standard deviation of the nodes, >= 1.

    Raises
    ------
    ValueError
        If count is not a power of two.
    """
    if count < 1 or count & (count - 1):
        raise ValueError(f"the number of Sobol nodes must be a power of two, got {count}")
    # These imports take most of a second; the start of the workflow and the many jobs that draw no nodes save it.
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(dimension, scramble=True, rng=generator).random(count)
    # Scrambled nodes have 30 bits: zero can occur, and would map to -infinity.
    standard = ndtri(np.clip(uniform, 2.0**-31, 1.0 - 2.0**-31))
    points = widening * standard
    return GaussianNodes(points, _weights(points, widening), widening)


def _weights(points, widening):
    """Standard normal density over that of nodes of this width, at points (n, dimension): array (n,)."""
    squares = np.sum(points**2, axis=1)
    return np.exp(points.shape[1] * np.log(widening) - 0.5 * (1.0 - widening**-2) * squares)
