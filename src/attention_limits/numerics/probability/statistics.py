"""Combining unbiased estimates; errors of a mean and of a finite number of nodes; replicas that have no common mean."""

import numpy as np
from scipy.special import ndtr, stdtrit

# Equal parts of the nodes that `node_error` compares.
PARTS = 4
# Replicas lie on two sides of a jump where the largest gap between them exceeds this share of the range of the curve, and this
# number of standard deviations.
JUMP_SHARE, JUMP_DEVIATIONS = 0.25, 6.0
# Errors of fewer replicas than this get the factor of Student's law: with n replicas one standard error holds the mean with a
# probability of 0.68, as of normal numbers, only for large n (n = 2: 0.50, n = 4: 0.61).
FEW = 8


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


def with_controls(values, *others):
    """Unbiased estimates `values` of an expectation minus the part of their scatter that other estimates of it explain.

    The differences of the estimates have the expectation zero: they are control variates, whose coefficients are those of a
    least-squares fit, separately for each entry of the trailing axes. The fit has a bias of order 1/n of the standard deviation.

    Parameters
    ----------
    values : array (n, ...)
        One value per sample.
    others : arrays (n, ...)

    Returns
    -------
    array (n, ...)
    """
    result = np.array(values, dtype=float)
    for entry in np.ndindex(result.shape[1:]):
        own = result[(slice(None), *entry)]
        controls = np.stack([own - other[(slice(None), *entry)] for other in others], axis=1)
        own -= controls @ np.linalg.lstsq(controls - controls.mean(axis=0), own - own.mean(), rcond=None)[0]
    return result


def node_error(whole, parts):
    """Standard error of a number computed on a finite set of nodes, from the same number on equal parts of the nodes.

    (s^2 / n + b^2)^(1/2): s is the standard deviation over the n parts, so that s / n^(1/2) is the error of independent nodes; b,
    the difference of the mean over the parts to the whole, shows that the number is not linear in averages over the nodes. The
    error is too large where the nodes are better than independent ones (Sobol nodes), and NaN where a part has no number.

    Parameters
    ----------
    whole : array (...)
    parts : array (n, ...)
        n >= 2.
    """
    parts = np.asarray(parts, dtype=float)
    return np.hypot(parts.std(axis=0, ddof=1) / np.sqrt(len(parts)), parts.mean(axis=0) - whole)


def mean_and_error(values, axis=0):
    """Mean over independent replicas and its error, ignoring missing (NaN) replicas.

    Parameters
    ----------
    values : array
        One value per replica along `axis`.
    axis : int

    Returns
    -------
    mean, error : arrays
        The standard error; for fewer than `FEW` replicas times Student's factor (1.84, 1.32, 1.20, ... for 2, 3, 4, ... of them),
        so that mean +- error has the probability 0.683 for normal replicas. NaN where fewer than two replicas are present.
    """
    mean, error, count = _mean_and_standard_error(values, axis)
    return mean, error * np.where(count < FEW, student(np.maximum(count, 2)), 1.0)


def student(count):
    """Standard errors of a mean of `count` >= 2 normal numbers that have the probability of one standard deviation, 0.683."""
    return -stdtrit(np.asarray(count) - 1.0, ndtr(-1.0))


def _mean_and_standard_error(values, axis):
    """Mean, standard error and number of the finite values."""
    values = np.asarray(values, dtype=float)
    present = np.isfinite(values)
    count = present.sum(axis=axis)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(present, values, 0.0).sum(axis=axis) / count
        squares = np.where(present, values - np.expand_dims(mean, axis), 0.0) ** 2
        error = np.sqrt(squares.sum(axis=axis) / (count - 1) / count)
    return mean, np.where(count > 1, error, np.nan), count


def mean_with_floor(values, own):
    """Mean over the last axis and its error (`mean_and_error`), at least that of the errors `own` of the values.

    Few replicas may agree by chance: the errors that each of them shows are a floor. Missing values and errors are NaN.

    Parameters
    ----------
    values, own : arrays (..., replicas)

    Returns
    -------
    mean, error : arrays (...)
    """
    values, own = (np.asarray(array, dtype=float) for array in (values, own))
    mean, spread = mean_and_error(values, axis=-1)
    known = np.isfinite(own) & np.isfinite(values)
    count = known.sum(axis=-1)
    least = np.sqrt(np.sum(np.where(known, own, 0.0) ** 2, axis=-1)) / np.maximum(count, 1)
    return mean, np.fmax(spread, np.where(count > 0, least, np.nan))


def mean_of_brackets(below, above, node_error):
    """Mean over the last axis of the middles of brackets, and its error.

    The error is that of `mean_and_error` together with half of the mean width, and with the mean error of few nodes. Replicas
    without a bracket are NaN; NaN where no replica has one.

    Parameters
    ----------
    below, above, node_error : arrays (..., replicas)

    Returns
    -------
    mean, error : arrays (...)
    """
    below, above = np.asarray(below, dtype=float), np.asarray(above, dtype=float)
    mean, spread = mean_and_error(0.5 * (below + above), axis=-1)
    width, shared = (mean_and_error(values, axis=-1)[0] for values in (above - below, node_error))
    return mean, np.sqrt(np.nan_to_num(spread) ** 2 + 0.25 * width**2 + np.nan_to_num(shared) ** 2)


def lies_on_two_sides(replicas):
    """Whether the replicas of a point lie on two sides of a jump: their mean then describes neither side.

    The largest gap between neighbouring replicas is compared with the range of the means along the curve, and with the standard
    deviation of the replicas: the larger one of the median along the curve and of that within the two groups at the gap. Of
    normal replicas of one standard deviation along the curve, two in a thousand pairs are called so, and 1e-4 of three or more.

    Parameters
    ----------
    replicas : array (n, replicas)
        Points along a curve; missing replicas are NaN.

    Returns
    -------
    bool array (n,)
    """
    ordered = np.sort(np.asarray(replicas, dtype=float), axis=1)
    present = np.isfinite(ordered).sum(axis=1)
    found = np.zeros(len(ordered), dtype=bool)
    several = np.flatnonzero(present > 1)
    if not several.size:
        return found
    means, errors, _ = _mean_and_standard_error(ordered[present > 0], 1)
    widest = JUMP_SHARE * np.ptp(means)
    # The median of chi^2 with k degrees of freedom is about k (1 - 2 / 9k)^3.
    median = (1.0 - 2.0 / (9.0 * (present[several] - 1.0))) ** 1.5
    typical = np.median(errors[present[present > 0] > 1] * np.sqrt(present[several]) / median)
    for row in several:
        values = ordered[row, : present[row]]
        cut = 1 + int(np.argmax(np.diff(values)))
        low, high = values[:cut], values[cut:]
        squares = np.sum((low - low.mean()) ** 2) + np.sum((high - high.mean()) ** 2)
        within = np.sqrt(squares / max(1, len(values) - 2))
        gap = high[0] - low[-1]
        found[row] = gap > widest and gap > JUMP_DEVIATIONS * max(typical, within)
    return found
