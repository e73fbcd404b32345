"""Gaussian sequences and a teacher: the data of all sequence multi-index models, before the link.

The normalisation is that of Troiani et al. 2025 (arXiv:2502.00901).
"""

import numpy as np

from attention_limits.sequence_multi_index.priors.prior import Prior


def draw(
    rows: int, tokens: int, dimension: int, samples: int, generator, prior: Prior | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sequences (N, M, D), single precision, standard normal, and teacher weights (P, D).

    Parameters
    ----------
    rows, tokens, dimension, samples : int
        P, M, D and N, each at least one.
    generator : numpy.random.Generator
    prior : Prior, optional
        Law of the teacher, standard normal by default.

    Raises
    ------
    ValueError
        If a size is below one.
    """
    if min(rows, tokens, dimension, samples) < 1:
        raise ValueError(f"all sizes must be at least one, got {(rows, tokens, dimension, samples)}")
    teacher = generator.standard_normal((rows, dimension)) if prior is None else prior.draw(dimension, generator)
    return generator.standard_normal((samples, tokens, dimension), dtype=np.float32), teacher


def sample_count(alpha: float, dimension: int) -> int:
    """Number n of sequences of a data set: alpha times the dimension D, rounded, at least one; `realised_alpha` is n / D."""
    return max(1, round(alpha * dimension))


def local_fields(sequences: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """h = W x / sqrt(D), double precision (N, P, M), of sequences (N, M, D) and weights (P, D)."""
    samples, tokens, dimension = sequences.shape
    products = sequences.reshape(-1, dimension).astype(float) @ weights.T / np.sqrt(dimension)
    return products.reshape(samples, tokens, -1).transpose(0, 2, 1)
