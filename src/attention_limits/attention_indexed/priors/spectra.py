"""Laws of the eigenvalues of S, for rotationally invariant priors beside the Wishart one; nothing in this module compiles.

A file of the user makes a `Law` with `of_values` (a sample of eigenvalues), `of_density` (a function) and `mixture`, for example
of a bulk and of a few large eigenvalues. With w = u + i v in the upper half plane, the denoiser needs

    g(w) = E 1 / (w - x),    g'(w),    and    E 1 / |w - x|^2.

A law is a sum of point masses and of uniform pieces. For these all three are closed formulas, derived in this module, at any w.
"""

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.user_files import object_of_file

# Uniform pieces of a density, and Gauss-Legendre nodes of the mass of each.
PIECES, _NODES = 400, 8
# Largest sample of eigenvalues: the denoiser has a matrix of their number squared.
MOST = 5000


@dataclass(frozen=True)
class Law:
    """Point masses and uniform pieces; all masses add up to one.

    Attributes
    ----------
    points, point_masses : array (k,)
        Eigenvalues, ascending and different, and their probabilities.
    low, high, masses : array (m,)
        Ends of the pieces, ascending and without overlap, and their probabilities.
    """

    points: np.ndarray
    point_masses: np.ndarray
    low: np.ndarray
    high: np.ndarray
    masses: np.ndarray

    @property
    def mean(self) -> float:
        """E x."""
        return float(self.point_masses @ self.points + self.masses @ (0.5 * (self.low + self.high)))

    @property
    def variance(self) -> float:
        """E x^2 - (E x)^2."""
        squares = (self.low**2 + self.low * self.high + self.high**2) / 3.0
        return float(self.point_masses @ self.points**2 + self.masses @ squares - self.mean**2)

    @property
    def support(self) -> np.ndarray:
        """Disjoint intervals (n, 2), ascending; a point mass is an interval of length zero."""
        ends = np.concatenate([np.stack([self.low, self.high], 1), np.stack([self.points, self.points], 1)])
        joined = []
        for low, high in ends[np.lexsort((ends[:, 1], ends[:, 0]))]:
            if joined and low <= joined[-1][1]:
                joined[-1][1] = max(joined[-1][1], high)
            else:
                joined.append([low, high])
        return np.array(joined)

    def scaled(self, factor: float) -> "Law":
        """The law of `factor` x, factor > 0."""
        return Law(factor * self.points, self.point_masses, factor * self.low, factor * self.high, self.masses)

    def transform(self, w):
        """g and g' at complex w (...) of positive imaginary part."""
        z = np.asarray(w)[..., None]
        inverse = 1.0 / (z - self.points)
        above, below, density = 1.0 / (z - self.low), 1.0 / (z - self.high), self.masses / (self.high - self.low)
        g = inverse @ self.point_masses + (np.log(z - self.low) - np.log(z - self.high)) @ density
        return g, -(inverse**2) @ self.point_masses + (above - below) @ density

    def inverse_squares(self, u, v):
        """E 1 / ((u - x)^2 + v^2) at real u (...) and v > 0 (...); positive to rounding for every v."""
        u, v = np.asarray(u)[..., None], np.asarray(v)[..., None]
        first = 1.0 / ((u - self.points) ** 2 + v**2)
        length = self.high - self.low
        angle = np.arctan2(v * length, v**2 + (u - self.low) * (u - self.high))
        return first @ self.point_masses + (angle / v) @ (self.masses / length)

    def values(self, count: int) -> np.ndarray:
        """`count` eigenvalues, ascending: the quantiles (i + 1/2) / count."""
        positions = np.concatenate([self.points, self.low])
        order = np.argsort(positions, kind="stable")
        masses = np.concatenate([self.point_masses, self.masses])[order]
        low, high = positions[order], np.concatenate([self.points, self.high])[order]
        total = np.cumsum(masses)
        wanted = (np.arange(count) + 0.5) / count * total[-1]
        piece = np.minimum(np.searchsorted(total, wanted), len(total) - 1)
        inside = np.clip((wanted - (total - masses)[piece]) / masses[piece], 0.0, 1.0)
        return low[piece] + inside * (high - low)[piece]


