"""Probabilists' Hermite polynomials, normalised: h_k = He_k / sqrt(k!), orthonormal under the standard normal law."""

import itertools

import numpy as np


def hermite_values(x, degree):
    """h_0 ... h_degree at x, an array of any shape, by the three-term recurrence: array (degree + 1, *x.shape)."""
    x = np.asarray(x, dtype=float)
    values = np.empty((degree + 1, *x.shape))
    values[0] = 1.0
    if degree > 0:
        values[1] = x
    for k in range(1, degree):
        values[k + 1] = (x * values[k] - np.sqrt(k) * values[k - 1]) / np.sqrt(k + 1)
    return values


def gauss_hermite(count):
    """Nodes and weights (count,) with E f(x) = sum of weights * f(nodes), x standard normal, exact to degree 2 count - 1."""
    # Specifications import this module for the values alone; the import of scipy.special takes a seventh of the start of a job.
    from scipy.special import roots_hermitenorm

    nodes, weights = roots_hermitenorm(count)
    return nodes, weights / weights.sum()


def tensor_coefficients(values, dimension, degree):
    """Coefficients of a function tabulated on the tensor grid of Gauss-Hermite nodes.

    Parameters
    ----------
    values : array (count,) * dimension + (...)
        The function on the nodes of `gauss_hermite(count)` along each axis.
    dimension, degree : int
        Number of axes, and the highest degree along each.

    Returns
    -------
    array (degree + 1,) * dimension + (...)
        E[f(x) h_i(x_1) h_j(x_2) ...] by Gauss-Hermite quadrature.
    """
    nodes, weights = gauss_hermite(values.shape[0])
    projector = hermite_values(nodes, degree) * weights
    for axis in range(dimension):
        values = np.moveaxis(np.tensordot(projector, values, axes=(1, axis)), 0, axis)
    return values


def multi_indices(dimension, degree):
    """All multi-indices of total degree <= degree, array (n, dimension), sorted by total degree."""
    rows = []
    for total in range(degree + 1):
        # Stars and bars: the gaps between `dimension - 1` bars among total + dimension - 1 places.
        for bars in itertools.combinations(range(total + dimension - 1), dimension - 1):
            edges = (-1, *bars, total + dimension - 1)
            rows.append([right - left - 1 for left, right in itertools.pairwise(edges)])
    return np.array(rows)


def raising(indices, degree):
    """Row of index + unit vector l for each multi-index of total degree <= degree.

    Parameters
    ----------
    indices : array (n, dimension)
        From `multi_indices(dimension, degree + 1)`.
    degree : int

    Returns
    -------
    array (rows of total degree <= degree, dimension)
    """
    row = {tuple(index): i for i, index in enumerate(indices.tolist())}
    low = indices[indices.sum(axis=1) <= degree]
    unit = np.eye(indices.shape[1], dtype=int)
    return np.array([[row[tuple(r)] for r in (index + unit).tolist()] for index in low])
