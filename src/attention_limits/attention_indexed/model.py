"""Attention of extensive width: x_a in R^d, weights W (d x r) with r = rho d, both standard normal (Boncoraglio, Troiani, Erba,
Zdeborova 2025, arXiv:2506.01582).

    S = W W^T / sqrt(r d),    h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d),    y = attention(h)

With these normalisations tr S^2 / d -> 1 + rho, and the symmetric T x T matrix h is Gaussian in the limit, of variance
2 (1 + rho) on the diagonal and 1 + rho off it. The error of an estimate is ||S - S_hat||_F^2 / d, which is 1 for sqrt(rho) I.

Untied attention has S = Q K^T / sqrt(r d), Q and K (d x r) independent and standard normal. The keys read other tokens z_b than
the queries (cross-attention), h_ab = x_a^T S z_b / sqrt(d). Then tr S S^T / d -> 1, and all T^2 entries of h are independent, of
variance one. The error is 1 for S_hat = 0.
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

# Largest numbers of tokens. The published curve has two. A hardmax is a sum over the kinds of its outputs: 636 kinds at eight
# tokens (20 s). Each further token makes 2.6 times as many, and twice the work for each.
MOST_TOKENS = {"hardmax": 8, "hardmax_published": 2}
# Channels whose posterior is sampled: 21 scores of a symmetric 6 x 6 matrix.
MOST_SAMPLED = 6
# d_k / d_q, or its inverse, of untied attention with d_k != d_q, and its width ratios: the quadrature of its law is right to 1e-5
# in these ranges (tests/promises).
ASPECTS, RATIOS_WITH_ASPECT = (1.05, 16.0), (0.01, 10.0)
# Memory of a process beside its data: the interpreter with its libraries.
BASE_MEGABYTES = 300
# Numbers that algorithms hold at once: multiples of n T d (X and products with it), n T^2 (scores and gradients), and d^2.
# Message passing has X alone, in single precision, and pieces of products.
COPIES, AMP_COPIES, SCORES, MATRICES = 3, 0.75, 8, 10


@dataclass(frozen=True)
class Sizes:
    """Whole numbers of a simulation: n = `count`, d = `dimension`, r = `rank`."""

    count: int
    dimension: int
    rank: int

    def realised(self, side: float | None = None) -> dict[str, float]:
        """The width r and the ratios n / d^2 and r / d, by name of the variable; d = `side`, by default the dimension."""
        side = self.dimension if side is None else side
        return {"width": self.rank, "realised_alpha": self.count / side**2, "realised_ratio": self.rank / side}


def sizes(alpha: float, ratio: float, dimension: int) -> Sizes:
    """n nearest to alpha d^2 and r nearest to rho d, both at least one; d = `dimension`, rho = `ratio`."""
    return Sizes(samples(alpha, dimension), dimension, width(ratio, dimension))


def width(ratio: float, dimension: int) -> int:
    """The width r nearest to rho d, at least one; rho = `ratio`, d = `dimension`.

    Raises ValueError unless 0 < rho < infinity and d >= 1.
    """
    if not (0 < ratio < math.inf and dimension >= 1):
        raise ValueError(f"need 0 < rho < infinity and d >= 1, got {ratio} and {dimension}")
    return max(1, round(ratio * dimension))


def samples(alpha: float, dimension: int) -> int:
    """n = alpha d^2, d = `dimension`, rounded, at least one."""
    return max(1, round(alpha * dimension**2))


def aspect_problem(aspect: float, untied: bool, ratio: float) -> str | None:
    """Why a model, `untied` or not, cannot have d_k / d_q = `aspect`, with the range that is allowed; None where it can.

    `ratio` is rho.
    """
    low, high = RATIOS_WITH_ASPECT
    if aspect != 1 and not untied:
        return f"{aspect:g}: queries and keys share their weights; allowed: 1, or untied: true"
    if aspect != 1 and not low <= ratio <= high:
        return f"{aspect:g}: allowed at ratio {low:g} to {high:g}, not {ratio:g}"
    return None


def sides(dimension: int, aspect: float) -> tuple[int, int]:
    """d_q and d_k of untied attention: whole numbers, at least one, nearest to d / sqrt(a) and d sqrt(a); d = `dimension`,
    a = `aspect` = d_k / d_q."""
    return max(1, round(dimension / math.sqrt(aspect))), max(1, round(dimension * math.sqrt(aspect)))


def megabytes(size: Sizes, tokens: int, layers: int = 1, starts: int = 0, sequences: float = 1) -> int:
    """Memory of message passing in megabytes: 300, and 8 bytes for each of .75 n T d + 8 n T^2 + 10 d^2 + 2 r d numbers.

    `size` holds n, d and r, `tokens` is T. d counts `layers` times, because each layer has separate matrices. Gradient descent
    from a number of `starts` holds 3 n T d instead of .75 n T d numbers, and 2 d^2 and 4 r d more for each start: its error, its
    weights and the averages of Adam. `sequences` is (d_q + d_k) / d where the keys read a second sequence, 2 for d_q = d_k.
    """
    d = layers * size.dimension
    numbers = (
        (COPIES if starts else AMP_COPIES) * sequences * size.count * tokens * d
        + SCORES * size.count * tokens**2
        + MATRICES * d**2
    )
    numbers += 2 * size.rank * d + starts * (2 * d**2 + 4 * size.rank * d)
    return BASE_MEGABYTES + math.ceil(8e-6 * numbers)


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
    queries, keys = generator.standard_normal((2, dimension, rank))
    return queries @ keys.T / math.sqrt(rank * dimension)


def attention_matrix(weights: np.ndarray) -> np.ndarray:
    """S = W W^T / sqrt(r d), (..., d, d), of weights W (..., d, r)."""
    dimension, rank = weights.shape[-2:]
    return weights @ np.swapaxes(weights, -1, -2) / math.sqrt(rank * dimension)


def draw_sequences(count: int, tokens: int, dimension: int, generator, precision=float) -> np.ndarray:
    """Sequences X (n, T, d), standard normal.

    Parameters
    ----------
    count, tokens, dimension : int
        n, T and d.
    generator : numpy.random.Generator
    precision : dtype
        The numbers are drawn in double precision and rounded to this one.

    Raises
    ------
    ValueError
        If n < 1, T < 2 or d < 1.
    """
    if count < 1 or tokens < 2 or dimension < 1:
        raise ValueError(f"need n >= 1, T >= 2 and d >= 1, got {count}, {tokens} and {dimension}")
    sequences = np.empty((count, tokens, dimension), dtype=precision)
    # One after the other: the numbers in double precision take no memory.
    for sequence in sequences:
        sequence[:] = generator.standard_normal((tokens, dimension))
    return sequences


def effective_side(matrix: np.ndarray) -> float:
    """d of a `matrix` (d_q, d_k): sqrt(d_q d_k), the side of a square of as many entries."""
    return math.sqrt(matrix.shape[0] * matrix.shape[1])


def scores(sequences: np.ndarray, matrix: np.ndarray, keys: np.ndarray | None = None) -> np.ndarray:
    """h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d), (n, T, T), of `sequences` X (n, T, d) and `matrix` S (d, d).

    With `keys` Z (n, T, d_k), the tokens of other sequences, h_ab = x_a^T S z_b / sqrt(d), d = `effective_side` of S (d_q, d_k).
    """
    count, tokens, dimension = sequences.shape
    products = (sequences.reshape(-1, dimension) @ matrix).reshape(count, tokens, -1)
    if keys is not None:
        return products @ keys.transpose(0, 2, 1) / math.sqrt(effective_side(matrix))
    h = products @ sequences.transpose(0, 2, 1)
    h[:, np.arange(tokens), np.arange(tokens)] -= np.trace(matrix)
    return h / math.sqrt(dimension)


def over_last(operation, array: np.ndarray) -> np.ndarray:
    """Fold of the entries along the last axis of an `array` (..., T) by a binary `operation`; (...).

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
