"""Where the channel of softmax layers that read two tokens computes its nodes in single precision.

Single precision keeps six digits of a field. This is enough where the error of the method is larger, no factor of the integrand
is far from one, and the posterior is much wider than these digits. The sums are in double precision. The model is that of
Troiani et al. 2025 (arXiv:2502.00901).
"""

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link

# A skip strength or an inverse temperature below this hides differences of tokens behind the last digits.
SMALLEST = 0.1
# The trapezoid rule: largest resolution, smallest variance.
MAX_RESOLUTION, MIN_VARIANCE = 0.75, 1e-5
# Sampling: largest product of the inverses of the layers, or of the layers.
MAX_RANGE = 1e3


def trapezoid_precision(link: Link, V, resolution: float) -> type:
    """The type of the nodes of `moments_kernels` for a `link` at prior covariance `V` (P, P) and a `resolution`."""
    single = link.skip >= SMALLEST and link.beta >= SMALLEST and resolution <= MAX_RESOLUTION
    return np.float32 if single and np.linalg.eigvalsh(V)[0] >= MIN_VARIANCE else np.float64


def sampling_precision(link: Link) -> type:
    """The type of the nodes of `sampling.two_tokens_kernels` for a `link`.

    A layer multiplies differences of tokens by 1 / (c + delta), 0 < delta < 1, and their sum by 1 / (1 + c).
    """
    if link.skip < SMALLEST or link.beta < SMALLEST:
        return np.float64
    largest = max(link.skip + 1.0, 1.0 / link.skip) ** (link.depth - 1)
    return np.float32 if largest <= MAX_RANGE else np.float64
