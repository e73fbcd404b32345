"""Output channel of two-layer, two-token attention: exact posterior moments and the denoiser of GAMP.

    Z_out(y, omega, V) = int dh prod_a N(h_a; omega_a, V) delta(y - g(h))
    g_out = V^-1 E[h - omega | y],   d g_aa = V^-1 Cov(h_a | y) V^-1 - V^-1

(the channel of generalised AMP, Rangan 2011, for sequence models: Troiani et al. 2025, arXiv:2502.00901). Moments are exact
up to the quadrature: nothing is differentiated numerically.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.channel_kernels import two_layer_moments
from attention_limits.sequence_multi_index.deep_attention import DeepAttention


@dataclass(frozen=True)
class Posterior:
    """Moments of the local fields h given one output each, for n outputs, P layers and M tokens.

    Attributes
    ----------
    log_z : array (n,)
        log of the density of u (both signs added), y = softmax_rows(beta u u^T). It differs from log Z_out by the log-Jacobian
        of u -> y, which depends neither on omega nor on V.
    mean : array (n, P, M)
        E[h - omega | y].
    covariance : array (n, P, M, P, M)
        Covariance of h_pa and h_qb given y.
    resolved : bool array (n,)
        Whether the quadrature met its own check (see `posterior`).
    """

    log_z: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    resolved: np.ndarray


def require_two_layers(model: DeepAttention):
    """Raise ValueError unless the exact channel covers the model: two rank-one layers, two tokens."""
    if (model.layers, model.tokens) != (2, 2):
        raise ValueError(
            f"the exact channel covers 2 layers and 2 tokens, not {model.layers} layers and {model.tokens} tokens"
        )


def posterior(model: DeepAttention, u, omega, V, resolution=1.0) -> Posterior:
    """Posterior moments of the local fields, by an adaptive two-dimensional trapezoid rule per sample.

    Parameters
    ----------
    model : DeepAttention
        Two layers, two tokens; any skip c >= 0 and beta > 0.
    u : array (n, 2)
        Score roots of the outputs (`DeepAttention.preactivation` or `.invert`); the global sign of each row does not matter.
    omega : array (n, 2, 2)
        Prior means (sample, layer, token) of h.
    V : array (2, 2)
        Prior covariance over layers, positive definite, the same for every token and sample.
    resolution : float
        Quadrature nodes per narrowest width, in units of the default. Largest error met over 400 prior-typical outputs, of log Z
        and of the moments in units of the prior standard deviations: for c >= 0.5 below 4e-6 at 1, 3e-4 at 0.75; for c = 0,
        4e-4 and 1e-3 as long as 1 - Q >= 1e-2 (rare outputs with u_1 ~ u_2 dominate; medians are below 1e-5 and 5e-5).

    Returns
    -------
    Posterior
        `resolved` is False where the two halves of the node checkerboard still disagree by more than 1e-4 at the finest step.

    Raises
    ------
    ValueError
        For another number of layers or tokens, wrong shapes, non-finite input, or V not positive definite.
    """
    require_two_layers(model)
    u, omega, V = (np.ascontiguousarray(x, dtype=float) for x in (u, omega, V))
    n = len(u)
    if u.shape != (n, 2) or omega.shape != (n, 2, 2) or V.shape != (2, 2):
        raise ValueError(f"need u (n, 2), omega (n, 2, 2), V (2, 2); got {u.shape}, {omega.shape}, {V.shape}")
    if not all(np.all(np.isfinite(x)) for x in (u, omega, V)):
        raise ValueError("u, omega and V must be finite")
    if V[0, 1] != V[1, 0] or V[0, 0] <= 0 or V[0, 0] * V[1, 1] - V[0, 1] ** 2 <= 0:
        raise ValueError(f"V must be symmetric positive definite, got {V.tolist()}")
    result = Posterior(np.empty(n), np.empty((n, 2, 2)), np.empty((n, 2, 2, 2, 2)), np.empty(n, dtype=bool))
    two_layer_moments(
        u, omega, V, float(model.skip), float(model.beta), float(resolution),
        result.log_z, result.mean, result.covariance, result.resolved,
    )  # fmt: skip
    return result


def denoiser(moments: Posterior, V):
    """(g, dg) of GAMP from posterior moments.

    Returns
    -------
    g : array (n, P, M)
        g_out = V^-1 E[h - omega | y], the gradient of log Z_out with respect to omega.
    dg : array (n, P, P)
        Sum over tokens a of d g_a / d omega_a = V^-1 Cov(h_a | y) V^-1 - V^-1.
    """
    inverse = np.linalg.inv(V)
    tokens = moments.mean.shape[2]
    same_token = np.einsum("npaqa->npq", moments.covariance)
    return (
        np.einsum("pq,nqa->npa", inverse, moments.mean),
        inverse @ same_token @ inverse - tokens * inverse,
    )
