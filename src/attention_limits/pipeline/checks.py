"""Named checks of numbers: what a command that checks an object prints, and what the tests of the object assert."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from attention_limits.pipeline.base.errors import SpecError

# A correct object fails one statistical check with this probability, over the seeds.
FALSE_ALARM = 1e-4
# Allowed beside all errors: rounding.
ROUNDING = 1e-8
# A statistical check decides if its threshold is at most this share of the size of the number; factors of the samples that
# `refined` tries.
COARSEST, FINER = 0.5, (1, 4)


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
    coarse : bool
        Whether the error is too large for a decision.
    """

    name: str
    value: float
    expected: float = 0.0
    error: float = 0.0
    limit: float = 0.0
    note: str = ""
    coarse: bool = False

    @property
    def undecided(self) -> bool:
        """Whether the difference is within the limit, but the limit is below the error, or the error too large to decide."""
        return self._within and (self.coarse or self.error > self.limit)

    @property
    def passed(self) -> bool:
        """Whether the difference is within the limit and the check decides."""
        return self._within and not self.undecided

    @property
    def failed(self) -> bool:
        """Whether the difference exceeds the limit; a missing value (NaN) does."""
        return not self._within

    @property
    def _within(self) -> bool:
        return bool(abs(self.value - self.expected) <= self.limit)

    def __str__(self) -> str:
        spread = f" ± {self.error:.2g}" if self.error else ""
        note = f"; {self.note}" if self.note else ""
        note += "; undecided: the error is too large" if self.undecided else ""
        return f"{self.name}: {self.value:.4g}{spread}, must be {self.expected:.4g} within {self.limit:.2g}{note}"


def mean_check(name: str, samples, expected=0.0, allowance=0.0, unit=1.0) -> Check:
    """Whether the mean of independent samples is the expected one: a two-sided t-test of all entries together at FALSE_ALARM.

    Parameters
    ----------
    name : str
    samples : array (n, ...)
        n >= 2.
    expected, allowance, unit : number or array (...)
        The allowance is a bound on the bias of the samples. The unit is the size of the number: the check is undecided if the
        threshold of an entry exceeds COARSEST times it.

    Returns
    -------
    Check
        Of the entry that exceeds its limit most; if there is none, of an undecided entry, or of that nearest to its limit.
    """
    samples = np.asarray(samples, dtype=float)
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    expected, unit = (np.broadcast_to(values, mean.shape) for values in (expected, unit))
    threshold = -stdtrit(len(samples) - 1, 0.5 * FALSE_ALARM / mean.size) * error
    limit = threshold + allowance + ROUNDING
    ratio, coarse = np.abs(mean - expected) / limit, threshold > COARSEST * unit
    worst = _worst(np.where((ratio <= 1.0) & coarse, 1.0, ratio))
    return Check(
        name, float(mean[worst]), float(expected[worst]), float(error[worst]), float(limit[worst]), coarse=bool(coarse[worst])
    )  # fmt: skip


def refined(compute: Callable[[int], list[Check]], samples: int) -> list[Check]:
    """The checks `compute(count)` of a number of `samples`, and of more of them (FINER) if one is undecided and none fails."""
    found: list[Check] = []
    for factor in FINER:
        found = compute(factor * samples)
        if all(check.passed for check in found) or any(check.failed for check in found):
            break
    return found


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
    """Print each check, and last a verdict. Raises SpecError with the checks that fail, by the name `subject` of the object."""
    failed, undecided, count = [], 0, 0
    for check in checks:
        print(check, flush=True)
        count += 1
        undecided += check.undecided
        if check.failed:
            failed.append(f"{subject}: violated: {check}")
    if undecided:
        print(
            f"{undecided} undecided: their errors are too large; raise the number of outputs, or the resolution",
            flush=True,
        )
    if failed:
        raise SpecError([*failed, f"{subject}: {len(failed)} of {count} checks failed"])
    print(f"{subject}: passes {f'{count - undecided} of' if undecided else 'all'} {count} checks")
