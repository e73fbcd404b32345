"""Power laws and medians of positive numbers, also of censored ones; first passages of a curve."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowerLaw:
    """y = prefactor * x^exponent with the standard error of the exponent.

    `excess` is chi^2 per degree of freedom. Above one, the data are no power law within their errors, and `error` contains the
    factor sqrt(excess) (Particle Data Group, Review of Particle Physics, section "Unconstrained averaging").
    """

    exponent: float
    error: float
    prefactor: float
    excess: float


def fit_power_law(x, y, relative_error, corrections=()) -> PowerLaw:
    """Weighted least squares of log y against log x, and against other functions of x.

    With fewer points than coefficients there is no fit: all fields are NaN.

    Parameters
    ----------
    x, y, relative_error : arrays (n,)
        Positive; relative_error is the standard error of log y.
    corrections : sequence of arrays (n,)
        Functions of x with a coefficient each, as 1/x for a correction that vanishes at large x.
    """
    design = np.column_stack([np.log(x), np.ones(len(x)), *corrections]) / np.asarray(relative_error)[:, None]
    freedom = len(x) - design.shape[1]
    if freedom < 0:
        return PowerLaw(np.nan, np.nan, np.nan, np.nan)
    target = np.log(y) / relative_error
    coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
    slope, offset = coefficients[:2]
    covariance = np.linalg.inv(design.T @ design)
    rest = np.sum((target - design @ coefficients) ** 2)
    excess = rest / freedom if freedom > 0 else np.nan
    error = np.sqrt(covariance[0, 0]) * (np.sqrt(max(1.0, excess)) if freedom > 0 else 1.0)
    return PowerLaw(float(slope), float(error), float(np.exp(offset)), float(excess))


def first_reached(x, y, level) -> float:
    """The x at which y, arrays (n,), first reaches the `level`, by linear interpolation; NaN if it never does."""
    above = np.flatnonzero(np.asarray(y) >= level)
    if len(above) == 0:
        return np.nan
    between = slice(max(above[0] - 1, 0), above[0] + 1)
    return float(np.interp(level, y[between], x[between]))


def median_and_range(values, escaped):
    """Median over the last axis and a range of about 68 % for it, from order statistics.

    Parameters
    ----------
    values : array (..., n)
    escaped : array (..., n) of bool
        False: the value is a lower bound (censored).

    Returns
    -------
    median, low, high : arrays (...)
        Infinite where the order statistic in question is censored.
    """
    values = np.where(escaped, values, np.inf)
    ordered = np.sort(values, axis=-1)
    n = values.shape[-1]
    # The number of values below the median is binomial(n, 1/2).
    reach = 0.5 * np.sqrt(n)
    low, high = int(max(0, np.floor(0.5 * n - reach))), int(min(n - 1, np.ceil(0.5 * n + reach) - 1))
    with np.errstate(invalid="ignore"):
        median = 0.5 * (ordered[..., (n - 1) // 2] + ordered[..., n // 2])
    return median, ordered[..., low], ordered[..., high]
