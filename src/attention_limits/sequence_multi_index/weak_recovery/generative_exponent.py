"""The generative exponent of a link of one field with few outputs (Damian, Pillaud-Vivien, Lee and Bruna 2024, arXiv:2403.05529).

    k* = min {k >= 1: E_y zeta_k(y)^2 > 0},    zeta_k(y) = E[h_k(h) | y],    h ~ N(0, 1)

with the normalised Hermite polynomials h_k. At k* = 1 the first samples have information, at k* = 2 there is a threshold of weak
recovery at alpha of order one, and above no alpha of order one gives an overlap.
"""

import numpy as np
from scipy.special import ndtri

from attention_limits.numerics.probability.hermite import hermite_values
from attention_limits.sequence_multi_index.links.link import Link

# Fields, the midpoints of equally probable cells: a boundary of an output changes a probability by less than one over this.
FIELDS = 1_000_001
# Values of E zeta_k^2 below this are zero up to the error of the cells; and the highest order that is tried.
ZERO, HIGHEST = 1e-7, 12
MOST_OUTPUTS = 64


def generative_exponent(link: Link) -> tuple[int, float] | None:
    """k* and E zeta_k*^2 of a noiseless link with P M = 1 and at most MOST_OUTPUTS outputs; None for other links.

    k* = 0 where no order up to HIGHEST has information.
    """
    if link.rows * link.tokens != 1 or link.noise_dimension:
        return None
    fields = ndtri((np.arange(FIELDS) + 0.5) / FIELDS)
    outputs = np.asarray(link.forward(fields[:, None, None])).reshape(FIELDS, -1)
    distinct, which = np.unique(outputs, axis=0, return_inverse=True)
    if len(distinct) > MOST_OUTPUTS:
        return None
    share = np.bincount(which.ravel()) / FIELDS
    for order, values in enumerate(hermite_values(fields, HIGHEST)[1:], 1):
        zeta = np.bincount(which.ravel(), weights=values) / FIELDS / share
        size = float(share @ zeta**2)
        if size > ZERO:
            return order, size
    return 0, 0.0
