"""Weights, sequences, scores and attention of the model of Boncoraglio et al. 2025 (arXiv:2506.01582)."""

import functools
import math

import numpy as np


def traceless(matrices):
    """S - (tr S / d) I of `matrices` S (..., d, d)."""
    dimension = matrices.shape[-1]
    return matrices - np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / dimension * np.eye(dimension)


def draw_weights(dimension: int, rank: int, generator) -> tuple[np.ndarray, np.ndarray]:
    """Weights W (d, r), standard normal, and S = W W^T / sqrt(r d), (d, d).

    Parameters
    ----------
    dimension, rank : int
        d and r.
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If a size is below one.
    """
    if min(dimension, rank) < 1:
        raise ValueError(f"need d >= 1 and r >= 1, got {dimension} and {rank}")
    weights = generator.standard_normal((dimension, rank))
    return weights, attention_matrix(weights)


def draw_untied(dimension: int, rank: int, generator) -> np.ndarray:
    """S = Q K^T / sqrt(r d), (d, d), of independent standard normal Q and K (d, r), d = `dimension` and r = `rank`.

    The numbers come from the numpy.random.Generator `generator`. Raises ValueError if a size is below one.
    """
    if min(dimension, rank) < 1:
        raise ValueError(f"need d >= 1 and r >= 1, got {dimension} and {rank}")
    return product_matrix(generator.standard_normal((2, dimension, rank)))


def product_matrix(weights):
    """S = Q K^T / sqrt(r d), (..., d, d), of `weights` (2, ..., d, r): Q and K."""
    queries, keys = weights
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(queries.shape[-2] * queries.shape[-1])


def attention_matrix(weights: np.ndarray) -> np.ndarray:
    """S = W W^T / sqrt(r d), (..., d, d), of weights W (..., d, r)."""
    dimension, rank = weights.shape[-2:]
    return weights @ np.swapaxes(weights, -1, -2) / math.sqrt(rank * dimension)


def draw_sequences(count: int, tokens: int, dimension: int, generator, precision=float) -> np.ndarray:
    """Sequences X (n, M, d), standard normal.

    Parameters
    ----------
    count, tokens, dimension : int
        n, M and d.
    generator : numpy.random.Generator
    precision : dtype
        The numbers are drawn in double precision and rounded to this one.

    Raises
    ------
    ValueError
        If n < 1, M < 1 or d < 1.
    """
    if min(count, tokens, dimension) < 1:
        raise ValueError(f"need n >= 1, M >= 1 and d >= 1, got {count}, {tokens} and {dimension}")
    sequences = np.empty((count, tokens, dimension), dtype=precision)
    # One after the other: the numbers in double precision take no memory.
    for sequence in sequences:
        sequence[:] = generator.standard_normal((tokens, dimension))
    return sequences


def scores(sequences: np.ndarray, matrix: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d), (n, M, M), of `sequences` X (n, M, d) and `matrix` S (d, d).

    With `keys` Z (n, M, d_k), the tokens of other sequences, h_ab = x_a^T S z_b / sqrt(d), d = `effective_side` of S (d_q, d_k).
    """
    count, tokens, dimension = sequences.shape
    products = (sequences.reshape(-1, dimension) @ matrix).reshape(count, tokens, -1)
    if keys is not None:
        return products @ keys.transpose(0, 2, 1) / math.sqrt(effective_side(matrix))
    h = products @ sequences.transpose(0, 2, 1)
    h[:, np.arange(tokens), np.arange(tokens)] -= np.trace(matrix)
    return h / math.sqrt(dimension)


def over_last(operation, array: np.ndarray) -> np.ndarray:
    """Fold of the entries along the last axis of an `array` (..., M) by a binary `operation`; (...).

    numpy reduces each short row by itself; in this function every step is one operation on all rows.
    """
    return functools.reduce(operation, np.moveaxis(array, -1, 0))


def log_attention(h: np.ndarray, beta: float) -> np.ndarray:
    """log softmax(beta h) over the last axis, 0 < `beta` < infinity. It is finite where the softmax itself rounds to zero."""
    scaled = beta * (h - over_last(np.maximum, h)[..., None])
    return scaled - np.log(over_last(np.add, np.exp(scaled)))[..., None]


def attention(h: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """softmax(beta h) over the last axis; at beta = infinity one-hot at the largest entry (the first of equal ones).

    Raises
    ------
    ValueError
        If beta <= 0.
    """
    if not beta > 0:
        raise ValueError(f"need beta > 0, got {beta}")
    if math.isinf(beta):
        return (np.argmax(h, axis=-1)[..., None] == np.arange(h.shape[-1])).astype(float)
    exponentials = np.exp(beta * (h - over_last(np.maximum, h)[..., None]))
    return exponentials / over_last(np.add, exponentials)[..., None]


def effective_side(matrix: np.ndarray) -> float:
    """d of a `matrix` (..., d_q, d_k): sqrt(d_q d_k), the side of a square of as many entries."""
    return math.sqrt(matrix.shape[-2] * matrix.shape[-1])
