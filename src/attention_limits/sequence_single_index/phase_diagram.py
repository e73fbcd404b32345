"""Phase diagram of the positional-semantic model: what SGD learns first, and what is best to learn.

The loss is linear in omega given a, so that every line below is the root of a linear equation with coefficients from
`attention_tables.line_constants` (arXiv:2506.02651). Codes of the regions: 1 if the global minimum is positional (|e| > |m|),
plus 2 if the steepest direction at (0, 0) is positional, plus 4 if there are several minima, counted on e, m >= 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from attention_limits.sequence_single_index.attention_tables import (
    assemble,
    attention_loss,
    attention_tables,
)
from attention_limits.sequence_single_index.geometry import fixed_attention, mean_attention
from attention_limits.sequence_single_index.phase_kernels import local_minima, scan

KINDS = ("semantic", "positional", "arc", "axis", "interior")
LINES = ("steepest", "positional_unstable", "global", "positional_minimum", "semantic_minimum")
# mu'' at e = 0 and mu' at e = 1, by e.
_MU_SECOND = 0.25 * np.sqrt(2.0)
_MU_SLOPE = 0.25 * np.sqrt(2.0) * np.exp(-0.5)


def phase_lines(a):
    """omega at which the phase diagram changes, for each a (scalar or array).

    Returns
    -------
    dict
        steepest: H_ee = H_mm at (0, 0), above it the positional direction is steeper;
        positional_unstable: H_ee = 0 at (0, 0), above it the positional direction descends;
        global: R(1, 0) = R(0, 1), above it the positional corner is the lower one;
        positional_minimum: above it (1, 0) is a local minimum;
        semantic_minimum: below it (0, 1) is a local minimum.
    """
    abar, k = fixed_attention(a), attention_tables().constants
    mu_0, mu_1 = mean_attention(0.0), mean_attention(1.0)
    q2, c2_0, c2_1 = k["q2"], k["c2_0"], k["c2_1"]
    # Each condition is constant + slope * omega = 0.
    corner = k["dq_1"] - 2 * mu_0 * _MU_SLOPE + 4 * c2_1
    arc = q2 - 2 * k["C_ee"] + 2 * k["C_m"]
    gap = 2 * (k["Q"] - mu_0 * mu_1) - (k["Q"] - k["q_1"])
    return {
        "steepest": (q2 - 2 * mu_0 * _MU_SECOND + 4 * c2_0) / (4 * c2_0 + 2 * (abar - mu_0) * _MU_SECOND),
        "positional_unstable": (q2 - 2 * mu_0 * _MU_SECOND) / (2 * (abar - mu_0) * _MU_SECOND),
        "global": gap / (2 * (k["Q"] - mu_0 * mu_1) - 2 * abar * (mu_0 - mu_1)),
        "positional_minimum": corner / (2 * (abar - mu_0) * _MU_SLOPE + 4 * c2_1),
        "semantic_minimum": arc / (2 * abar * _MU_SECOND - 2 * k["C_ee"] + 2 * k["C_m"]),
    }


@dataclass(frozen=True)
class Minimum:
    """A local minimum of the loss on e, m >= 0, e^2 + m^2 <= 1.

    Attributes
    ----------
    e, m : float
    value : float
        R(e, m).
    kind : str
        semantic, the corner (0, 1); positional, the corner (1, 0); arc, on e^2 + m^2 = 1 between them; axis, on e = 0 or m = 0;
        interior.
    """

    e: float
    m: float
    value: float
    kind: str


def _grid(size):
    """Tables on the triangle grid: q, mu (size + 1,) and C (size + 1, size + 1)."""
    tables = attention_tables()
    x = np.arange(size + 1) / size
    return tables.q_at(x), mean_attention(x), tables.overlap(x[:, None], np.minimum(x[None, :], 1.0 - x[:, None]))


def minima(a, omega, size=64):
    """All local minima of the loss at one (a, omega), the lowest first.

    A grid in (e^2, m^2) with `size` intervals per side finds them; each is then refined to about 1e-8.
    """
    found = np.empty((64, 3), np.int64)
    lines = phase_lines(a)
    semantic, positional = _corner_minima(lines, omega)
    pull = float(omega * fixed_attention(a))
    count, _ = local_minima(*_grid(size), 1.0 - omega, pull, semantic, positional, found)
    result = {}
    for i, j, _ in found[:count]:
        x, y = _refine(a, omega, i / size, j / size)
        key = (round(x, 5), round(y, 5))
        e, m = float(np.sqrt(x)), float(np.sqrt(y))
        result[key] = Minimum(e, m, float(attention_loss(a, omega, e, m)), _kind(x, y))
    return sorted(result.values(), key=lambda minimum: minimum.value)


def _corner_minima(lines, omega):
    """Whether the semantic and the positional corner are local minima; at omega = 1 the loss is flat along m."""
    return (omega < np.minimum(lines["semantic_minimum"], 1.0)), (omega > lines["positional_minimum"])


def _kind(x, y, margin=1e-9):
    if y >= 1.0 - margin:
        return "semantic"
    if x >= 1.0 - margin:
        return "positional"
    if x + y >= 1.0 - margin:
        return "arc"
    return "axis" if min(x, y) <= margin else "interior"


def _refine(a, omega, x, y):
    """The minimum near (X, Y) on the triangle."""
    tables, abar = attention_tables(), fixed_attention(a)

    def value(point):
        px, py = np.maximum(point, 0.0)
        return float(assemble(a, omega, tables.q_at(px), mean_attention(px), tables.overlap(px, py)))

    def slope(point):
        px, py = np.maximum(point, 0.0)
        by_x = 2 * (tables.q_at(px, 1) - 2 * omega * abar * mean_attention(px, 1))
        by_x -= 4 * (1 - omega) * tables.overlap(px, py, (1, 0))
        return np.array([by_x, -4 * (1 - omega) * tables.overlap(px, py, (0, 1))])

    inside = {"type": "ineq", "fun": lambda p: 1.0 - p.sum(), "jac": lambda p: np.array([-1.0, -1.0])}
    found = minimize(
        value, [x, y], jac=slope, method="SLSQP", bounds=[(0, 1), (0, 1)], constraints=[inside], options={"ftol": 1e-16}
    )
    px, py = np.clip(found.x, 0.0, 1.0)
    return float(px), float(min(py, 1.0 - px))


@dataclass(frozen=True)
class PhaseGrid:
    """Phases on a grid of a (rows) and omega (columns).

    Attributes
    ----------
    code : array (rows, columns) of int
        Region code, 0 to 7.
    count : array (rows, columns) of int
        Number of local minima on e, m >= 0.
    kinds : array (rows, columns, 5) of int
        Number of each of KINDS.
    e, m : arrays (rows, columns)
        Overlaps at the global minimum, to the resolution of the search grid.
    """

    code: np.ndarray
    count: np.ndarray
    kinds: np.ndarray
    e: np.ndarray
    m: np.ndarray


def phase_grid(a, omega, size=96) -> PhaseGrid:
    """Region codes for all pairs of a (rows,) and omega (columns,); `size` intervals of e^2 and m^2 in the search for minima."""
    a, omega = np.asarray(a, dtype=float), np.asarray(omega, dtype=float)
    lines = {name: line[:, None] for name, line in phase_lines(a).items()}
    pulls = omega * fixed_attention(a)[:, None]
    weights = np.broadcast_to(1.0 - omega, pulls.shape).ravel()
    corners = (flags.ravel() for flags in _corner_minima(lines, omega))
    count, kinds = np.zeros(len(weights), np.int64), np.zeros((len(weights), len(KINDS)), np.int64)
    where = np.empty((len(weights), 2))
    scan(*_grid(size), weights, pulls.ravel(), *corners, count, kinds, where)
    shape = (len(a), len(omega))
    e, m = where[:, 0].reshape(shape), where[:, 1].reshape(shape)
    count = count.reshape(shape)
    code = (e > m) + 2 * (omega > lines["steepest"]) + 4 * (count > 1)
    return PhaseGrid(code.astype(np.int64), count, kinds.reshape(*shape, len(KINDS)), e, m)
