"""Numbers read off the cubes of the sequence single-index family, for figures and for the audit."""

from typing import NamedTuple

import numpy as np

from attention_limits.numerics.probability.power_laws import PowerLaw, fit_power_law, median_and_range
from attention_limits.numerics.probability.statistics import mean_and_error


class Gain(NamedTuple):
    """Gain of tied over untied weights: arrays over the numbers of tokens.

    Attributes
    ----------
    tokens : array
        M.
    gain, relative_error : arrays
        Ratio of the mean escape steps, and its relative standard error.
    complete : array of bool
        Whether all runs escaped.
    """

    tokens: np.ndarray
    gain: np.ndarray
    relative_error: np.ndarray
    complete: np.ndarray

    @property
    def power_law(self):
        """Fit of a power of M to the gain at the complete points."""
        return fit_power_law(*(array[self.complete] for array in (self.tokens, self.gain, self.relative_error)))


def gain(tied, untied, learning_rate_exponent) -> Gain:
    """Ratio of the mean escape steps of the cubes `untied` and `tied`.

    The learning rate of the tied runs is M^learning_rate_exponent times that of the untied ones.
    """
    tied = tied.sel(learning_rate_exponent=learning_rate_exponent)
    slow, slow_error = mean_and_error(untied.escape_step.values, axis=1)
    fast, fast_error = mean_and_error(tied.escape_step.values, axis=1)
    complete = tied.escaped.values.all(axis=1) & untied.escaped.values.all(axis=1)
    relative = np.hypot(slow_error / slow, fast_error / fast)
    return Gain(tied.tokens.values.astype(float), slow / fast, relative, complete)


def gain_exponent(tied, untied, learning_rate_exponent):
    """Exponent of the power law of the gain, and its standard error; `tied`, `untied`, `learning_rate_exponent` as in `gain`."""
    fit = gain(tied, untied, learning_rate_exponent).power_law
    return fit.exponent, fit.error


def equal_curvatures(theory):
    """omega at which the positional and the semantic curvature cross, and its standard error over the replicas.

    The difference in the cube `theory` is interpolated linearly, replica by replica. Raises KeyError where some replica has no
    crossing.
    """
    gaps = theory.curvature_position - theory.curvature_semantic
    # The cube holds runs of SGD too, at other omega and with more replicas.
    gaps = gaps.dropna("omega", how="all").dropna("replica", how="all").transpose("replica", "omega")
    omega, crossings = gaps.omega.values, []
    for gap in gaps.values:
        change = np.flatnonzero((gap[:-1] > 0) & (gap[1:] <= 0))
        if len(change) == 0:
            raise KeyError("no crossing of the curvatures")
        i = change[0]
        crossings.append(omega[i] + (omega[i + 1] - omega[i]) * gap[i] / (gap[i] - gap[i + 1]))
    mean, error = mean_and_error(crossings)
    return float(mean), float(error)


def escape_law(cube, logarithms=0, start=False) -> PowerLaw:
    """Fit of a power of d to the median escape steps over (log d)^logarithms, where the range of the median is known.

    With `start`, the logarithm of the steps has a term b / sqrt(d) too. The run starts at the overlap 1 / sqrt(d) instead of
    zero. At information exponent 1 the flow dm/dt = f(m) > 0 saves the time 1 / (f(0) sqrt(d)), of a time of order one.
    """
    d = cube.dimension.values.astype(float)
    median, low, high = median_and_range(cube.escape_step.values, cube.escaped.values)
    known = np.isfinite(median) & np.isfinite(high)
    # The range of 68 % is two standard errors wide.
    relative = 0.5 * np.log(high[known] / low[known])
    corrections = [d[known] ** -0.5] if start else []
    return fit_power_law(d[known], median[known] / np.log(d[known]) ** logarithms, relative, corrections)


def escape_exponent(cube, logarithms=0, start=False):
    """Exponent of `escape_law` of the `cube`, and its standard error, which grows where the fit is poor."""
    fit = escape_law(cube, logarithms, start)
    return fit.exponent, fit.error


def diffusion_exponent(cube, low, high):
    """Power of d of the median escape step of a `cube` of the diffusion, from the dimension `low` to `high`, and its error."""
    ends = cube.sel(dimension=[low, high], quantile=0.5).squeeze()
    median, error = ends.diffusion_quantile.values, ends.diffusion_quantile_error.values
    span = np.log(high / low)
    return float(np.log(median[1] / median[0]) / span), float(np.sum(error / median) / span)


def descending_directions(cube, degree):
    """Number of directions in which the loss of the `degree` falls at second order from the start, and its error 0.

    These are the negative eigenvalues of the Hessian in `cube`.
    """
    part = cube.sel(degree=degree).isel(replica=0)
    ee, em, mm = (float(part[f"hessian_{entries}"]) for entries in ("ee", "em", "mm"))
    # Entries that vanish have rounding errors.
    return float(np.sum(np.linalg.eigvalsh([[ee, em], [em, mm]]) < -1e-8)), 0.0
