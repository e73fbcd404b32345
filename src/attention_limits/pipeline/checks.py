"""Named checks of numbers: what a command that checks an object prints, and what the tests of the object assert."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from attention_limits.pipeline.base.errors import SpecError

# A correct object fails one statistical check with this probability, over the seeds.
FALSE_ALARM = 1e-4
# Allowed beside all errors: rounding.
ROUNDING = 1e-8


@dataclass(frozen=True)
class Check:
    """One number, and what it must be.

    Attributes
    ----------
    name : str
    value, expected : float
    error : float
        Standard error of the value; zero where nothing is random.
    limit : float
        Largest difference of the value and the expected one.
    note : str
        What an example shows, or an empty text.
    """

    name: str
    value: float
    expected: float = 0.0
    error: float = 0.0
    limit: float = 0.0
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the difference is within the limit; a missing value (NaN) is not."""
        return bool(abs(self.value - self.expected) <= self.limit)

    def __str__(self) -> str:
        spread = f" ± {self.error:.2g}" if self.error else ""
        note = f"; {self.note}" if self.note else ""
        return f"{self.name}: {self.value:.4g}{spread}, must be {self.expected:.4g} within {self.limit:.2g}{note}"


def mean_check(name: str, samples, expected=0.0, allowance=0.0) -> Check:
    """Whether the mean of independent samples is the expected one: a two-sided t-test of all entries together at FALSE_ALARM.

    Parameters
    ----------
    name : str
    samples : array (n, ...)
        n >= 2.
    expected, allowance : number or array (...)
        The allowance is a bound on the bias of the samples.

    Returns
    -------
    Check
        Of the entry that exceeds its limit most, or comes nearest to it.
    """
    samples = np.asarray(samples, dtype=float)
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    expected = np.broadcast_to(expected, mean.shape)
    threshold = -stdtrit(len(samples) - 1, 0.5 * FALSE_ALARM / mean.size)
    limit = threshold * error + allowance + ROUNDING
    worst = _worst(np.abs(mean - expected) / limit)
    return Check(name, float(mean[worst]), float(expected[worst]), float(error[worst]), float(limit[worst]))


def same_check(name: str, values, expected, limit: float, units=1.0) -> Check:
    """Whether numbers agree with the expected ones, both arrays (...), within a limit in the given units, a number or array.

    The check of the largest difference: its value is in these units, and must be zero.
    """
    differences = np.abs(np.subtract(values, expected)) / units
    return Check(name, float(differences[_worst(differences)]) if differences.size else 0.0, limit=limit)


def _worst(ratios):
    """Index of the largest entry; a missing entry (NaN) counts as the largest."""
    return np.unravel_index(np.argmax(np.nan_to_num(ratios, nan=np.inf)), np.shape(ratios))


def require_passed(subject: str, checks: Iterable[Check]) -> None:
    """Print each check. Raises SpecError with those that fail, by the name `subject` of the object."""
    failed = []
    for check in checks:
        print(check, flush=True)
        if not check.passed:
            failed.append(f"{subject}: violated: {check}")
    if failed:
        raise SpecError(failed)
