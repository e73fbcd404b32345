"""Hermite expansions of links: F_kappa(shift) = E[F(z + shift) h_kappa(z)], h_kappa normalised, z standard normal.

With He in place of h, F_kappa = E[F He_kappa] / sqrt(kappa!), so that products of two coefficients carry the 1 / kappa! of
the population loss (arXiv:2506.02651).
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import cubature

from attention_limits.numerics.estimators import mean_and_error
from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.hermite import gauss_hermite, hermite_values, multi_indices, tensor_coefficients

# Beyond this the standard normal density is below 1e-22.
RANGE = 10.0
# Nodes per axis of the tensor grids: about 1e5 nodes in all.
NODES = {1: 400, 2: 256, 3: 48, 4: 18}
# Rule and largest number of subdivisions of the adaptive quadrature, by dimension; four stands for more.
_EFFORT = {1: ("gk21", 2000), 2: ("gk21", 2000), 3: ("gk15", 64), 4: ("genz-malik", 2000)}


@dataclass(frozen=True)
class Expansion:
    """Hermite coefficients of a link.

    Attributes
    ----------
    indices : array (n, L)
        Multi-indices kappa, sorted by total degree.
    values, errors : arrays (n, P)
        Normalised coefficients and the absolute errors that the quadrature estimates for them.
    square, square_errors : arrays (n,)
        The same for |F|^2; the first is the second moment. A sum of Hermite polynomials has only that one, the others are NaN.
    """

    indices: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    square: np.ndarray
    square_errors: np.ndarray


def adaptive_expansion(link, degree, tolerance=1e-11) -> Expansion:
    """Coefficients up to a total degree by adaptive quadrature, with its error estimate.

    Links with kinks or jumps are resolved by bisection; what is not resolved shows in the errors. A sum of Hermite polynomials
    needs no quadrature, a link of one direction a quadrature in one dimension. From three tokens on the work is bounded, and
    the errors are what they then are.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    tolerance : float
        Absolute error at which the quadrature stops.

    Raises
    ------
    ValueError
        If |F|^2 times the normal density has not decayed at the edge of the range: the second moment is infinite.
    """
    if link.terms is not None:
        return _polynomial_expansion(link, degree)
    dimension = link.tokens if link.direction is None else 1
    indices = multi_indices(dimension, degree)

    def integrand(x):
        fields = x if link.direction is None else x * link.direction
        density = np.exp(-0.5 * np.sum(x**2, axis=1)) / (2 * np.pi) ** (0.5 * dimension)
        return np.einsum(
            "kn,np,n->nkp", _products(indices, hermite_values(x, degree)), _with_square(link, fields), density
        )

    _check_decay(integrand, dimension)
    edge = np.full(dimension, RANGE)
    rule, subdivisions = _EFFORT[min(dimension, 4)]
    found = cubature(integrand, -edge, edge, rule=rule, rtol=0.0, atol=tolerance, max_subdivisions=subdivisions)
    values, errors = found.estimate, found.error
    if link.direction is not None:
        # F(v . z) has the coefficients F_k sqrt(k! / kappa!) v^kappa with k = |kappa|.
        indices = multi_indices(link.tokens, degree)
        total, factorial = indices.sum(axis=1), _factorials(degree)
        factor = np.sqrt(factorial[total] / factorial[indices].prod(axis=1)) * np.prod(link.direction**indices, axis=1)
        values, errors = factor[:, None] * values[total], np.abs(factor)[:, None] * errors[total]
    return Expansion(indices, values[:, :-1], errors[:, :-1], values[:, -1], errors[:, -1])


def _polynomial_expansion(link, degree):
    """The coefficients of a sum of Hermite polynomials, exact but for rounding."""
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


def _with_square(link, fields):
    """Outputs of the link, and the sum of their squares as one more."""
    values = link(fields)
    return np.concatenate([values, np.sum(values**2, axis=1, keepdims=True)], axis=1)


def _products(indices, tables):
    """prod_l tables[kappa_l, ..., l], array (n, ...)."""
    result = tables[indices[:, 0], ..., 0]
    for token in range(1, indices.shape[1]):
        result = result * tables[indices[:, token], ..., token]
    return result


def _check_decay(integrand, dimension):
    """Refuse a second moment whose integrand is not negligible on the boundary of the range."""
    line = np.linspace(-RANGE, RANGE, 41)
    plane = np.stack(np.meshgrid(*[line] * min(dimension, 2)), axis=-1).reshape(-1, min(dimension, 2))
    points = np.zeros((len(plane) + len(line), dimension))
    points[: len(plane), : plane.shape[1]] = plane
    points[len(plane) :] = line[:, None]
    size = integrand(points)[:, 0, -1]
    outside = np.max(np.abs(points), axis=1) >= RANGE
    if np.max(size[outside]) > 1e-9 * np.max(size):
        raise ValueError(
            f"the second moment of the link is infinite or out of reach: |F(z)|^2 times the normal density has not decayed at "
            f"|z| = {RANGE:g}"
        )


def _factorials(degree):
    return np.cumprod([1.0, *range(1, degree + 1)])


def grid_expansion(link, degree, shift=0.0, nodes=None) -> Expansion:
    """Coefficients of F(z + shift) of a smooth link of at most four tokens on a Gauss-Hermite grid.

    The error of a coefficient is what a quarter fewer nodes change in it.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    shift : array (L,) or float
        Added to the fields.
    nodes : int, optional
        Nodes per axis.
    """
    count = NODES[link.tokens] if nodes is None else nodes
    indices = multi_indices(link.tokens, degree)
    rows = tuple(indices.T)
    fine = _grid_values(link, degree, shift, count)[rows]
    errors = np.abs(fine - _grid_values(link, degree, shift, count - count // 4)[rows])
    return Expansion(indices, fine[:, :-1], errors[:, :-1], fine[:, -1], errors[:, -1])


def _grid_values(link, degree, shift, count):
    nodes, _ = gauss_hermite(count)
    mesh = np.stack(np.meshgrid(*[nodes] * link.tokens, indexing="ij"), axis=-1)
    values = _with_square(link, (mesh + shift).reshape(-1, link.tokens))
    return tensor_coefficients(values.reshape(*mesh.shape[:-1], -1), link.tokens, degree)


def sobol_expansion(link, degree, generator, shift=0.0, nodes=2**14, scramblings=8) -> Expansion:
    """Coefficients of F(z + shift) of any number of tokens on scrambled Sobol nodes; errors are standard errors over scramblings.

    Parameters
    ----------
    link : Link
    degree : int
        Highest total degree.
    generator : numpy.random.Generator
    shift : array (L,) or float
        Added to the fields.
    nodes : int
        Nodes per scrambling, a power of two.
    scramblings : int
        Number of independent estimates, at least 2 for errors.
    """
    indices = multi_indices(link.tokens, degree)
    found = []
    for child in generator.spawn(scramblings):
        drawn = gaussian_nodes(link.tokens, nodes, child)
        total = 0.0
        # Blocks keep the table of all products of polynomials small.
        for block in np.array_split(np.arange(nodes), max(1, nodes * len(indices) // 2**22)):
            table = _products(indices, hermite_values(drawn.points[block], degree))
            total = total + table @ (drawn.weights[block, None] * _with_square(link, drawn.points[block] + shift))
        found.append(total / nodes)
    values, errors = mean_and_error(found)
    return Expansion(indices, values[:, :-1], errors[:, :-1], values[:, -1], errors[:, -1])
