"""Replica-symmetric free entropy per dimension.

    Phi(Q) = extr_{Q_hat} { -1/2 tr Q Q_hat + 1/2 tr Q_hat - 1/2 log det(I + Q_hat) } + alpha Psi(Q),   Psi(Q) = E log Z_out.

The extremum is at Q_hat = (I - Q)^-1 - I, where the prior part is 1/2 tr Q + 1/2 log det(I - Q). Since
dPsi/dQ = 1/2 E sum_a g_a g_a^T, the stationary points of Phi are the fixed points of the state evolution
(Troiani et al. 2025, arXiv:2502.00901).
"""

import numpy as np


def prior_free_entropy(overlap):
    """Prior part of the free entropy, 1/2 (tr Q + log det(I - Q)), for Gaussian weights; overlap Q (P, P), eigenvalues < 1."""
    return 0.5 * (np.trace(overlap) + np.linalg.slogdet(np.eye(len(overlap)) - overlap)[1])


def free_entropy(overlap, alpha, log_z, side_information=0.0):
    """Phi(Q) per dimension, up to alpha times a constant in Q (the Jacobian of u -> y).

    Parameters
    ----------
    overlap : array (P, P)
        Q, symmetric, eigenvalues in [0, 1).
    alpha : float
        n / d.
    log_z : float
        Psi(Q), from `state_evolution.channel_averages`.
    side_information : float
        lambda in [0, 1): the weights are also observed with signal-to-noise ratio lambda / (1 - lambda), which adds
        half of it times tr Q.
    """
    hint = 0.5 * side_information / (1.0 - side_information) * np.trace(overlap)
    return prior_free_entropy(overlap) + hint + alpha * log_z
