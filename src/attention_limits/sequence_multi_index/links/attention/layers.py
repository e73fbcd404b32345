"""Common parts of links made of attention layers: softmax, the product of layers, and the inversion of attention over two tokens.

The layers are those of Troiani et al. 2025 (arXiv:2502.00901), the inversion is derived in this module.
"""

import numpy as np

from attention_limits.numerics.solvers.small_systems import solve

TWO_TOKENS = "the output is inverted for two tokens only (tokens: 2)"


def softmax_rows(scores):
    """Softmax over the last axis of `scores`, array (..., M, M)."""
    # Sums over the first axis of a copy: numpy is ten times slower on a last axis of two or three.
    weights = np.moveaxis(scores, -1, 0).copy()
    weights -= weights.max(axis=0)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=0)
    return np.moveaxis(weights, 0, -1)


def rank_one(beta, u):
    """softmax_rows(beta u u^T), array (..., M, M), of score roots u (..., M)."""
    return softmax_rows(beta * u[..., :, None] * u[..., None, :])


def layer_product(h, attention, keep, gain=1.0):
    """B^T after layers with B_l = B_{l-1} [keep I + gain S_l^T] and S_l = attention(h_l B_{l-1}).

    Parameters
    ----------
    h : array (..., L, r, M)
        Local fields, r rows per layer.
    attention : function (..., r, M) -> (..., M, M)
        Attention matrix S of the fields that a layer reads.
    keep, gain : float

    Returns
    -------
    array (..., M, M)
    """
    identity, transposed = np.eye(h.shape[-1]), None
    for layer in range(h.shape[-3]):
        fields = h[..., layer, :, :]
        # The first layer reads the tokens themselves: products of many small matrices are slow.
        read = fields if transposed is None else np.einsum("...ab,...rb->...ra", transposed, fields)
        written = keep * identity + gain * attention(read)
        transposed = written if transposed is None else written @ transposed
    return np.broadcast_to(identity if transposed is None else transposed, (*h.shape[:-3], *identity.shape))


def require_heads(name, count, readout):
    """Raise ValueError unless `count`, the value of the parameter `name`, is at least one and `readout` fits that many heads."""
    if count < 1:
        raise ValueError(f"{name} must be >= 1, got {count}")
    if readout is not None and (len(readout) != count or not all(w > 0 for w in readout)):
        raise ValueError(f"readout must be {count} numbers > 0, one for each head, got {list(readout)}")


def head_weights(readout, count, default=1.0):
    """Weights w (H,) of `count` heads: `readout`, or `default` each where it is None."""
    return np.full(count, default) if readout is None else np.array(readout, dtype=float)


def score_root(attention, beta):
    """Score roots of rank-one softmax attention over two tokens.

    With S = softmax_rows(beta u u^T), a = log(S_11 / S_12) / beta = u_1 (u_1 - u_2) and b = log(S_22 / S_21) / beta =
    u_2 (u_2 - u_1), so that a + b = (u_1 - u_2)^2. The map from u to (S_12, S_21) has the Jacobian
    beta^2 S_11 S_12 S_21 S_22 2 (u_1 - u_2)^2.

    Parameters
    ----------
    attention : array (..., 2, 2)
        S, or a matrix that may not be one.
    beta : float

    Returns
    -------
    u : array (..., 2)
        Up to one global sign; 1 where there is none.
    valid : bool array (...)
        Whether S is such an attention matrix: positive, with a + b > 0. The rows are assumed to sum to one.
    log_jacobian : array (...)
        0 where not valid.
    """
    positive = np.all(attention > 0, axis=(-2, -1))
    safe = np.log(np.where(positive[..., None, None], attention, 0.5))
    a = (safe[..., 0, 0] - safe[..., 0, 1]) / beta
    b = (safe[..., 1, 1] - safe[..., 1, 0]) / beta
    valid = positive & (a + b > 0)
    square = np.where(valid, a + b, 1.0)
    difference = np.sqrt(square)
    u = np.where(valid[..., None], np.stack([a, -b], axis=-1) / difference[..., None], 1.0)
    log_jacobian = 2.0 * np.log(beta) + safe.sum(axis=(-2, -1)) + np.log(2.0 * square)
    return u, valid, np.where(valid, log_jacobian, 0.0)


