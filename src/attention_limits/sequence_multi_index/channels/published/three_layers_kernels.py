"""Integrand of the public program of Troiani et al. 2025 (arXiv:2502.00901) for three layers and two tokens, on given points.

As in `two_layers_kernels`, with the fields h (3, 2), two free layers and h_3 = +- B_2^-T u.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit


@njit
def _written(first, second, skip, beta):
    """softmax_rows(beta z z^T) + c I for z = (first, second), row by row."""
    s_12 = 1.0 / (1.0 + math.exp(beta * first * (first - second)))
    s_21 = 1.0 / (1.0 + math.exp(beta * second * (second - first)))
    return 1.0 - s_12 + skip, s_12, s_21, 1.0 - s_21 + skip


@njit
def mean_weights(points, reach, u, omega, variance, skip, beta, gradient):
    """Means of w and of V^-1 (h - omega) w over points of the box |z_la| < reach_l.

    Parameters
    ----------
    points : array (S, 2, 2)
        In [-1, 1], (point, layer, token).
    reach : array (2,)
        Half of the widths of the box in layers 1 and 2.
    u : array (2,)
        Score root.
    omega : array (3, 2)
    variance : array (3,)
        Diagonal of V.
    skip, beta : float
    gradient : array (3, 2)
        Mean of V^-1 (h - omega) w.

    Returns
    -------
    float
        Mean of w.
    """
    gradient[:] = 0.0
    shift, total = np.empty((3, 2)), 0.0
    for point in points:
        z_1, z_2 = reach[0] * point[0, 0], reach[0] * point[0, 1]
        y_1, y_2 = reach[1] * point[1, 0], reach[1] * point[1, 1]
        e, f, g, h = _written(z_1, z_2, skip, beta)
        # Layer 2 reads the fields that layer 1 wrote.
        a, b, c, d = _written(e * y_1 + f * y_2, g * y_1 + h * y_2, skip, beta)
        a, b, c, d = a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h
        determinant = a * d - b * c
        x_1, x_2 = (d * u[0] - b * u[1]) / determinant, (a * u[1] - c * u[0]) / determinant
        shift[0, 0], shift[0, 1] = z_1 - omega[0, 0], z_2 - omega[0, 1]
        shift[1, 0], shift[1, 1] = y_1 - omega[1, 0], y_2 - omega[1, 1]
        own = (shift[0, 0] ** 2 + shift[0, 1] ** 2) / variance[0] + (shift[1, 0] ** 2 + shift[1, 1] ** 2) / variance[1]
        for sign in (1.0, -1.0):
            shift[2, 0], shift[2, 1] = sign * x_1 - omega[2, 0], sign * x_2 - omega[2, 1]
            square = own + (shift[2, 0] ** 2 + shift[2, 1] ** 2) / variance[2]
            weight = math.exp(-0.5 * square) / abs(determinant)
            total += weight
            for k in range(3):
                gradient[k, 0] += weight * shift[k, 0] / variance[k]
                gradient[k, 1] += weight * shift[k, 1] / variance[k]
    gradient /= len(points)
    return total / len(points)
