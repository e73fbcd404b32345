"""Phase diagram of the positional-semantic model: the direction that SGD learns first, and the best one.

The loss is linear in omega given a, so that every line below is the root of a linear equation with coefficients from
`loss.line_constants` (arXiv:2506.02651). The loss falls with |m| at every e for omega < 1: all minima lie on the arc
e^2 + m^2 = 1, and the search for them has one dimension. Codes of the regions: 1 if the global minimum is positional
(|e| > |m|), plus 2 if the steepest direction at (0, 0) is positional, plus 4 if there are several minima, counted on e, m >= 0.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from attention_limits.sequence_single_index.links.geometry import fixed_attention, mean_attention
from attention_limits.sequence_single_index.positional_semantic.loss import assemble, attention_tables

KINDS = ("semantic", "positional", "arc", "flat")
SEMANTIC, POSITIONAL, ARC, FLAT = range(len(KINDS))
# Contributions to the code of a region.
GLOBAL_POSITIONAL, STEEPEST_POSITIONAL, SEVERAL_MINIMA = 1, 2, 4
LINES = ("steepest", "positional_unstable", "global", "positional_minimum", "semantic_minimum")
# mu'' at e = 0 and mu' at e = 1, by e.
_MU_SECOND = 0.25 * np.sqrt(2.0)
_MU_SLOPE = 0.25 * np.sqrt(2.0) * np.exp(-0.5)
# Cells of the search along the arc, and Chebyshev nodes of C on it: the coefficients end at rounding.
_CELLS = 256
_NODES = 32


def _conditions(a):
    """{line: (constant, slope)}: the line is where constant + slope omega = 0, and at omega = 0 the constant is positive."""
    abar, k = fixed_attention(a), attention_tables().constants
    mu_0, mu_1 = mean_attention(0.0), mean_attention(1.0)
    q2, c2_0, c2_1 = k["q2"], k["c2_0"], k["c2_1"]
    start = q2 - 2 * mu_0 * _MU_SECOND
    corner = k["dq_1"] - 2 * mu_0 * _MU_SLOPE + 4 * c2_1
    arc = q2 - 2 * k["C_ee"] + 2 * k["C_m"]
    gap = 2 * (k["Q"] - mu_0 * mu_1) - (k["Q"] - k["q_1"])
    return {
        "steepest": (start + 4 * c2_0, -4 * c2_0 - 2 * (abar - mu_0) * _MU_SECOND),
        "positional_unstable": (start, -2 * (abar - mu_0) * _MU_SECOND),
        "global": (gap, 2 * abar * (mu_0 - mu_1) - 2 * (k["Q"] - mu_0 * mu_1)),
        "positional_minimum": (corner, -2 * (abar - mu_0) * _MU_SLOPE - 4 * c2_1),
        "semantic_minimum": (arc, 2 * k["C_ee"] - 2 * k["C_m"] - 2 * abar * _MU_SECOND),
    }


def phase_lines(a):
    """omega at which the phase diagram changes, for each a (scalar or array).

    Returns
    -------
    dict
        steepest: H_ee = H_mm at (0, 0), above it the positional direction is steeper;
        positional_unstable: H_ee = 0 at (0, 0), above it the positional direction descends;
        global: R(1, 0) = R(0, 1), above it the global minimum is the positional corner, below it the semantic one;
        positional_minimum: above it (1, 0) is a local minimum;
        semantic_minimum: below it (0, 1) is a local minimum.
        NaN where no omega in [0, 1] is on the line: all omega < 1 are then on the side of omega = 0. The line global is also NaN
        where a minimum on the arc is as low as the corners: the change of the global minimum then has no closed form.
    """
    found = {}
    for name, (constant, slope) in _conditions(a).items():
        # The constants are positive: the root lies in [0, 1] where the slope is at most minus the constant.
        found[name] = -constant / np.where(slope <= -constant, slope, np.nan)
    # Where the corners are equally low, another minimum may be lower.
    crossing = np.array(found["global"]).reshape(-1)
    for i, strength in enumerate(np.ravel(a)):
        if np.isfinite(crossing[i]) and minima(strength, crossing[i])[0].kind == KINDS[ARC]:
            crossing[i] = np.nan
    return found | {"global": crossing.reshape(np.shape(a))}


@dataclass(frozen=True)
class Minimum:
    """A local minimum of the loss on e, m >= 0, e^2 + m^2 <= 1.

    Attributes
    ----------
    e, m : float
    value : float
        R(e, m).
    kind : str
        semantic, the corner (0, 1); positional, the corner (1, 0); arc, on e^2 + m^2 = 1 between them; flat, a line along m of
        equal losses, which occurs at omega = 1 alone and counts once, with m = 0.
    """

    e: float
    m: float
    value: float
    kind: str


@dataclass(frozen=True)
class _Arc:
    """The parts of the loss on e^2 = X, m^2 = 1 - X: nodes x (n,), and the derivatives d/dX of q, mu and C at the nodes."""

    x: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    overlap: np.ndarray
    series: np.ndarray

    def slope(self, x, weight, pull):
        """d/dX of (q - 2 weight C - 2 pull mu), all arguments of one shape."""
        overlap = chebyshev.chebval(2.0 * x - 1.0, self.series)
        return attention_tables().q_at(x, 1) - 2.0 * weight * overlap - 2.0 * pull * mean_attention(x, 1)


@functools.cache
def _arc() -> _Arc:
    tables, points = attention_tables(), chebyshev.chebpts1(_NODES)
    at = 0.5 * (points + 1.0)
    values = np.linalg.solve(chebyshev.chebvander(points, _NODES - 1), tables.overlap(at, 1.0 - at))
    series = chebyshev.chebder(values, scl=2.0)
    # Denser towards both corners, where minima leave them.
    x = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, _CELLS + 1))
    return _Arc(x, tables.q_at(x, 1), mean_attention(x, 1), chebyshev.chebval(2.0 * x - 1.0, series), series)


@dataclass(frozen=True)
class PhaseGrid:
    """Phases on a grid of a (rows) and omega (columns).

    Attributes
    ----------
    code : array (rows, columns) of int
        Region code, 0 to 7.
    count : array (rows, columns) of int
        Number of local minima on e, m >= 0.
    kinds : array (rows, columns, 4) of int
        Number of each of KINDS.
    e, m : arrays (rows, columns)
        Overlaps at the global minimum.
    """

    code: np.ndarray
    count: np.ndarray
    kinds: np.ndarray
    e: np.ndarray
    m: np.ndarray


def phase_grid(a, omega) -> PhaseGrid:
    """Region codes for all pairs of a (rows,) and omega (columns,)."""
    omega = np.asarray(omega, dtype=float)
    shape = (len(a), len(omega))
    code, count, kinds = np.empty(shape, int), np.empty(shape, int), np.zeros((*shape, len(KINDS)), int)
    e, m = np.empty(shape), np.empty(shape)
    for row, strength in enumerate(a):
        found = _found(strength, omega)
        np.add.at(kinds[row], (found.column, found.kind), 1)
        count[row] = kinds[row].sum(axis=1)
        # Sorted by value within each column: the first is the lowest.
        _, first = np.unique(found.column, return_index=True)
        e[row], m[row] = found.e[first], found.m[first]
        constant, slope = _conditions(strength)["steepest"]
        code[row] = GLOBAL_POSITIONAL * (e[row] > m[row])
        code[row] += STEEPEST_POSITIONAL * (constant + slope * omega < 0.0) + SEVERAL_MINIMA * (count[row] > 1)
    return PhaseGrid(code, count, kinds, e, m)


def minima(a, omega):
    """All local minima of the loss at one (a, omega), the lowest first; e^2 to about 1e-9."""
    found = _found(a, np.array([omega], dtype=float))
    return [
        Minimum(float(e), float(m), float(value), KINDS[kind])
        for e, m, value, kind in zip(found.e, found.m, found.value, found.kind, strict=True)
    ]


@dataclass(frozen=True)
class _Found:
    """Minima at one a and several omega, arrays (n,), sorted by column (number of the omega) and value."""

    column: np.ndarray
    kind: np.ndarray
    e: np.ndarray
    m: np.ndarray
    value: np.ndarray


def _found(a, omega) -> _Found:
    arc, conditions = _arc(), _conditions(a)
    weight, pull = 1.0 - omega, omega * fixed_attention(a)
    slope = arc.q - 2.0 * weight[:, None] * arc.overlap - 2.0 * pull[:, None] * arc.mu
    # The conditions in closed form have no series error, and a corner minimum may be narrower than a cell.
    for end, name in ((0, "semantic_minimum"), (-1, "positional_minimum")):
        constant, by_omega = conditions[name]
        slope[:, end] = constant + by_omega * omega
    inside, cell = np.nonzero((slope[:, :-1] <= 0.0) & (slope[:, 1:] > 0.0))
    low, high = arc.x[cell], arc.x[cell + 1]
    for _ in range(40 if len(cell) else 0):
        middle = 0.5 * (low + high)
        falls = arc.slope(middle, weight[inside], pull[inside]) <= 0.0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    at_teacher, at_position = np.flatnonzero(slope[:, 0] > 0.0), np.flatnonzero(slope[:, -1] <= 0.0)
    column = np.concatenate([at_teacher, at_position, inside])
    x = np.concatenate([np.zeros(len(at_teacher)), np.ones(len(at_position)), 0.5 * (low + high)])
    kind = np.repeat([SEMANTIC, POSITIONAL, ARC], [len(at_teacher), len(at_position), len(inside)])
    # At omega = 1 the loss does not depend on m.
    flat = (omega[column] == 1.0) & (kind != POSITIONAL)
    kind = np.where(flat, FLAT, kind)
    y = np.where(flat, 0.0, 1.0 - x)
    tables = attention_tables()
    value = assemble(a, omega[column], tables.q_at(x), mean_attention(x), tables.overlap(x, y))
    order = np.lexsort((value, column))
    return _Found(column[order], kind[order], np.sqrt(x)[order], np.sqrt(y)[order], value[order])
