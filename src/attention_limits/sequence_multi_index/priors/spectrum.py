"""The spectrum of the covariance Sigma between the D dimensions of a token, tr Sigma / D = 1.

A spectrum is a finite number of eigenvalues with shares of the dimensions: then theory and simulations have the same Sigma, and
no quadrature of a density adds an error (derived in this module). Its participation ratio (tr Sigma)^2 / (D tr Sigma^2) is 1 for
independent dimensions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from attention_limits.pipeline.base.user_files import lines_of, number, read_text

# Largest distance of the mean eigenvalue, and of the sum of the shares, from one: rounding of written numbers.
ROUNDED = 1e-6
# Smallest eigenvalue that is not zero: below it, a direction is zero to the rounding of the largest precision.
SMALLEST = 1e-4
# Largest number of eigenvalues of a file.
MOST = 100_000
# Two whole numbers around a comma: a decimal comma, which would be an eigenvalue and its share.
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
# Largest exponent of a power law that is tried.
STEEPEST = 60.0


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of Sigma.

    Attributes
    ----------
    values, shares : array (K,)
        Eigenvalues, ascending, of mean one, and the share of the dimensions that has each.
    """

    values: np.ndarray
    shares: np.ndarray

    @property
    def second_moment(self) -> float:
        """tr Sigma^2 / D, one over the participation ratio."""
        return float(self.shares @ self.values**2)

    def counts(self, dimension: int) -> np.ndarray:
        """How many of D = `dimension` dimensions have each eigenvalue, integers (K,).

        Raises ValueError unless every share of D is a whole number.
        """
        wanted = self.shares * dimension
        counts = np.rint(wanted).astype(int)
        if np.any(np.abs(wanted - counts) > ROUNDED * dimension) or np.any(counts == 0):
            equal = np.ptp(self.shares) == 0
            allowed = (
                f"multiples of {len(self.shares)}, the number of eigenvalues"
                if equal
                else (f"numbers of dimensions that the shares {self.shares.tolist()} divide into whole numbers")
            )
            raise ValueError(
                f"D = {dimension} has no whole number of dimensions for each eigenvalue; allowed: {allowed}"
            )
        return counts

    def of_dimensions(self, dimension: int) -> np.ndarray:
        """The eigenvalue of each of D = `dimension` dimensions, ascending, array (D,); ValueError as `counts`."""
        return np.repeat(self.values, self.counts(dimension))


