"""The generative exponent of a link with few outputs (Damian, Pillaud-Vivien, Lee and Bruna 2024, arXiv:2403.05529).

    k* = min {k >= 1: I_k > 0},    I_k = sum_{|a| = k} E_y zeta_a(y)^2,    zeta_a(y) = E[h_a(h) | y],    h ~ N(0, I)

with the normalised Hermite polynomials h_a, the products of those of the single fields. At k* = 1 the first samples have
information, at k* = 2 there is a threshold of weak recovery at alpha of order one, and above no alpha of order one gives an
overlap. For several fields k* is the first leap of Damian, Lee and Bruna 2025 (arXiv:2506.05500).
"""

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.probability.hermite import hermite_values, multi_indices
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.prior import Prior

# One field: the midpoints of equally probable cells. A boundary of an output changes a probability by less than one over this.
FIELDS = 1_000_001
# Values of I_k below this are zero up to the error of the cells; and the highest order that is tried.
ZERO, HIGHEST = 1e-7, 12
# Several fields: scramblings of Sobol nodes with all changes of sign, the fields of each, and the highest order.
SCRAMBLINGS, NODES, MOST_FIELDS, HIGHEST_OF_SEVERAL = 8, 2**15, 5, 6
# I_k is zero below the square of this many standard errors of its zetas, and below the rounding error.
SIGNIFICANT, ROUNDING = 5.0, 1e-24
# Most outputs; a link has more of them if the first FEW fields do.
MOST_OUTPUTS, FEW = 64, 1000


@dataclass(frozen=True)
class Exponent:
    """The first order with information.

    Attributes
    ----------
    order : int
        k*; 0 where no order up to `highest` has information.
    size : float
        I_k*; 0 without k*.
    zero : float
        The I_k of the orders below are zero up to this number.
    highest : int
        The highest order that is tried.
    """

    order: int
    size: float
    zero: float
    highest: int


def generative_exponent(link: Link, prior: Prior | None = None) -> Exponent | None:
    """The exponent of a noiseless link with at most MOST_FIELDS fields and MOST_OUTPUTS outputs; None for other links.

    With a `prior` whose rows are correlated, the polynomials are those of the fields of the whitened rows.
    """
    size = link.rows * link.tokens
    if link.noise_dimension or size > MOST_FIELDS or type(link).forward is Link.forward:
        return None
    if size == 1:
        fields, highest = ndtri((np.arange(FIELDS) + 0.5) / FIELDS)[None, :, None], HIGHEST
    else:
        fields, highest = _fields(size), HIGHEST_OF_SEVERAL
    correlated = as_prior(prior, link).root @ fields.reshape(-1, link.rows, link.tokens)
    if len(np.unique(_outputs(link, correlated[:FEW]), axis=0)) > MOST_OUTPUTS:
        return None
    outputs, which = np.unique(_outputs(link, correlated), axis=0, return_inverse=True)
    if (count := len(outputs)) > MOST_OUTPUTS:
        return None
    which = which.reshape(fields.shape[:2])
    values, zero = hermite_values(fields, highest), 0.0
    indices = multi_indices(size, highest)
    for order in range(1, highest + 1):
        terms = [_information(values, index, which, count) for index in indices[indices.sum(axis=1) == order]]
        found, noise = np.sum(terms, axis=0)
        least = ZERO if size == 1 else SIGNIFICANT**2 * noise + ROUNDING
        if found - noise > least:
            return Exponent(order, float(found - noise), zero, highest)
        zero = max(zero, float(least))
    return Exponent(0, 0.0, zero, highest)


def _fields(size):
    """Sobol nodes (SCRAMBLINGS, n, size), closed under the changes of sign."""
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=size)))
    children = np.random.default_rng(0).spawn(SCRAMBLINGS)
    points = [gaussian_nodes(size, NODES // len(signs), child, 1.0).points for child in children]
    return np.stack([(signs[:, None, :] * one).reshape(-1, size) for one in points])


def _outputs(link, fields):
    """Outputs (n, k) of fields (n, P, M)."""
    return np.asarray(link.forward(fields)).reshape(len(fields), -1)


def _information(values, index, which, count):
    """E_y zeta_a^2 of a multi-index `index`, and its part that is the squared standard error of zeta.

    `values` are the Hermite values (order, s, n, P M). The mean over all fields, which is zero, is subtracted: a field whose size
    the output does not see then has no information in even orders, to rounding.
    """
    polynomial = np.prod([values[k, :, :, j] for j, k in enumerate(index)], axis=0)
    polynomial -= polynomial.mean(axis=1, keepdims=True)
    sums = np.array(
        [np.bincount(one, weights=part, minlength=count) for one, part in zip(which, polynomial, strict=True)]
    )
    share = np.bincount(which.ravel(), minlength=count) / which.size
    zeta = sums / which.shape[1] / share
    scatter = zeta.var(axis=0, ddof=1) / len(zeta) if len(zeta) > 1 else np.zeros(count)
    return np.array([share @ zeta.mean(axis=0) ** 2, share @ scatter])
