"""Posterior moments of the fields in two estimates, and the denoiser of GAMP, g_out and its derivative (Rangan 2011)."""

from dataclasses import dataclass, replace

import numpy as np

# An output whose effective sample size is below this is not resolved.
SMALLEST_SAMPLE = 20.0


@dataclass(frozen=True)
class Posterior:
    """Moments of the local fields h given one output each, for n outputs, P rows and M tokens, in two estimates.

    The two estimates are independent for importance sampling and the same array for the exact methods.

    Attributes
    ----------
    log_z : array (n,)
        log Z_out, in the density of `link.observe` (for deep attention that of u, with both signs added: it differs from that of
        y by the log-Jacobian of u -> y, which depends neither on omega nor on V).
    means : array (2, n, P, M)
        E[h - omega | y].
    covariances : array (2, n, P, M, P, M)
        Covariance of h_pa and h_qb given y.
    effective : array (n,)
        Effective sample size, infinite for the exact methods.
    resolved : bool array (n,)
        Whether the quadrature met its own check, or the effective sample size reached SMALLEST_SAMPLE.
    """

    log_z: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    effective: np.ndarray
    resolved: np.ndarray

    @property
    def mean(self):
        """E[h - omega | y], array (n, P, M)."""
        return self.means.mean(axis=0)

    @property
    def covariance(self):
        """Covariance of h given y, array (n, P, M, P, M)."""
        return self.covariances.mean(axis=0)


def without_invariant_part(found: Posterior, invariant, V) -> Posterior:
    """`found` without the sampling error in the directions `invariant` (P, k) of the rows that the output does not see.

    There V^-1 E[h - omega | y] and V^-1 Cov(h | y) V^-1 - V^-1 vanish, V (P, P) the prior covariance.
    """
    tokens = found.means.shape[3]
    kept = V @ (np.eye(len(V)) - invariant @ invariant.T) @ np.linalg.inv(V)
    prior = np.einsum("pq,ab->paqb", V, np.eye(tokens))
    change = np.einsum("pi,kniaqb->knpaqb", kept, found.covariances - prior)
    return replace(
        found,
        means=np.einsum("pi,knia->knpa", kept, found.means),
        covariances=prior + np.einsum("qj,knpajb->knpaqb", kept, change),
    )


def as_two(estimates):
    """One or two `estimates` of a quantity, array (1 or 2, ...), as two, (2, ...)."""
    return np.broadcast_to(estimates, (2, *estimates.shape[1:]))


def denoiser(moments: Posterior, V):
    """(g, dg) of GAMP from posterior moments.

    Parameters
    ----------
    moments : Posterior
    V : array (P, P)
        The prior covariance at which they were taken.

    Returns
    -------
    g : array (2, n, P, M)
        g_out = V^-1 E[h - omega | y], the gradient of log Z_out with respect to omega, in two estimates.
    dg : array (n, P, P)
        Sum over tokens a of d g_a / d omega_a = V^-1 Cov(h_a | y) V^-1 - V^-1.
    """
    inverse = np.linalg.inv(V)
    tokens = moments.means.shape[3]
    same_token = np.einsum("npaqa->npq", moments.covariance)
    return (
        np.einsum("pq,knqa->knpa", inverse, moments.means),
        inverse @ same_token @ inverse - tokens * inverse,
    )
