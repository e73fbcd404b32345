"""Exact posterior moments of two fields whose output says in which sectors of their plane they are.

In standard normal fields around m, Z is the probability of a sector between two rays from the origin. With the unit vector e of a
ray, its normal n, c = m . e and d = |m . n| the sector between the ray and the direction -m has the probability
Phi(-d) / 2 + T(d, c / d), T the function of Owen (1956, Ann. Math. Stat. 27, 1075). The divergence theorem reduces the first and
the second moment to integrals along the rays:

    E[x 1] = - sum_rays n phi(d) Phi(c),    E[x x^T 1] = Z I - sum_rays n (e phi(c) - n (m . n) Phi(c))^T phi(d),

n the outer normal and x the deviation from m.
"""

import numpy as np
from scipy.special import ndtr, owens_t

from attention_limits.sequence_multi_index.channels.cells import moments_in_cells
from attention_limits.sequence_multi_index.links.sectors import TURN, Sectors


def sector_moments(sectors: Sectors, observed, omega, V):
    """Moments of n outputs.

    Parameters
    ----------
    sectors : Sectors
        Of the link.
    observed : array (n, ...)
        Outputs.
    omega : array (n, P, M)
        Prior means of the two fields.
    V : array (P, P)
        Their prior covariance over rows.

    Returns
    -------
    log_z (n,), mean (n, 2), second (n, 2, 2), effective (n,)
        See `moments_in_cells`.
    """
    n, lower = len(observed), np.linalg.cholesky(np.kron(V, np.eye(omega.shape[2])))
    m = np.linalg.solve(lower, omega.reshape(n, 2).T).T
    probability, first, second = _all_sectors(sectors, m, lower)
    outputs = sectors.outputs.reshape(len(sectors.outputs), -1)
    own = np.all(np.reshape(observed, (n, 1, -1)) == outputs, axis=2)
    mine = own @ (sectors.label == np.arange(len(outputs))[:, None]).astype(float)
    return moments_in_cells(
        np.sum(mine * probability, axis=1),
        np.einsum("nk,nki->ni", mine, first),
        np.einsum("nk,nkij->nij", mine, second),
        lower,
    )


def _all_sectors(sectors, m, lower):
    """Z (n, k), E[x 1] (n, k, 2) and E[x x^T 1] (n, k, 2, 2) of every sector, standard normal fields around m (n, 2)."""
    begin, end = (_rays(angles, lower) for angles in (sectors.begin, sectors.end))
    length = np.hypot(m[:, :1], m[:, 1:])
    # Without a mean the angles count from any direction.
    towards = np.where(length > 0, m, [1.0, 0.0])
    z = _between(_angle(begin, towards), _angle(end, towards), length)
    first = np.zeros((*z.shape, 2))
    second = z[..., None, None] * np.eye(2)
    for e, side in ((begin, -1.0), (end, 1.0)):
        normal = side * np.stack([-e[:, 1], e[:, 0]], axis=1)
        c, d = m @ e.T, m @ normal.T
        along, across = np.exp(-0.5 * c**2) / np.sqrt(TURN), np.exp(-0.5 * d**2) / np.sqrt(TURN)
        below = ndtr(c)
        first -= (across * below)[..., None] * normal
        edge = across[..., None] * (along[..., None] * e - (d * below)[..., None] * normal)
        second -= normal[:, :, None] * edge[..., None, :]
    return z, first, 0.5 * (second + np.swapaxes(second, -1, -2))


def _rays(angles, lower):
    """Unit vectors (k, 2) of rays at `angles` of the fields, in the standard normal fields."""
    found = np.linalg.solve(lower, np.stack([np.cos(angles), np.sin(angles)])).T
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _angle(e, m):
    """Angle of rays e (k, 2) from the vectors m (n, 2), in (-pi, pi]: array (n, k)."""
    return np.arctan2(m[:, :1] * e[:, 1] - m[:, 1:] * e[:, 0], m @ e.T)


def _outside(angle, length):
    """Probability between a ray at an `angle` >= 0 from m, |m| = `length`, and the direction -m."""
    d = length * np.sin(angle)
    with np.errstate(divide="ignore"):
        return 0.5 * ndtr(-d) + owens_t(d, np.cos(angle) / np.sin(angle))


def _between(begin, end, length):
    """Probability of the sectors from `begin` to `end`, counterclockwise; array (n, k)."""
    first, last = _outside(np.abs(begin), length), _outside(np.abs(end), length)
    up, down = begin >= 0, end >= 0
    wraps = end < begin
    # Sums and differences of the probabilities beyond the rays, so that those of small sectors stay exact.
    same = np.where(up, first - last, last - first)
    return np.where(up == down, np.where(wraps, 1.0 + same, same), np.where(up, first + last, 1.0 - first - last))
