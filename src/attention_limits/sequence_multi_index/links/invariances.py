"""Combinations of rows that the output of a link does not see: directions v with g(h + v x^T) = g(h) for all fields h and x.

Then the posterior of the fields is invariant too, v . g_out = 0 exactly, and no amount of data gives an overlap along v. For
`largest_row` v is the sum of all rows: it has no overlap, so that Q_pp is at most 1 - 1 / P. The directions are read off the
output, so that links of a user have them too. Derived for this project.
"""

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link

# Random fields per row at which the output is changed, and fields at which an invariance must hold.
PROBED, CHECKED = 16, 256
# Change of the fields; halvings of an interval that holds a step of the output.
STEP, HALVINGS = 1e-6, 50
# Singular values below this share of the largest one are zero: of differences of a smooth output, and of positions of a step.
SMOOTH, STEPS = 1e-7, 1e-2
# Accepted difference of outputs, relative to the largest one, and the largest shift x.
EQUAL, SHIFT = 1e-8, 3.0


def invariant_rows(link: Link):
    """Orthonormal columns (P, k) of the directions v that the output does not see; k = 0 for most links."""
    rng = np.random.default_rng(0)
    # A link may show its fields through `observe` or the tokens alone: then nothing is known.
    if link.rows == 1 or type(link).forward is Link.forward or hasattr(link, "spikes"):
        return np.zeros((1, 0))
    h = rng.standard_normal((PROBED * link.rows, link.rows, link.tokens))
    x = rng.standard_normal((len(h), 1, link.tokens))
    # A smooth output has a slope in every row at nearly every field.
    found = _null_space(_slopes(link, h[:PROBED], x[:PROBED]), SMOOTH)
    if found.shape[1] == link.rows:
        found = _null_space(_moves(link, h, x, rng), STEPS)
    return found if found.shape[1] and _holds(link, found, rng) else np.zeros((link.rows, 0))


def _outputs(link, h):
    return np.reshape(link.forward(h), (len(h), -1))


def _row(link, p):
    return np.eye(link.rows)[:, p : p + 1]


def _slopes(link, h, x):
    """Derivatives (m, P) of all outputs in shifts of every row along x."""
    columns = []
    for p in range(link.rows):
        up, down = (_outputs(link, h + sign * STEP * _row(link, p) * x) for sign in (1.0, -1.0))
        columns.append(((up - down) / (2.0 * STEP)).ravel())
    return np.stack(columns, axis=1)


def _moves(link, h, x, rng):
    """Derivatives (m, P) of the position of a step of the output, on lines from h, in shifts of every row along x."""
    line = rng.standard_normal(h.shape)
    start, lengths = _outputs(link, h), np.linspace(0.0, 3.0, 65)[1:]
    changed = np.stack([np.any(_outputs(link, h + s * line) != start, axis=1) for s in lengths])
    kept = changed.any(axis=0)
    h, x, line, start = h[kept], x[kept], line[kept], start[kept]
    if not kept.any():
        return np.zeros((0, link.rows))
    first = lengths[np.argmax(changed[:, kept], axis=0)]

    def position(fields, low, high):
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            before = np.all(_outputs(link, fields + middle[:, None, None] * line) == start, axis=1)
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return low

    low, high = first - lengths[0], first
    origin = position(h, low, high)
    moved = [position(h + STEP * _row(link, p) * x, low - lengths[0], high + lengths[0]) for p in range(link.rows)]
    slopes = (np.stack(moved, axis=1) - origin[:, None]) / STEP
    # A line that crosses another step of the shifted output says nothing.
    return slopes[np.all(np.abs(slopes) * STEP < 0.5 * lengths[0], axis=1)]


def _null_space(slopes, share):
    """Orthonormal columns (P, k) that `slopes` (m, P) send to zero."""
    if not np.all(np.isfinite(slopes)) or not slopes.any():
        return np.eye(slopes.shape[1]) if np.all(np.isfinite(slopes)) else np.zeros((slopes.shape[1], 0))
    _, values, vectors = np.linalg.svd(slopes)
    values = np.append(values, np.zeros(len(vectors) - len(values)))
    return vectors[values <= share * values[0]].T


def _holds(link, columns, rng) -> bool:
    """Whether shifts along the columns leave the output unchanged."""
    h = rng.standard_normal((CHECKED, link.rows, link.tokens))
    shift = columns @ (SHIFT * rng.standard_normal((CHECKED, columns.shape[1], link.tokens)))
    before, after = _outputs(link, h), _outputs(link, h + shift)
    return bool(np.all(np.abs(after - before) <= EQUAL * np.max(np.abs(before), initial=0.0)))
