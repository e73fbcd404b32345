"""Paths and escape times of the differential equation of the overlaps, dx/dtau = drift(x), tau = t / d.

The drifts are those of Arnaboldi et al. 2025 (arXiv:2506.02651) in the modules beside this one.
"""

import numpy as np
from scipy.integrate import solve_ivp

# Overlaps below this share of those at the start have reached the fixed point zero.
_NOWHERE = 1e-3
# Largest tau of a search for an escape, in units of 1 / gamma.
LONGEST = 1e6


def _settings(many):
    """Of the integration; an explicit method for a state of `many` numbers, because a Jacobian is expensive."""
    return {"method": "RK45" if many else "LSODA", "rtol": 1e-5, "atol": 1e-8}


def path(drift, start, times, many=False):
    """States (len(times), n) from `start` (n,) at tau = 0, at increasing `times`, for a `drift` (n,) -> (n,).

    `many` as for `escape_time`.
    """
    return solve_ivp(lambda _, x: drift(x), (0.0, times[-1]), start, t_eval=times, **_settings(many)).y.T


def escape_time(drift, size, start, threshold, end, many=False):
    """tau at which `size` of the state exceeds the `threshold` from `start` (n,); infinite beyond `end`.

    Also infinite where the size falls below a millionth of that of the start: so close to zero the flow is linear and contracts.

    Parameters
    ----------
    drift : callable
        (n,) -> (n,).
    size : callable
        (n,) -> float, quadratic in the overlaps.
    many : bool
        For a state of many numbers: an explicit method, and an end where the size would need the time `end` to change by itself.
    """

    def beyond(_, x):
        return size(x) - threshold

    def nowhere(_, x):
        return size(x) - _NOWHERE**2 * size(start)

    def at_rest(_, x):
        move = drift(x)
        return abs(0.5 * (size(x + move) - size(x - move))) * end - size(x)

    start = np.asarray(start, dtype=float)
    beyond.terminal, beyond.direction = True, 1.0
    nowhere.terminal, nowhere.direction = True, -1.0
    at_rest.terminal, at_rest.direction = True, -1.0
    if beyond(0.0, start) > 0.0:
        return 0.0
    events = (beyond, nowhere, at_rest) if many else (beyond, nowhere)
    found = solve_ivp(lambda _, x: drift(x), (0.0, end), start, events=events, **_settings(many))
    return float(found.t_events[0][0]) if len(found.t_events[0]) else np.inf