def of_values(values) -> Law:
    """The law that takes each of the `values` (n,), a sample of eigenvalues, with probability 1 / n.

    Raises ValueError unless there are 1 to MOST values, all real and finite, as their squares are.
    """
    values = np.asarray(values).ravel()
    if values.dtype.kind not in "fiub":
        raise ValueError(f"a sample of eigenvalues needs real numbers, got {values.dtype}")
    values = values.astype(float)
    with np.errstate(over="ignore"):
        finite = np.all(np.isfinite(values**2))
    if not values.size or not finite:
        raise ValueError("a sample of eigenvalues needs one finite number or more, and finite squares")
    if values.size > MOST:
        raise ValueError(
            f"a sample of {values.size} eigenvalues: allowed: at most {MOST}; take every n-th of the sorted ones"
        )
    points, counts = np.unique(values, return_counts=True)
    none = np.zeros(0)
    return Law(points, counts / values.size, none, none, none)


def of_density(density, low: float, high: float, pieces: int = PIECES) -> Law:
    """The law of a `density` on [low, high], normalised, in uniform pieces that are shorter near the ends.

    The density maps (n,) to (n,), or one number to one number.

    Raises ValueError unless low < high and the density is finite, not negative, and not zero everywhere.
    """
    if not low < high or not np.isfinite(high - low):
        raise ValueError(f"need low < high, both finite, got {low} and {high}")
    ends = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(np.linspace(0.0, np.pi, pieces + 1))
    x, weights = np.polynomial.legendre.leggauss(_NODES)
    half = 0.5 * np.diff(ends)
    places = (0.5 * (ends[:-1] + ends[1:]) + np.outer(x, half)).ravel()
    try:
        values = np.broadcast_to(np.asarray(density(places), dtype=float), places.shape)
    except (TypeError, ValueError):
        # A function of `math`, or with a branch, reads one number.
        values = np.array([density(place) for place in places.tolist()], dtype=float)
    masses = half * (weights @ values.reshape(_NODES, pieces))
    if not np.all(np.isfinite(values)) or np.any(values < 0) or not masses.sum() > 0:
        raise ValueError("a density must be finite, not negative, and not zero everywhere")
    seen = masses > 0
    none = np.zeros(0)
    return Law(none, none, ends[:-1][seen], ends[1:][seen], masses[seen] / masses.sum())


def mixture(laws, weights) -> Law:
    """The mixture of `laws` with `weights` (n,), positive; they are normalised.

    Raises ValueError if a weight is not positive, or if continuous parts overlap.
    """
    weights = np.asarray(weights, dtype=float)
    if len(laws) != len(weights) or not np.all(weights > 0):
        raise ValueError(f"need one positive weight for each law, got {weights.tolist()}")
    shares = weights / weights.sum()

    def joined(place, masses):
        return np.concatenate([getattr(law, place) for law in laws]), np.concatenate(
            [share * getattr(law, masses) for law, share in zip(laws, shares, strict=True)]
        )

    points, inverse = np.unique(joined("points", "point_masses")[0], return_inverse=True)
    point_masses = np.bincount(inverse, joined("points", "point_masses")[1], len(points))
    low, masses = joined("low", "masses")
    high = joined("high", "masses")[0]
    order = np.argsort(low)
    if np.any(high[order][:-1] > low[order][1:]):
        raise ValueError("the continuous parts of a mixture must not overlap; give their sum as one density")
    return Law(points, point_masses, low[order], high[order], masses[order])


def law_of_file(name: str, ratio: float, project: Path) -> Law:
    """The law that the function `name`, path/to/file.py:function below the folder `project`, returns at the ratio rho, `ratio`.

    Raises
    ------
    ValueError
        If there is no such function, if it fails, or returns no `Law` of positive variance, or another law at the second call.
    """
    function = object_of_file("spectrum", name, project, "function {}", callable)
    try:
        law, again = function(ratio), function(ratio)
    except (Exception, SystemExit) as error:
        raise ValueError(f"the spectrum {name} fails at ratio {ratio:g}: {type(error).__name__}: {error}") from error
    if not isinstance(law, Law):
        raise ValueError(f"the spectrum {name} must return a Law of spectra, not {type(law).__name__}")
    if not law.variance > 0:
        raise ValueError(f"the spectrum {name} at ratio {ratio:g}: the eigenvalues must differ")
    if not all(np.array_equal(getattr(law, part.name), getattr(again, part.name)) for part in fields(Law)):
        raise ValueError(f"the spectrum {name} is random: two calls differ; draw with np.random.default_rng(0)")
    return law
