"""Posterior moments of one field given a noisy output, by an adaptive quadrature for each output.

    Z = int dh N(h; omega, V) p(y | h),    h = omega + sqrt(V) x

(the channel of generalised AMP, Rangan 2011). The likelihood may be much narrower than the prior, and anywhere: panels of x are
halved until log p changes little between their points, or nothing between them can matter; then until two rules agree. An output
whose posterior lies at or beyond the ends of the panels is not resolved.
"""

import numpy as np

from attention_limits.numerics.probability.adaptive import HALVINGS, adaptive_integrals, halved, panel_points
from attention_limits.sequence_multi_index.channels.cells import ACCURACY
from attention_limits.sequence_multi_index.links.link import Link

# Ends of the panels of x to begin with: about the mean of the prior, and far from it for outputs that the prior does not expect.
_INNER, _OUTER = np.linspace(-8.0, 8.0, 33), 8.0 * 1.25 ** np.arange(1, 15)
ENDS = np.concatenate([-_OUTER[::-1], _INNER, _OUTER])
# Between two points of a panel the log-density may change by STEEP unless it stays NEGLIGIBLE below the largest value found.
STEEP, NEGLIGIBLE = 3.0, 45.0
# Accuracy of each panel, relative to Z.
TOLERANCE = 1e-9
OUTPUTS_AT_ONCE = 1024


def one_field_moments(link: Link, observed, omega, V):
    """Moments of n outputs of a link of one field, P M = 1.

    Parameters
    ----------
    link : Link
        With a `log_likelihood`, finite in open sets that are not narrow.
    observed : array (n, ...)
    omega : array (n, 1, 1)
        Prior mean of h.
    V : array (1, 1)
        Prior variance.

    Returns
    -------
    log_z : array (n,)
    mean : array (n, 1)
        E[h - omega | y], zero where the output is not resolved.
    second : array (n, 1, 1)
        E[(h - omega)^2 | y], V where the output is not resolved.
    effective : array (n,)
        Infinite, 0 where the output is not resolved.
    """
    parts = [
        _some(link, observed[first : first + OUTPUTS_AT_ONCE], omega[first : first + OUTPUTS_AT_ONCE, 0, 0], V[0, 0])
        for first in range(0, len(observed), OUTPUTS_AT_ONCE)
    ]
    return tuple(np.concatenate(values) for values in zip(*parts, strict=True))


def _some(link, observed, omega, variance):
    n, deviation = len(observed), np.sqrt(variance)

    def log_density(owner, x):
        fields = omega[owner, None] + deviation * x
        found = link.log_likelihood(observed[owner], fields[:, :, None, None])
        return found - 0.5 * x**2 - 0.5 * np.log(2.0 * np.pi)

    owner, low, high, top = _panels(log_density, n)

    def function(owner, place, x):
        x = x[place]
        density = np.exp(log_density(owner, x) - top[owner, None]) / scale[owner, None]
        return np.stack([density, x * density, x**2 * density], axis=2)

    panels, scale = (owner, np.arange(len(owner)), low, high, n), np.ones(n)
    rough = adaptive_integrals(function, *panels, np.inf)[0][:, 0]
    scale = np.where(rough > 0, rough, 1.0)
    total, error = adaptive_integrals(function, *panels, TOLERANCE)
    resolved = (total[:, 0] > 0) & (error <= ACCURACY * total[:, 0])
    z = np.where(resolved, total[:, 0], 1.0)
    with np.errstate(divide="ignore"):
        log_z = np.log(total[:, 0]) + np.log(scale) + top
    mean, square = total[:, 1] / z, total[:, 2] / z
    return (
        np.where(resolved, log_z, -np.inf),
        np.where(resolved, deviation * mean, 0.0)[:, None],
        np.where(resolved, variance * square, variance)[:, None, None],
        np.where(resolved, np.inf, 0.0),
    )


def _panels(log_density, n):
    """Panels (owner, low, high) on which the log-density is smooth or negligible, and its largest value of each output; an output
    whose largest value lies beyond the ends has no panels."""
    owner = np.repeat(np.arange(n), len(ENDS) - 1)
    low, high = np.tile(ENDS[:-1], n), np.tile(ENDS[1:], n)
    kept, top, place = [], np.full(n, -np.inf), np.zeros(n)
    for halving in range(HALVINGS + 1):
        values = log_density(owner, panel_points(low, high))
        largest = values.max(axis=1)
        np.maximum.at(top, owner, largest)
        new = largest == top[owner]
        place[owner[new]] = (0.5 * (low + high))[new]
        finite = np.isfinite(values)
        change = np.where(finite[:, 1:] & finite[:, :-1], np.abs(np.diff(np.where(finite, values, 0.0), axis=1)), 0.0)
        steepest = change.max(axis=1)
        # A peak between two points is at most about one change above them.
        may_matter = largest + steepest > np.where(np.isfinite(top), top, 0.0)[owner] - NEGLIGIBLE
        steep = (steepest > STEEP) & may_matter & (halving < HALVINGS)
        kept.append((owner[~steep], low[~steep], high[~steep]))
        if not steep.any():
            break
        owner, (low, high) = np.tile(owner[steep], 2), halved(low[steep], high[steep])
    owner, low, high = (np.concatenate(arrays) for arrays in zip(*kept, strict=True))
    inside = (place > ENDS[1]) & (place < ENDS[-2])
    return owner[inside[owner]], low[inside[owner]], high[inside[owner]], np.where(np.isfinite(top), top, 0.0)
