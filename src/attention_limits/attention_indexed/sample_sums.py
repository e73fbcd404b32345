"""Sums over the samples of a data set, for message passing: scores of all sequences, and their gradient with respect to S.

Both are a product of the n T x d matrix of all tokens with d columns, in pieces that stay in the cache, and products of the
tokens of each sequence. They have the precision of the tokens. In single precision the scores have errors of about 1e-6; message
passing stops at predicted errors of 1e-6, where the scores still scatter by 1e-3.
"""

import math

import numpy as np

from attention_limits.attention_indexed.model import effective_side
from attention_limits.attention_indexed.sample_sums_kernels import mix_tokens, symmetric_products, token_products

# Tokens in one piece.
_ROWS = 2048


def all_scores(sequences: np.ndarray, matrix: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """`model.scores` (n, T, T) of all sequences X (n, T, d), `matrix` (d, d) and `keys`, without an array of the size of X.

    Without keys the matrix is symmetric.
    """
    _, tokens, dimension = sequences.shape
    h = np.empty((len(sequences), tokens, tokens))
    narrow = matrix.astype(sequences.dtype)
    for part, space in _pieces(sequences, matrix.shape[1]):
        x = sequences[part]
        np.matmul(x.reshape(-1, dimension), narrow, out=space.reshape(-1, matrix.shape[1]))
        if keys is None:
            symmetric_products(x, space, h[part])
        else:
            token_products(keys[part], space, h[part])
    if keys is None:
        h.reshape(-1, tokens**2)[:, :: tokens + 1] -= np.trace(matrix)
    h /= math.sqrt(effective_side(matrix))
    return h


def backward(sequences: np.ndarray, G: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """sum_mu sum_ab G_ab (x_a x_b^T - delta_ab I) / sqrt(d), (d, d), of `sequences` X (n, T, d) and symmetric G (n, T, T).

    With `keys` Z (n, T, d_k) and any G it is sum_mu sum_ab G_ab x_a z_b^T / sqrt(d), (d_q, d_k), d its `effective_side`.
    """
    dimension, width = sequences.shape[2], (sequences if keys is None else keys).shape[2]
    total, narrow = np.zeros((dimension, width)), G.astype(sequences.dtype)
    for part, space in _pieces(sequences, width):
        x = sequences[part]
        mix_tokens(narrow[part], x if keys is None else keys[part], space)
        total += x.reshape(-1, dimension).T @ space.reshape(-1, width)
    if keys is not None:
        return total / math.sqrt(effective_side(total))
    total[np.diag_indices(dimension)] -= np.einsum("naa->", G)
    return (total + total.T) / (2.0 * math.sqrt(dimension))


def _pieces(sequences, width):
    """Slices of sequences, and space for as many with tokens of dimension `width`; the space is the same each time."""
    count, tokens, _ = sequences.shape
    size = max(1, _ROWS // tokens)
    space = np.empty((min(size, count), tokens, width), dtype=sequences.dtype)
    for first in range(0, count, size):
        last = min(first + size, count)
        yield slice(first, last), space[: last - first]
