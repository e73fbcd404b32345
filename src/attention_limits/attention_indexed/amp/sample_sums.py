"""Sums over the samples of a data set, for message passing: scores of all sequences, and their gradient with respect to S.

Both are a product of the n M x d matrix of all tokens with d columns, in pieces that stay in the cache, and products of the
tokens of each sequence. Where a constant in the scores of a sequence changes nothing, n (M - 1) rows suffice. The sums have the
precision of the tokens. In single precision the scores have errors of about 1e-6; message passing stops at predicted errors of
1e-6, where the scores still scatter by 1e-3.
"""

import math

import numpy as np

from attention_limits.attention_indexed.amp.sample_sums_kernels import (
    differences,
    mix_differences,
    mix_tokens,
    shifted_products,
    symmetric_products,
    token_products,
)
from attention_limits.attention_indexed.model.scores import effective_side

# Tokens in one piece.
_ROWS = 2048


def all_scores(sequences: np.ndarray, matrix: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """`model.scores.scores` (n, M, M) of all sequences X (n, M, d), `matrix` (d, d) and `keys`, without an array of the size
    of X.

    Without keys the matrix is symmetric.
    """
    _, tokens, dimension = sequences.shape
    h = np.empty((len(sequences), tokens, tokens))
    narrow = matrix.astype(sequences.dtype)
    for part, space in _pieces(sequences, (tokens, matrix.shape[1])):
        x = sequences[part]
        np.matmul(x.reshape(-1, dimension), narrow, out=space.reshape(-1, matrix.shape[1]))
        if keys is None:
            symmetric_products(x, space, h[part])
        else:
            token_products(keys[part], space, h[part])
    return _scaled(h, matrix, keys is None)


def shifted_scores(sequences: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """`all_scores` without keys, minus a constant of each sequence: x_M^T S x_M / sqrt(d), M the last token."""
    _, tokens, dimension = sequences.shape
    h = np.empty((len(sequences), tokens, tokens))
    narrow = matrix.astype(sequences.dtype)
    for part, steps, space in _pieces(sequences, (tokens - 1, dimension), (tokens - 1, dimension)):
        differences(sequences[part], steps)
        np.matmul(steps.reshape(-1, dimension), narrow, out=space.reshape(-1, dimension))
        shifted_products(sequences[part], space, h[part])
    return _scaled(h, matrix, True)


def _scaled(h, matrix, symmetric):
    """(h_ab - delta_ab tr S) / sqrt(d) in place, the trace only if `symmetric`."""
    if symmetric:
        h.reshape(len(h), -1)[:, :: h.shape[1] + 1] -= np.trace(matrix)
    h /= math.sqrt(effective_side(matrix))
    return h


def backward(sequences: np.ndarray, G: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d), (d, d), of `sequences` X (n, M, d) and symmetric G (n, M, M).

    With `keys` Z (n, M, d_k) and any G it is sum_mu sum_ab G_ab x_a z_b^T / sqrt(d), (d_q, d_k), d its `effective_side`.
    """
    _, tokens, dimension = sequences.shape
    width = dimension if keys is None else keys.shape[2]
    total, narrow = np.zeros((dimension, width)), G.astype(sequences.dtype)
    for part, space in _pieces(sequences, (tokens, width)):
        x = sequences[part]
        mix_tokens(narrow[part], x if keys is None else keys[part], space)
        total += x.reshape(-1, dimension).T @ space.reshape(-1, width)
    if keys is not None:
        return total / math.sqrt(effective_side(total))
    return _symmetric(total, G)


def shifted_backward(sequences: np.ndarray, G: np.ndarray) -> np.ndarray:
    """`backward` of `sequences` and symmetric G without keys, where the sum of all G_ab of a sequence is zero: a constant in its
    scores changes nothing.

    Then sum_ab G_ab x_a x_b^T is the symmetric part of sum_{b<M} [sum_{a<M} G_ab x_a + (g_b + G_Mb) x_M] (x_b - x_M)^T, g_b the
    sum over all a of G_ab.
    """
    _, tokens, dimension = sequences.shape
    total, narrow = np.zeros((dimension, dimension)), G.astype(sequences.dtype)
    for part, steps, space in _pieces(sequences, (tokens - 1, dimension), (tokens - 1, dimension)):
        differences(sequences[part], steps)
        mix_differences(narrow[part], sequences[part], space)
        total += steps.reshape(-1, dimension).T @ space.reshape(-1, dimension)
    return _symmetric(total, G)


def _symmetric(total, G):
    """The symmetric part of (total - sum_mu tr G_mu I) / sqrt(d)."""
    dimension = len(total)
    total[np.diag_indices(dimension)] -= np.einsum("naa->", G)
    return (total + total.T) / (2.0 * math.sqrt(dimension))


def _pieces(sequences, *shapes):
    """Slices of sequences, and for each of the `shapes` (tokens, dimension) space for as many, the same each time."""
    count, tokens, _ = sequences.shape
    size = max(1, _ROWS // tokens)
    spaces = [np.empty((min(size, count), *shape), dtype=sequences.dtype) for shape in shapes]
    for first in range(0, count, size):
        last = min(first + size, count)
        yield slice(first, last), *(space[: last - first] for space in spaces)
