"""Contrasts of symmetric scores: the D = M (M + 1) / 2 - 1 coordinates of M x M matrices that a constant does not change.

With an orthonormal basis E_k (Frobenius product) of the symmetric matrices whose entries sum to zero, the contrasts of scores h
are r_k = tr(E_k h) / sqrt(2). Raw scores of variance 2 V on the diagonal and V off it have independent contrasts of variance V.
Derived for this project.
"""

import functools

import numpy as np


@functools.cache
def basis(tokens: int) -> np.ndarray:
    """E_k (D, M, M) for M = `tokens`: a Householder reflection that takes the last unit vector to the constant matrix."""
    first, second = np.triu_indices(tokens)
    units = np.zeros((len(first), tokens, tokens))
    place, off = np.arange(len(first)), first != second
    units[place, first, second] = units[place, second, first] = np.where(off, np.sqrt(0.5), 1.0)
    constant = np.where(off, np.sqrt(2.0), 1.0) / tokens
    mirror = constant - np.eye(len(first))[-1]
    reflection = np.eye(len(first)) - 2.0 * np.outer(mirror, mirror) / (mirror @ mirror)
    return np.einsum("kp,pab->kab", reflection[:-1], units)


def contrasts(h: np.ndarray) -> np.ndarray:
    """r (..., D) of symmetric scores h (..., M, M)."""
    return np.einsum("kab,...ab->...k", basis(h.shape[-1]), h) / np.sqrt(2.0)


def matrices(r: np.ndarray, tokens: int) -> np.ndarray:
    """Symmetric scores (..., M, M) of contrasts r (..., D), M = `tokens`, whose entries sum to zero."""
    return np.sqrt(2.0) * np.einsum("...k,kab->...ab", r, basis(tokens))


def slopes(z: np.ndarray, V, tokens: int) -> np.ndarray:
    """G_l = E[h^l - omega^l | y] / (2 V_l), (n, L, M, M), of posterior means z (n, L, D) in units of sqrt(V_l), V (L,).

    M = `tokens`; ||G_l||_F^2 = |z_l|^2 / (2 V_l).
    """
    return matrices(z, tokens) / (2.0 * np.sqrt(np.asarray(V))[:, None, None])
