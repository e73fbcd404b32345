"""All fields with a given output, where the output has more numbers than there are fields: a finite sum (derived in this module).

An attention matrix of M tokens has M (M - 1) free numbers, and P rows have P M fields. For P <= M - 2 rows the output leaves
single points: the true fields with all their signs, and with exchanged rows where the output does not change. Nothing excludes
further points. Therefore every output is searched: Levenberg-Marquardt steps (Marquardt 1963) from STARTS random starts, the
same for all outputs. What they find beside the true fields is a candidate too; a sum over K candidates h_k has the weights |det
J^T J|^(-1/2), J = dy / dh at h_k, the density of the output on its surface.
"""

import itertools

import numpy as np

# Most changes of signs and exchanges of rows: each set of fields that is found gives so many candidates.
MOST_TURNS = 512
TOO_MANY = (
    f"the output is inverted for two tokens (tokens: 2), and for P <= M - 2 rows, at most {MOST_TURNS} signs and orders"
)
# Starts of the search for each output, and its steps.
STARTS, STEPS = 8, 40
# Step of the differences. Fields reproduce an output within ACCURACY of its largest entry, and are equal within DISTANCE.
DIFFERENCE, ACCURACY, DISTANCE = 1e-6, 1e-8, 1e-3
# Damping at the start, and its factors after a step that lowers the error and after one that does not.
DAMPING, SMALLER, LARGER = 1e-2, 0.3, 4.0


def overdetermined(rows, tokens, exchanges=1) -> bool:
    """Whether an output of M = `tokens` has more numbers than the fields of P = `rows`, and not too many turns.

    `exchanges` is the number of orders of the rows that leave the output as it is.
    """
    return rows <= tokens - 2 and 2**rows * exchanges <= MOST_TURNS


def search(forward, h, turns):
    """The true fields and all others that the search finds with the same output.

    Parameters
    ----------
    forward : function (..., P, M) -> (..., *output)
    h : array (n, P, M)
        The true fields.
    turns : array (T, P, P)
        Changes of signs and exchanges of rows that leave the output as it is, the identity first.

    Returns
    -------
    array (n, K, P, M)
        Of each set of fields that the turns connect, one; zero where there are less than K.
    """
    n, rows, tokens = h.shape
    starts = np.random.default_rng(0).standard_normal((STARTS, rows, tokens))
    found = _descend(forward, forward(h), np.broadcast_to(starts, (n, *starts.shape)))
    sets = [[one] for one in h]
    target = forward(h)
    error = np.abs(forward(found) - target[:, None]).reshape(n, STARTS, -1).max(axis=2)
    solved = error < ACCURACY * np.abs(target).reshape(n, -1).max(axis=1)[:, None]
    for output, start in zip(*np.nonzero(solved), strict=True):
        turned = turns @ found[output, start]
        if all(np.abs(turned - known).max(axis=(1, 2)).min() > DISTANCE for known in sets[output]):
            sets[output].append(found[output, start])
    full = np.zeros((n, max(map(len, sets)), rows, tokens))
    for output, fields in enumerate(sets):
        full[output, : len(fields)] = fields
    return full


def candidates(forward, found, turns, nodes=1):
    """Candidates (n, S, K T, P, M) and log-weights (n, S, K T) of the fibre, of what `search` has found (n, K, P, M).

    `forward` and `turns` are those of `search`. The candidates are the same for all S = `nodes` nodes.
    """
    n, _, rows, tokens = found.shape
    there = np.any(found != 0, axis=(2, 3))
    J = _jacobian(
        forward, np.where(there[..., None, None], found, 1.0 + np.arange(rows * tokens).reshape(rows, tokens))
    )
    log_volume = 0.5 * np.linalg.slogdet(np.swapaxes(J, -1, -2) @ J)[1]
    log_weight = np.where(there & np.isfinite(log_volume), -log_volume, -np.inf)
    turned = np.einsum("tpq,nkqa->nktpa", turns, found).reshape(n, 1, -1, rows, tokens)
    log_weight = np.repeat(log_weight, len(turns), axis=1)[:, None]
    return np.repeat(turned, nodes, axis=1), np.repeat(log_weight, nodes, axis=1)


def signed_exchanges(exchanges, rows):
    """All signs of the rows times the exchanges of rows, array (T, P, P).

    `exchanges` lists the rows in another order, P = `rows` numbers each, the order 0 ... P - 1 first.
    """
    signs = [np.diag(row) for row in itertools.product((1.0, -1.0), repeat=rows)]
    return np.array([sign @ np.eye(rows)[list(order)] for order in exchanges for sign in signs])


def _jacobian(forward, h):
    """dy / dh (..., outputs, P M) at h (..., P, M), by central differences."""
    size = h.shape[-2] * h.shape[-1]
    steps = DIFFERENCE * np.eye(size).reshape(size, *h.shape[-2:])
    columns = forward(h[..., None, :, :] + steps) - forward(h[..., None, :, :] - steps)
    return np.swapaxes(columns.reshape(*h.shape[:-2], size, -1), -1, -2) / (2.0 * DIFFERENCE)


def _descend(forward, target, h):
    """The ends (n, S, P, M) of the descents from h (n, S, P, M) towards the outputs `target` (n, *output)."""
    n, count, rows, tokens = h.shape
    h, y = h.reshape(-1, rows, tokens).copy(), np.repeat(target.reshape(n, -1), count, axis=0)
    damping = np.full(len(h), DAMPING)

    def rest_of(fields, outputs):
        return outputs - forward(fields).reshape(len(fields), -1)

    rest = rest_of(h, y)
    # What has arrived needs no further step.
    active = np.arange(len(h))
    for _ in range(STEPS):
        here = h[active]
        J = _jacobian(forward, here)
        normal = np.swapaxes(J, -1, -2) @ J
        normal += damping[active, None, None] * np.eye(rows * tokens)
        step = np.linalg.solve(normal, np.swapaxes(J, -1, -2) @ rest[active, :, None])
        moved = here + step.reshape(here.shape)
        new = rest_of(moved, y[active])
        better = np.sum(new**2, axis=1) < np.sum(rest[active] ** 2, axis=1)
        kept = active[better]
        h[kept], rest[kept] = moved[better], new[better]
        damping[active] *= np.where(better, SMALLER, LARGER)
        active = active[np.abs(rest[active]).max(axis=1) > 0.01 * ACCURACY]
        if not len(active):
            break
    return h.reshape(n, count, rows, tokens)
