"""Many integrals over one variable at once, each on its own interval, by halving panels until a pair of rules agrees.

The rules are those of Gauss with seven and of Kronrod with fifteen points (Kronrod 1965; Piessens et al. 1983, QUADPACK).
"""

from collections.abc import Callable

import numpy as np

# Positive points of the rule of fifteen, its weights, and the weights of the rule of seven at every second point.
_POINTS = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.0,
])  # fmt: skip
_FIFTEEN = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
])  # fmt: skip
_SEVEN = np.array([
    0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
    0.417959183673469387755102040816327,
])  # fmt: skip
POINTS = np.concatenate([-_POINTS, _POINTS[-2::-1]])
FIFTEEN = np.concatenate([_FIFTEEN, _FIFTEEN[-2::-1]])
SEVEN = np.zeros(15)
SEVEN[1::2] = np.concatenate([_SEVEN, _SEVEN[-2::-1]])
# Most halvings of a panel: a jump is then within 1e-12 of a boundary.
HALVINGS = 40
# Panels of one function that are halved at once: many more than a function of a few jumps and peaks needs.
MOST_WIDE = 512


def panel_points(low, high):
    """The fifteen points of each panel from `low` to `high`, arrays (m,): array (m, 15)."""
    return 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * POINTS


def halved(low, high):
    """The lower halves of panels from `low` to `high`, arrays (m,), then the upper halves: ends, arrays (2 m,) each."""
    middle = 0.5 * (low + high)
    return np.concatenate([low, middle]), np.concatenate([middle, high])


def adaptive_integrals(function: Callable, owner, place, low, high, count: int, tolerance: float):
    """Integrals of `count` functions with q components each, on panels that several of them share.

    Parameters
    ----------
    function : callable
        function(owner, place, x) -> values (m, 15, q) of the functions `owner` (m,) at the points x[place] of x (p, 15).
    owner, place : integer array (m,)
        Pairs of a function and a panel.
    low, high : array (p,)
        Ends of the panels to begin with.
    count : int
    tolerance : float
        For a function a panel is halved as long as the two rules differ by more in any component, in at most MOST_WIDE panels.

    Returns
    -------
    total : array (count, q)
    error : array (count,)
        Sum over panels of the largest difference of the two rules: far above the error of the rule of fifteen where the function
        is smooth, and of its size at a jump.
    """
    total = error = None
    for halving in range(HALVINGS + 1):
        values = function(owner, place, panel_points(low, high))
        half = 0.5 * (high - low)[place, None]
        found = half * np.einsum("mjq,j->mq", values, FIFTEEN)
        apart = np.max(np.abs(found - half * np.einsum("mjq,j->mq", values, SEVEN)), axis=1)
        if total is None:
            total, error = np.zeros((count, found.shape[1])), np.zeros(count)
        wide = (apart > tolerance) & (halving < HALVINGS)
        # A function that is wide everywhere has no integral at this tolerance: its error says so.
        wide &= np.bincount(owner[wide], minlength=count)[owner] <= MOST_WIDE
        np.add.at(total, owner[~wide], found[~wide])
        np.add.at(error, owner[~wide], apart[~wide])
        if not wide.any():
            break
        kept, place = np.unique(place[wide], return_inverse=True)
        owner, place = np.tile(owner[wide], 2), np.concatenate([place, place + len(kept)])
        low, high = halved(low[kept], high[kept])
    return total, error
