"""Combining unbiased estimates, and the standard error of a mean."""

import numpy as np


def combine_unbiased(first, second):
    """Sample-wise combination of two unbiased estimates of one expectation with the smallest variance.

    With w = (Var b - Cov(a, b)) / Var(a - b), clipped to [0, 1], elementwise over the trailing axes, the combination
    w a + (1 - w) b has no larger variance than either (control variates). The weight is estimated from the samples, a bias of
    order 1/n of the standard deviation.

    Parameters
    ----------
    first, second : array (n, ...)
        One value per sample.

    Returns
    -------
    array (n, ...)
    """
    a, b = first - first.mean(axis=0), second - second.mean(axis=0)
    spread = np.mean((a - b) ** 2, axis=0)
    covariance = np.mean(b * (b - a), axis=0)
    weight = np.clip(np.divide(covariance, spread, out=np.full_like(spread, 0.5), where=spread > 0), 0.0, 1.0)
    return weight * first + (1.0 - weight) * second


def mean_and_error(values, axis=0):
    """Mean over independent replicas and its standard error, ignoring missing (NaN) replicas.

    Parameters
    ----------
    values : array
        One value per replica along `axis`.
    axis : int

    Returns
    -------
    mean, error : arrays
        The error is NaN where fewer than two replicas are present.
    """
    values = np.asarray(values, dtype=float)
    present = np.isfinite(values)
    count = present.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(present, values, 0.0).sum(axis=axis) / count
        squares = np.where(present, values - np.expand_dims(mean, axis), 0.0) ** 2
        error = np.sqrt(squares.sum(axis=axis) / (count - 1) / count)
    return mean, np.where(count > 1, error, np.nan)
