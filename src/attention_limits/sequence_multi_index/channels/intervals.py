"""Exact posterior moments of one or two fields whose discrete output says in which intervals the last field is.

The fields are h = omega + L x with standard normal x and L L^T their covariance. For a given x_1 the last field is normal with
the standard deviation L_22, and the interval from a to b has in its units

    E[1] = Phi(b) - Phi(a),    E[x 1] = phi(a) - phi(b),    E[x^2 1] = E[1] + a phi(a) - b phi(b),

phi and Phi the standard normal density and distribution function (derived here: integration by parts). One field needs no more;
for two, an adaptive rule integrates over x_1.
"""

import numpy as np
from scipy.special import ndtr

from attention_limits.numerics.probability.adaptive import adaptive_integrals
from attention_limits.sequence_multi_index.channels.cells import moments_in_cells
from attention_limits.sequence_multi_index.links.intervals import Intervals

# The integral over x_1 goes from minus to plus FAR, in panels of WIDTH to begin with, each exact to TOLERANCE.
FAR, WIDTH, TOLERANCE = 8.0, 2.0, 1e-9


def interval_moments(intervals: Intervals, observed, omega, V):
    """Moments of n outputs.

    Parameters
    ----------
    intervals : Intervals
        Of the link.
    observed : array (n, ...)
        Outputs.
    omega : array (n, P, M)
        Prior means of the fields, P M = 1 or 2.
    V : array (P, P)
        Their prior covariance over rows.

    Returns
    -------
    log_z (n,), mean (n, P M), second (n, P M, P M), effective (n,)
        See `moments_in_cells`.
    """
    n, outputs = len(observed), intervals.outputs.reshape(len(intervals.outputs), -1)
    lower = np.linalg.cholesky(np.kron(V, np.eye(omega.shape[2])))
    size = len(lower)
    own = np.argmax(np.all(np.reshape(observed, (n, 1, -1)) == outputs, axis=2), axis=1)
    centre = omega.reshape(n, size)
    if intervals.lines:
        sums, error = _over_lines(intervals, centre, lower)
    else:
        edges, label = intervals.only
        sums = _line((edges - centre) / lower[0, 0], np.broadcast_to(label, (n, len(label))), len(outputs))
        error = np.zeros(n)
    mine = sums[np.arange(n), own]
    z, first, square = mine[:, 0], mine[:, 1 : 1 + size], mine[:, 1 + size :]
    second = np.empty((n, size, size))
    second[:, *np.triu_indices(size)] = square
    second.transpose(0, 2, 1)[:, *np.triu_indices(size)] = square
    return moments_in_cells(z, first, second, lower, error)


def _line(edges, label, count):
    """E[1], E[x 1], E[x^2 1] of each of `count` outputs, array (m, count, 3), from `edges` (m, E) of a standard normal x."""
    ends = np.pad(edges, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    finite = np.where(np.isfinite(ends), ends, 0.0)
    density = np.where(np.isfinite(ends), np.exp(-0.5 * finite**2) / np.sqrt(2.0 * np.pi), 0.0)
    # The smaller one of the two tails, so that a far interval keeps its digits.
    below, above = ndtr(ends), ndtr(-ends)
    upper = ends[:, :-1] > 0
    zeroth = np.where(upper, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
    parts = np.stack([zeroth, -np.diff(density, axis=1), zeroth - np.diff(finite * density, axis=1)], axis=2)
    return np.stack([np.sum(np.where((label == k)[..., None], parts, 0.0), axis=1) for k in range(count)], axis=1)


def _over_lines(intervals, centre, lower):
    """Z, E[x_1], E[x_2], E[x_1 x_1], E[x_1 x_2], E[x_2 x_2] of each output, (n, K, 6), for means (n, 2); and the error (n,).

    All means share the lines of one h_1, whose intervals are found once.
    """
    n, count, deviation = len(centre), len(intervals.outputs), lower[0, 0]

    def function(owner, place, first):
        edges, label = intervals.along(first.reshape(-1))
        edges, label = (array.reshape(*first.shape, array.shape[1])[place] for array in (edges, label))
        x = (first[place] - centre[owner, :1]) / deviation
        shift = centre[owner, 1:] + lower[1, 0] * x
        edges, label = (array.reshape(x.size, array.shape[2]) for array in (edges, label))
        parts = _line((edges - shift.reshape(x.size, 1)) / lower[1, 1], label, count)
        zeroth, first, second = np.moveaxis(parts.reshape(*x.shape, count, 3), 3, 0)
        one = x[..., None]
        weight = np.exp(-0.5 * one**2) / (np.sqrt(2.0 * np.pi) * deviation)
        products = [zeroth, one * zeroth, first, one**2 * zeroth, one * first, second]
        return np.stack([weight * part for part in products], axis=3).reshape(*x.shape, -1)

    step = WIDTH * deviation
    lowest, highest = ((centre[:, 0] + side * FAR * deviation) / step for side in (-1.0, 1.0))
    begin, end = np.floor(lowest).astype(int), np.ceil(highest).astype(int)
    owner = np.repeat(np.arange(n), end - begin)
    number = np.concatenate([np.arange(*pair) for pair in zip(begin, end, strict=True)])
    panels, place = np.unique(number, return_inverse=True)
    total, error = adaptive_integrals(function, owner, place, step * panels, step * (panels + 1), n, TOLERANCE)
    return total.reshape(n, count, 6), error
