"""Replica-symmetric free entropy per dimension.

    Phi(Q) = extr_{Q_hat} { -1/2 tr Q Q_hat + Psi_w(Q_hat) } + alpha Psi(Q),   Psi(Q) = E log Z_out,

with Psi_w of the prior (`priors`). For standard normal weights Psi_w = 1/2 tr Q_hat - 1/2 log det(I + Q_hat), the extremum is at
Q_hat = (I - Q)^-1 - I, and the prior part is 1/2 tr Q + 1/2 log det(I - Q). Since
dPsi/dQ = 1/2 E sum_a g_a g_a^T, the stationary points of Phi are the fixed points of the state evolution
(Troiani et al. 2025, arXiv:2502.00901).
"""

from typing import TYPE_CHECKING

import numpy as np

from attention_limits.sequence_multi_index.priors.gaussian import prior_free_entropy

if TYPE_CHECKING:
    from attention_limits.sequence_multi_index.priors.prior import Prior


def free_entropy(overlap, alpha, log_z, side_information=0.0, prior: "Prior | None" = None, precision=None):
    """Phi(Q) per dimension, up to alpha times a constant in Q (the Jacobian of u -> y).

    Parameters
    ----------
    overlap : array (P, P)
        Q, symmetric, eigenvalues in [0, 1) in units of the second moment of the weights.
    alpha : float
        n / d.
    log_z : float
        Psi(Q), from `averages.channel_averages`.
    side_information : float
        kappa in [0, 1): the weights are also observed with signal-to-noise ratio kappa / (1 - kappa), which adds
        half of it times tr Q.
    prior : priors.Prior, optional
        Standard normal weights by default.
    precision : array (P, P), optional
        Q_hat of the overlap, side information included; Gaussian priors do not use it.
    """
    hint = 0.5 * side_information / (1.0 - side_information) * np.trace(overlap)
    of_weights = prior_free_entropy(overlap) if prior is None else prior.free_entropy(overlap, precision)
    return of_weights + hint + alpha * log_z
