"""Attention of extensive width: x_a in R^d, weights W (d x r) with r = rho d, both standard normal (Boncoraglio, Troiani, Erba,
Zdeborova 2025, arXiv:2506.01582).

    S = W W^T / sqrt(r d),    h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d),    y = attention(h)

With these normalisations tr S^2 / d -> 1 + rho, and the symmetric M x M matrix h is Gaussian in the limit, of variance
2 (1 + rho) on the diagonal and 1 + rho off it. The error of an estimate is ||S - S_hat||_F^2 / d, which is 1 for sqrt(rho) I.

Untied attention has S = Q K^T / sqrt(r d), Q and K (d x r) independent and standard normal. The keys read other tokens z_b than
the queries (cross-attention), h_ab = x_a^T S z_b / sqrt(d). Then tr S S^T / d -> 1, and all M^2 entries of h are independent, of
variance one. The error is 1 for S_hat = 0.
"""

import math
from dataclasses import dataclass

# Least numbers of tokens: the softmax of one score, and its place, are constant. Other outputs may read one score.
LEAST_TOKENS = {"softmax": 2, "hardmax": 2, "hardmax_published": 2}
# Largest numbers of tokens. The published curve has two. A hardmax is a sum over the kinds of its outputs: 636 kinds at eight
# tokens (20 s). Each further token makes 2.6 times as many, and twice the work for each.
MOST_TOKENS = {"hardmax": 8, "hardmax_published": 2}
# Channels whose posterior is sampled: 21 scores of a symmetric 6 x 6 matrix.
MOST_SAMPLED = 6
# d_k / d_q, or its inverse, of untied attention with d_k != d_q, and its width ratios: the quadrature of its law is right to 1e-5
# in these ranges (tests/promises).
ASPECTS, RATIOS_WITH_ASPECT = (1.05, 1000.0), (0.01, 10.0)
# Memory of a process beside its data: the interpreter with its libraries.
BASE_MEGABYTES = 300
# Numbers that algorithms hold at once: multiples of n M d (X and products with it), n M^2 (scores and gradients), and d^2.
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
    """Memory of message passing in megabytes: 300, and 8 bytes for each of 0.75 n M d + 8 n M^2 + 10 d^2 + 2 r d numbers.

    `size` holds n, d and r, `tokens` is M. d counts `layers` times, because each layer has separate matrices. Gradient descent
    from a number of `starts` holds 3 n M d instead of 0.75 n M d numbers, and 2 d^2 and 4 r d more for each start: its error, its
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