def log_jacobian(read, attention, beta):
    """log |dS/du| of `score_root`, array (...), at u = `read` (..., 2) with S = `attention` (..., 2, 2) at the same beta.

    -inf where it is singular.
    """
    with np.errstate(divide="ignore"):
        entries = np.log(attention).sum(axis=(-2, -1))
        return 2.0 * np.log(beta) + entries + np.log(2.0) + 2.0 * np.log(np.abs(read[..., 0] - read[..., 1]))


def log_volume(u, attention, beta):
    """log of the M-volume of du under u -> (S_ab, a != b), S = softmax_rows(beta u u^T): the volume that the columns of J span.

    dS_ab / du_c = beta S_ab [delta_ac (u_b - sum_k S_ak u_k) + u_a (delta_bc - S_ac)]. For two tokens it is `log_jacobian`.

    Parameters
    ----------
    u : array (..., M)
    attention : array (..., M, M)
        S(u).
    beta : float

    Returns
    -------
    array (...)
    """
    if u.shape[-1] == 2:
        return log_jacobian(u, attention, beta)
    identity = np.eye(u.shape[-1])
    centred = u[..., None, :] - apply(attention, u)[..., :, None]
    slope = identity[:, None] * centred[..., None] + u[..., :, None, None] * (identity - attention[..., :, None, :])
    # The diagonal follows from the other entries, because the rows sum to one.
    jacobian = beta * (attention * (1.0 - identity))[..., None] * slope
    jacobian = jacobian.reshape(*u.shape[:-1], -1, u.shape[-1])
    # Rows of very different size, the largest first: their triangular factor keeps the digits that J^T J loses.
    order = np.argsort(-np.sum(jacobian**2, axis=-1), axis=-1)
    triangle = np.linalg.qr(np.take_along_axis(jacobian, order[..., None], axis=-2), mode="r")
    return np.log(np.abs(np.diagonal(triangle, axis1=-2, axis2=-1))).sum(axis=-1)


def last_row(transposed, observed):
    """The two candidates +-B^-T u of a last layer of rank one that read B, and their log-weights -log |det B|; see `Link.fibre`.

    Parameters
    ----------
    transposed : array (n, S, M, M)
        B^T. Where it is singular the candidates have weight zero.
    observed : array (n, M)
        Score roots u.

    Returns
    -------
    candidates (n, S, 2, 1, M), log_weight (n, S, 2)
    """
    last, log_determinant = solve(transposed, observed[:, None, :, None])
    candidates = last[:, :, None, None, :, 0] * np.array([1.0, -1.0])[:, None, None]
    log_weight = np.where(np.isneginf(log_determinant), -np.inf, -log_determinant)
    return candidates, np.repeat(log_weight[:, :, None], 2, axis=2)


def apply(matrix, vector):
    """`matrix` (..., M, M) times `vector` (..., M), array (..., M)."""
    return np.einsum("...ab,...b->...a", matrix, vector)


def inverse_of_two(matrix):
    """Inverse of `matrix` (..., 2, 2) and log |det| (...): -inf where singular, and the inverse then any finite numbers."""
    (a, b), (c, d) = np.moveaxis(matrix, (-2, -1), (0, 1))
    determinant = a * d - b * c
    with np.errstate(divide="ignore"):
        log_determinant = np.log(np.abs(determinant))
    adjugate = np.stack([np.stack([d, -b], axis=-1), np.stack([-c, a], axis=-1)], axis=-2)
    return adjugate / np.where(determinant == 0, 1.0, determinant)[..., None, None], log_determinant


def log_normal(h):
    """Log-density of independent standard normal variables h (..., M), summed over the last axis: array (...)."""
    return -0.5 * np.sum(h**2, axis=-1) - 0.5 * h.shape[-1] * np.log(2.0 * np.pi)


def signed_pairs(sampled, solved, log_weight, both):
    """Candidates (..., K, 2, M) of a sampled and a solved row (..., M), and their log-weights (..., K).

    `log_weight` (...) is that of the pair. The solved row has both signs. The sampled one too if `both`, with half the weight
    each: nodes are closed under a change of all their signs, which is not enough when further rows are sampled together with it.
    """
    signs = [(s, t) for s in ((1, -1) if both else (1,)) for t in (1, -1)]
    candidates = np.stack([np.stack([s * sampled, t * solved], axis=-2) for s, t in signs], axis=-3)
    return candidates, np.repeat((log_weight - np.log(2.0) * both)[..., None], len(signs), axis=-1)