def of_values(values, shares=None) -> Spectrum:
    """The spectrum of `values` (K,) with `shares` (K,), equal by default; rounding errors of both are removed.

    Raises
    ------
    ValueError
        Unless the eigenvalues are zero or at least SMALLEST, with mean one, and the shares positive with sum one.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise ValueError("covariance: eigenvalues: allowed: one finite number or more")
    if np.any((values < SMALLEST) & (values != 0)):
        low = values[(values < SMALLEST) & (values != 0)].min()
        raise ValueError(f"covariance: eigenvalues: allowed: 0, or at least {SMALLEST:g}, got {low:g}")
    shares = np.full(len(values), 1.0 / len(values)) if shares is None else np.asarray(shares, dtype=float)
    if shares.shape != values.shape:
        raise ValueError(
            f"covariance: shares: allowed: {len(values)} numbers, one for each eigenvalue, got {shares.size}"
        )
    if not np.all(shares > 0) or abs(shares.sum() - 1.0) > ROUNDED:
        raise ValueError(
            f"covariance: shares: allowed: positive numbers whose sum is one, got the sum {shares.sum():.10g}"
        )
    shares = shares / shares.sum()
    mean = float(shares @ values)
    if abs(mean - 1.0) > ROUNDED:
        raise ValueError(
            f"covariance: the mean eigenvalue tr Sigma / D is {mean:.10g}; allowed: 1"
            f"{f'; divide the eigenvalues by {mean:.10g}' if mean else ', so some eigenvalues must not be 0'}"
        )
    order = np.argsort(values, kind="stable")
    return Spectrum(values[order] / mean, shares[order])


def of_file(path: Path) -> Spectrum:
    """The spectrum in the text file `path`: one eigenvalue per line, or an eigenvalue and its share; `#` begins a comment.

    Raises
    ------
    ValueError
        If there is no such file, a line holds something else, or as `of_values`; the text names the file.
    """
    if not path.is_file():
        raise ValueError(f"covariance: the file {path} does not exist")
    rows = []
    for row, line in enumerate(lines_of(read_text(path)), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if _DECIMAL_COMMA.fullmatch(line.strip()):
            allowed = "a decimal point; two numbers with a space between them"
            raise ValueError(f"covariance: {path}, line {row}: {line.strip()!r}: allowed: {allowed}")
        try:
            rows.append([number(word) for word in words])
        except ValueError:
            allowed = "an eigenvalue, or an eigenvalue and its share"
            raise ValueError(f"covariance: {path}, line {row}: allowed: {allowed}") from None
        if len(words) > 2 or len(words) != len(rows[0]):
            allowed = "1 in every line, or 2 in every line"
            raise ValueError(f"covariance: {path}, line {row}: {len(words)} numbers; allowed: {allowed}")
    if not 0 < len(rows) <= MOST:
        raise ValueError(f"covariance: {path}: {len(rows)} eigenvalues; allowed: 1 to {MOST}")
    try:
        return of_values(*np.array(rows).T)
    except ValueError as error:
        text = str(error).removeprefix("covariance: ")
        raise ValueError(f"covariance: {path}: {text}") from None


def power_law(count: int, participation_ratio: float) -> Spectrum:
    """K = `count` eigenvalues s_k ~ k^-a, k = 1 ... K, of equal shares; `participation_ratio` fixes a >= 0.

    Raises ValueError unless 1 / K < participation_ratio <= 1 and no eigenvalue falls below SMALLEST.
    """
    logs = np.log(np.arange(1, count + 1))

    def spectrum(exponent):
        values = np.exp(-exponent * logs)
        return values / values.mean()

    def excess(exponent):
        return 1.0 / np.mean(spectrum(exponent) ** 2) - participation_ratio

    # The smallest eigenvalue and the participation ratio fall with the exponent.
    steepest = STEEPEST if count == 1 else brentq(
        lambda exponent: np.log(spectrum(exponent)[-1] / SMALLEST), 0.0, STEEPEST
    )  # fmt: skip
    lowest = 1.0 / np.mean(spectrum(steepest) ** 2)
    if not lowest <= participation_ratio <= 1.0:
        raise ValueError(
            f"participation_ratio: {participation_ratio:g}: allowed for {count} eigenvalues of a power law: "
            f"{np.ceil(1e4 * lowest) / 1e4:g} to 1"
        )
    exponent = 0.0 if participation_ratio >= 1.0 or count == 1 else brentq(excess, 0.0, steepest, xtol=1e-14)
    return of_values(spectrum(exponent))


def two_values(share: float, participation_ratio: float) -> Spectrum:
    """The `share` f of the dimensions has a large eigenvalue, all others a small one; r = `participation_ratio` fixes both.

    s = 1 + ((1 - f) (1 / r - 1) / f)^(1/2) and 1 - (f (1 / r - 1) / (1 - f))^(1/2). Raises ValueError unless f <= r <= 1, or if
    the small one lies between 0 and SMALLEST.
    """
    if not share <= participation_ratio <= 1.0:
        raise ValueError(
            f"participation_ratio: {participation_ratio:g}: allowed for two eigenvalues: {share:g}, the share of the large "
            "one, to 1"
        )
    spread = 1.0 / participation_ratio - 1.0
    low = 1.0 - np.sqrt(spread * share / (1.0 - share))
    if participation_ratio == share:
        low = 0.0
    return of_values([low, (1.0 - (1.0 - share) * low) / share], [1.0 - share, share])


def load_spectrum(section: Mapping, participation_ratio: float | None, project: Path) -> Spectrum:
    """The spectrum that `section`, the key `covariance` of a model, describes (`schema.keys`), with files below `project`.

    Raises
    ------
    ValueError
        As the functions of this module; and if `participation_ratio` is missing for a law that needs it, or given to another.
    """
    name, needs = section["name"], ("power_law", "two_values")
    if (participation_ratio is None) == (name in needs):
        text = "missing; allowed: a number up to 1" if name in needs else "leave it out; the eigenvalues set it"
        raise ValueError(f"participation_ratio: {text}")
    if name == "eigenvalues":
        return of_values(section["values"], section.get("shares"))
    if name == "file":
        return of_file(Path(project) / section["path"])
    if name == "power_law":
        return power_law(section["count"], participation_ratio)
    return two_values(section["share"], participation_ratio)
