"""All fixed points of two layers at one width, and the thresholds between their branches.

At a fixed point both layers need the same number of samples,

    alpha = V_1 / (D_1 k_1(V)) = V_2 / (D_2 k_2(V)),    V_l = mmse(D_l).

Nothing is iterated. At each D_1 the second equation is solved for D_2, and the first gives alpha. The left side rises with D_2,
because the information on layer 1 grows with the knowledge of layer 2. The right side falls with D_2 unless layer 2 alone has a
jump. Then there is one solution for each D_1, and all fixed points lie on one curve. Where alpha rises towards small D_1 they are
stable, where it falls they are unstable. The free entropy (`free_entropy`) selects among the stable ones. Derived for this
project.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from attention_limits.attention_indexed.priors.denoisers.wishart import mmse
from attention_limits.attention_indexed.two_layers.phases.free_entropy import difference, noise_at
from attention_limits.attention_indexed.two_layers.phases.information import Table
from attention_limits.numerics.solvers.roots import root_between

# Noises D of each layer, in equal steps of log D, and the largest of them times 1 / (1 + 1 / rho).
_NOISES, _LARGEST = 600, 1e4
# Relative changes of alpha below this are rounding.
_ROUNDING = 1e-7


@dataclass(frozen=True)
class Curve:
    """Fixed points in order of falling V_1.

    Attributes
    ----------
    alpha : array (n,)
    V : array (n, 2)
        Errors of both layers.
    whole : bool
        Whether the curve has all fixed points with errors from `Table.lowest` on: one at each D_1.
    """

    alpha: np.ndarray
    V: np.ndarray
    whole: bool

    def places(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """alpha (`count`,) and V (`count`, 2) at equal steps of the length of the curve in V; NaN for a curve without points."""
        if not len(self.alpha):
            return np.full(count, math.nan), np.full((count, 2), math.nan)
        length = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(self.V, axis=0), axis=1)))
        at = np.linspace(0.0, length[-1], count)
        alpha = np.exp(np.interp(at, length, np.log(self.alpha)))
        return alpha, np.stack([np.interp(at, length, layer) for layer in self.V.T], axis=1)


@dataclass(frozen=True)
class Phases:
    """Thresholds of a curve; NaN where it does not have them.

    Attributes
    ----------
    begin, end : float
        Smallest alpha that follows a larger one on the way to small errors, where the informed branch begins; largest alpha that
        a smaller one follows, where the uninformed branch ends and message passing jumps. NaN where the fixed point is unique.
    equal : float
        The alpha between both above which another branch than the uninformed one has the largest free entropy.
    followed : float
        The alpha up to which the curve has all fixed points; NaN where it is not `whole`.
    unique : bool
        Whether alpha rises along the whole curve, so that there is one fixed point at each alpha up to `followed`.
    """

    begin: float
    end: float
    equal: float
    followed: float
    unique: bool


def curve(table: Table, ratio: float) -> Curve:
    """The fixed points at the width `ratio`, from the information of a `table`."""
    low, high = np.log(float(noise_at(ratio, table.lowest))), np.log(_LARGEST * (1.0 + 1.0 / ratio))
    noise = np.exp(np.linspace(high, low, _NOISES))
    V = mmse(ratio, noise)
    k = table.grid(V, V)
    excess = np.log(V / noise)[:, None] - np.log(k[0]) - np.log(V / noise) + np.log(k[1])
    # At the largest D_2 layer 2 needs the smaller alpha.
    falls = (excess[:, :-1] > 0) & (excess[:, 1:] <= 0)
    count = falls.sum(axis=1)
    # The curve ends where layer 2 is known better than the table.
    rows = np.flatnonzero(count)
    if not len(rows):
        return Curve(np.empty(0), np.empty((0, 2)), whole=False)
    whole = bool(np.all(count[rows] == 1)) and len(rows) == rows[-1] + 1 - rows[0]
    place = falls[rows].argmax(axis=1)

    def remaining(log_noise, first_noise, first):
        second_noise = np.exp(log_noise)
        second = mmse(ratio, second_noise)
        own, other = table.along(first, second)
        return np.log(first / first_noise / own) - np.log(second / second_noise / other)

    found = root_between(remaining, np.log(noise[place]), np.log(noise[place + 1]), noise[rows], V[rows])
    second = mmse(ratio, np.exp(found))
    alpha = second / (np.exp(found) * table.along(V[rows], second)[1])
    return Curve(alpha, np.stack([V[rows], second], axis=1), whole)


def phases(table: Table, of: Curve, ratio: float, recovery: float) -> Phases:
    """The thresholds of the curve `of` a table at the width `ratio`.

    `recovery` is the alpha above which V = 0 is a fixed point, with F = +infinity; infinite where an output gives no equation.
    """
    if not of.whole:
        return Phases(math.nan, math.nan, math.nan, math.nan, False)
    branches = _branches(of.alpha)
    # The last branch goes on beyond the curve.
    ends = [_extreme(of.alpha, last) for _, last in branches]
    begins = [_extreme(of.alpha, first) for first, _ in branches[1:]]
    takes_over = [_equal(table, ratio, of, branches[0], branch) for branch in branches[1:]]
    if max(ends) > recovery:
        begins.append(recovery)
        takes_over.append(recovery if ends[0] > recovery else math.nan)
    known = [alpha for alpha in takes_over if not math.isnan(alpha)]
    return Phases(
        min(begins, default=math.nan),
        max(ends[:-1], default=math.nan),
        min(known, default=math.nan),
        ends[-1],
        not begins,
    )


def _branches(alpha):
    """First and last number of each part of the curve on which alpha rises, in order."""
    changes = np.diff(np.log(alpha))
    steps = np.where(np.abs(changes) < _ROUNDING, 0.0, np.sign(changes))
    # A change that is rounding has the sign of the one before.
    moving = np.maximum.accumulate(np.where(steps != 0, np.arange(len(steps)), 0))
    rises = steps[moving] > 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rises, [False]]).astype(int)))
    return list(zip(edges[::2], edges[1::2], strict=True))


def _extreme(alpha, place):
    """The extreme of alpha next to the number `place`, of the parabola through log alpha at three points."""
    if not 0 < place < len(alpha) - 1:
        return float(alpha[place])
    before, at, after = np.log(alpha[place - 1 : place + 2])
    bend = before - 2.0 * at + after
    return float(np.exp(at - (after - before) ** 2 / (8.0 * bend))) if bend else float(alpha[place])


def _equal(table, ratio, of, first, other):
    """The alpha above which the branch `other` has a larger free entropy than `first`; NaN where both do not meet."""
    low, high = float(of.alpha[other[0]]), min(float(of.alpha[last]) for _, last in (first, other))
    if low >= high:
        return math.nan

    def excess(alpha):
        points = [_point(of, branch, alpha) for branch in (first, other)]
        return difference(table.at, ratio, alpha, *points)

    if excess(low) > 0 or excess(high) < 0:
        return math.nan
    return float(brentq(excess, low, high, rtol=1e-9))


def _point(of, branch, alpha):
    """V (2,) at an alpha of a branch. F is stationary there, and does not feel the error of the interpolation."""
    part = slice(branch[0], branch[1] + 1)
    logs = np.log(of.V[part])
    return np.exp([np.interp(math.log(alpha), np.log(of.alpha[part]), logs[:, layer]) for layer in range(2)])
