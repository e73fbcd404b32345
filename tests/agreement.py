"""Statistical decisions fixed in advance.

Every stochastic comparison is a t-test over independent replicas (or plain samples) with a Bonferroni-corrected threshold:
the probability that a correct program fails it for a random seed is FALSE_ALARM per call (unless said otherwise),
for any number of comparisons. The seeds are fixed, so a pass stays a pass.
"""

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-4


def t_threshold(comparisons, degrees, false_alarm=FALSE_ALARM):
    """Two-sided Student threshold at which `comparisons` tests together raise a false alarm with this probability."""
    return float(stats.t.isf(0.5 * false_alarm / comparisons, degrees))


def assert_mean(values, expected=0.0, allowance=0.0, error=0.0, false_alarm=FALSE_ALARM):
    """Assert that the mean over the first axis of independent replicas agrees with `expected`, entry by entry.

    Parameters
    ----------
    values : array (replicas, ...)
    expected : array (...)
    allowance : float or array
        Known bound on the bias (finite difference, finite size), declared with its reason by the caller.
    error : float
        Standard error of `expected`.
    """
    values = np.asarray(values, dtype=float)
    replicas = len(values)
    standard_error = np.hypot(values.std(axis=0, ddof=1) / np.sqrt(replicas), error)
    deviation = np.abs(values.mean(axis=0) - expected)
    # A quantity that vanishes identically has no error: what is left is the truncation of the channel's range, 1e-9.
    limit = t_threshold(deviation.size, replicas - 1, false_alarm) * standard_error + allowance + 1e-8
    assert np.all(deviation <= limit), f"deviation {deviation}, limit {limit}, mean {values.mean(axis=0)}"


def errors_cover(values, errors, others, other_errors, false_alarm=1e-3):
    """Assert that two sets of replicas differ by about the errors that they state, and not by far less.

    The mean square of the deviations of `values` from the mean of `others`, in units of the root mean square of their stated
    errors (of the mean, for the others), has an F distribution of n and 3 n degrees for n replicas whose errors come from four
    parts each. An upper bound at `false_alarm`; below 1e-4 an error would say nothing.
    """
    values, errors, others, other_errors = (np.asarray(x, dtype=float) for x in (values, errors, others, other_errors))
    stated = np.mean(errors**2) + np.mean(other_errors**2) / len(others)
    ratio = np.mean((values - others.mean()) ** 2) / stated
    assert 1e-4 < ratio < stats.f.isf(false_alarm, len(values), 3 * len(values)), ratio
