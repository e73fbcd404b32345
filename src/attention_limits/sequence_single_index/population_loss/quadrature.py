"""Hermite expansions of links: F_kappa(shift) = E[F(z + shift) h_kappa(z)], h_kappa normalised, z standard normal.

With He in place of h, F_kappa = E[F He_kappa] / sqrt(kappa!), so that products of two coefficients carry the 1 / kappa! of
the population loss (arXiv:2506.02651).
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cubature

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.hermite import (
    gauss_hermite,
    hermite_values,
    multi_indices,
    tensor_coefficients,
)
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.sequence_single_index.links.checks import RANGE

# Ends, below and above zero, of a second adaptive quadrature: its intervals end elsewhere.
_OTHER_RANGE = 10.37, 10.93
# Nodes per axis of the tensor grids: about 1e5 nodes in all.
NODES = {1: 400, 2: 256, 3: 60, 4: 20, 5: 11, 6: 7}
# Rule of the adaptive quadrature and its largest number of subdivisions, by dimension.
_ADAPTIVE = {1: ("gk21", 1000), 2: ("gk15", 150)}


@dataclass(frozen=True)
class Expansion:
    """Hermite coefficients of a link.

    Attributes
    ----------
    indices : array (n, M)
        Multi-indices kappa, sorted by total degree.
    values, errors : arrays (n, P)
        Normalised coefficients and the absolute errors that the quadrature estimates for them.
    square, square_errors : arrays (n,)
        The same for |F|^2; the first is the second moment. For a sum of Hermite polynomials all others are NaN.
    """

    indices: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    square: np.ndarray
    square_errors: np.ndarray


def polynomial_expansion(link, degree) -> Expansion:
    """The coefficients, up to a total `degree`, of a `link` that is a sum of Hermite polynomials, exact up to rounding."""
    highest = max(link.terms, default=0)
    indices = multi_indices(link.tokens, degree)
    factorial = _factorials(highest)
    values = np.zeros(len(indices))
    values[0] = link.constant
    square = np.full(len(indices), np.nan)
    square[0] = link.constant**2
    for k, weights in link.terms.items():
        for token, weight in enumerate(weights):
            unit = np.where(np.arange(link.tokens) == token, k, 0)
            values[np.all(indices == unit, axis=1)] += weight * np.sqrt(factorial[k])
            square[0] += weight**2 * factorial[k]
    scale = np.finfo(float).eps * np.abs(values)
    return Expansion(indices, values[:, None], scale[:, None], square, np.finfo(float).eps * square)


def lifted_expansion(along, link, degree) -> Expansion:
    """The coefficients of F(v . z) from those of F: F_k sqrt(k! / kappa!) v^kappa with k = |kappa|.

    `along` is the expansion of F in one dimension, v the direction of the `link`, `degree` the highest total degree.
    """
    indices = multi_indices(link.tokens, degree)
    total, factorial = indices.sum(axis=1), _factorials(degree)
    factor = np.sqrt(factorial[total] / factorial[indices].prod(axis=1)) * np.prod(link.direction**indices, axis=1)
    size = np.abs(factor)
    return Expansion(
        indices, factor[:, None] * along.values[total], size[:, None] * along.errors[total], factor * along.square[total],
        size * along.square_errors[total],
    )  # fmt: skip


def adaptive_expansion(link, degree, tolerance) -> Expansion:
    """Coefficients of a link of one or two tokens, up to a total `degree`, by adaptive quadrature to an absolute `tolerance`."""
    indices = multi_indices(link.tokens, degree)

    def integrand(x):
        density = np.exp(-0.5 * np.sum(x**2, axis=1)) / (2 * np.pi) ** (0.5 * link.tokens)
        return np.einsum("kn,np,n->nkp", _products(indices, hermite_values(x, degree)), with_square(link, x), density)

    # Bisection resolves links with kinks or jumps; the errors cover the rest.
    rule, subdivisions = _ADAPTIVE[link.tokens]
    first, other = (
        cubature(
            integrand, -np.full(link.tokens, low), np.full(link.tokens, high), rule=rule, rtol=0.0, atol=tolerance,
            max_subdivisions=subdivisions,
        )
        for low, high in ((RANGE, RANGE), _OTHER_RANGE)
    )  # fmt: skip
    # A jump between the end of an interval and its first node does not raise the error: intervals with other ends detect it.
    gap = np.abs(first.estimate - other.estimate)
    value, error = first.estimate, first.error + other.error + 3.0 * gap
    # A single error can vanish by cancellation.
    error = np.maximum(error, np.sqrt(np.mean(error**2, axis=0)))
    return Expansion(indices, value[:, :-1], error[:, :-1], value[:, -1], error[:, -1])


def grid_expansion(link, degree, shift=0.0, nodes=None) -> Expansion:
    """Coefficients of F(z + shift) of a link of at most six tokens on a Gauss-Hermite grid.

    Two coarser grids, with an eighth and a quarter fewer nodes, change each coefficient. Its error is three times the larger
    change, and at least three times the root mean square of these changes over all coefficients that change: at kinks and jumps
    a single change can be small by chance. Coefficients that vanish by a symmetry of the grid do not change.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    shift : array (M,) or float
        Added to the fields.
    nodes : int, optional
        Nodes per axis.
    """
    count = NODES[link.tokens] if nodes is None else nodes
    indices = multi_indices(link.tokens, degree)
    rows = tuple(indices.T)
    fine = _grid_values(link, degree, shift, count)[rows]
    coarser = [_grid_values(link, degree, shift, count - max(1, count // part))[rows] for part in (8, 4)]
    change = np.abs(fine - coarser)
    size = np.sqrt(fine[0, -1])
    rounding = 1e-13 * np.array([size] * (fine.shape[1] - 1) + [fine[0, -1]])
    changed = change > rounding
    common = np.sqrt(np.sum(np.where(changed, change, 0.0) ** 2, axis=(0, 1)) / np.maximum(changed.sum(axis=(0, 1)), 1))
    errors = np.where(changed.any(axis=0), 3.0 * np.maximum(change.max(axis=0), common), rounding)
    return Expansion(indices, fine[:, :-1], errors[:, :-1], fine[:, -1], errors[:, -1])


def _grid_values(link, degree, shift, count):
    nodes, _ = gauss_hermite(count)
    mesh = np.stack(np.meshgrid(*[nodes] * link.tokens, indexing="ij"), axis=-1)
    values = with_square(link, (mesh + shift).reshape(-1, link.tokens))
    return tensor_coefficients(values.reshape(*mesh.shape[:-1], -1), link.tokens, degree)


def sobol_expansion(link, degree, generator, shift=0.0, nodes=2**14, scramblings=8) -> Expansion:
    """Coefficients of F(z + shift) of any number of tokens on scrambled Sobol nodes; errors are standard errors over scramblings.

    Every node is used with both signs: coefficients that vanish by parity vanish exactly.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    generator : numpy.random.Generator
    shift : array (M,) or float
        Added to the fields.
    nodes : int
        Nodes per scrambling, a power of two.
    scramblings : int
        Number of independent estimates, at least 2 for errors.
    """
    indices = multi_indices(link.tokens, degree)
    odd = indices.sum(axis=1) % 2 == 1
    # The weights of wider nodes spread exponentially in the dimension.
    widening = 1.15 if link.tokens <= 8 else 1.0
    found = []
    for child in generator.spawn(scramblings):
        drawn = gaussian_nodes(link.tokens, nodes, child, widening)
        total = 0.0
        # Blocks keep the table of all products of polynomials small.
        for block in np.array_split(np.arange(nodes), max(1, nodes * len(indices) // 2**22)):
            z, weights = drawn.points[block], 0.5 * drawn.weights[block, None]
            plus, minus = with_square(link, z + shift), with_square(link, shift - z)
            table = _products(indices, hermite_values(z, degree))
            sums = np.empty((len(indices), plus.shape[1]))
            sums[~odd] = table[~odd] @ (weights * (plus + minus))
            sums[odd] = table[odd] @ (weights * (plus - minus))
            total = total + sums
        found.append(total / nodes)
    values, errors = mean_and_error(found)
    return Expansion(indices, values[:, :-1], errors[:, :-1], values[:, -1], errors[:, -1])


def with_square(link, fields):
    """Outputs of the link at `fields` (n, M), and the sum of their squares as one more."""
    values = link(fields)
    return np.concatenate([values, np.sum(values**2, axis=1, keepdims=True)], axis=1)


def _products(indices, tables):
    """prod_l tables[kappa_l, ..., l], array (n, ...), from the products of each half of the tokens."""
    tokens = indices.shape[1]
    if tokens == 1:
        return tables[indices[:, 0], ..., 0]
    parts = []
    for half in (slice(None, tokens // 2), slice(tokens // 2, None)):
        rows, back = np.unique(indices[:, half], axis=0, return_inverse=True)
        parts.append(_products(rows, tables[..., half])[back])
    return parts[0] * parts[1]


def _factorials(degree):
    return np.cumprod([1.0, *range(1, degree + 1)])
