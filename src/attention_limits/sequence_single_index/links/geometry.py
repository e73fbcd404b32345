"""Overlaps, and the positional part of the positional-semantic target (arXiv:2506.02651)."""

import numpy as np


def check_overlaps(e, m):
    """Raise ValueError unless e^2 + m^2 <= 1 for a number e and every m: both are components of a unit vector."""
    length = float(e) ** 2 + float(np.max(np.square(m)))
    if not length <= 1.0 + 1e-12:
        raise ValueError(f"the overlaps are components of a unit vector: need e^2 + m^2 <= 1, got {length:g}")


def gram_problem(gram, tokens) -> str | None:
    """Why `gram` is no matrix (M, M), M = `tokens`, of scalar products p_k . p_l of positional vectors, or None."""
    lengths = {len(row) for row in gram}
    if len(gram) != tokens or lengths != {tokens}:
        return f"the Gram matrix of the positional vectors must be {tokens} by {tokens}"
    gram = np.array(gram, dtype=float)
    if not np.all(np.isfinite(gram)) or not np.allclose(gram, gram.T):
        return "the Gram matrix of the positional vectors must be finite and symmetric"
    lowest = float(np.linalg.eigvalsh(gram)[0])
    if lowest < -1e-9 * max(float(np.max(np.diag(gram))), 1.0):
        return f"the Gram matrix of the positional vectors has the negative eigenvalue {lowest:.6g}: no vectors have it"
    return None


def alternating(tokens):
    """The Gram matrix of p_l = +p, -p, +p ..., |p| = 1, M = `tokens`: tuple of tuples."""
    signs = np.where(np.arange(tokens) % 2, -1.0, 1.0)
    return tuple(map(tuple, np.outer(signs, signs)))


def overlap_problem(overlaps, position, tokens) -> str | None:
    """Why positional vectors cannot have these `overlaps` with the teacher, one or M = `tokens` numbers, or None.

    `position` is "none", "alternating" or a Gram matrix (M, M).
    """
    if not len(overlaps):
        return None
    if len(overlaps) not in (1, tokens):
        return f"{len(overlaps)} numbers; allowed: one for all tokens, or {tokens}"
    if position == "none":
        return "needs positional vectors: position is none"
    gram = alternating(tokens) if isinstance(position, str) else position
    if gram_problem(gram, tokens):
        return None
    shifts = np.broadcast_to(overlaps, (tokens,))
    if gram_problem(np.array(gram, dtype=float) - np.outer(shifts, shifts), tokens):
        return "no positional vectors have them: p_k . p_l - t_k t_l must be a matrix of scalar products"
    return None


def fixed_attention(a):
    """abar = sigma(2 a^2), diagonal entry of the positional part A = softmax of [[a^2, -a^2], [-a^2, a^2]] over rows."""
    return 1.0 / (1.0 + np.exp(-2.0 * np.asarray(a, dtype=float) ** 2))


def mean_attention(x, order=0):
    """mu = E sigma(z_1^2 - z_1 z_2) = 1 - sqrt(2)/4 exp(-e^2 / 2) at x = X = e^2, or its derivative of an `order` in X.

    An array of the shape of x.
    """
    term = -0.25 * np.sqrt(2.0) * np.exp(-0.5 * np.asarray(x, dtype=float)) * (-0.5) ** order
    return 1.0 + term if order == 0 else term
