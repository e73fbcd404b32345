"""Posterior moments of fields whose output is the cell in which they lie: a normal law that is cut (derived: Bayes' rule)."""

import numpy as np

# Below this probability the moments of a cell are differences of nearly equal numbers: the output is not resolved.
SMALLEST_PROBABILITY = 1e-12
# Relative error of Z above which an output is not resolved by a quadrature.
ACCURACY = 1e-4


def moments_in_cells(z, first, second, lower, error=0.0):
    """Moments of fields h = omega + L x, x standard normal, whose output is the cell in which they lie.

    Parameters
    ----------
    z : array (n,)
        Probability of the cell.
    first, second : arrays (n, d) and (n, d, d)
        E[x 1] and E[x x^T 1], 1 the indicator of the cell.
    lower : array (d, d)
        L, lower triangular.
    error : float or array (n,)
        Error of z. Above ACCURACY of z the output is not resolved.

    Returns
    -------
    log_z : array (n,)
    mean : array (n, d)
        E[h - omega | y], zero where the output is not resolved.
    second : array (n, d, d)
        E[(h - omega)(h - omega)^T | y], the covariance L L^T where the output is not resolved.
    effective : array (n,)
        Infinite, 0 where the output is not resolved.
    """
    resolved = (z >= SMALLEST_PROBABILITY) & (error <= ACCURACY * z)
    scale = np.where(resolved, z, 1.0)
    mean = first / scale[:, None] @ lower.T
    square = lower @ (second / scale[:, None, None]) @ lower.T
    return (
        np.log(np.maximum(z, 1e-300)),
        np.where(resolved[:, None], mean, 0.0),
        np.where(resolved[:, None, None], square, lower @ lower.T),
        np.where(resolved, np.inf, 0.0),
    )
