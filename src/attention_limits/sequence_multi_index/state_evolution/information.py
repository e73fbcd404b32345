"""Entropy of the outputs, and mutual information of weights and outputs, per dimension and in nats.

With the density Z of y itself, Phi is the limit of E log p(y_1 ... y_n | x_1 ... x_n) / D. Therefore

    h(Y | X) / D = -Phi_y,   Phi_y = Phi - alpha E log |dy / du|,   I(W; Y | X) / D = (h(Y | X) - n h(y | h)) / D

(Phi as in Troiani et al. 2025, arXiv:2502.00901, at the fixed point of largest Phi). The channel has the density of an
observation u instead of y (`Link.observe`); the mean log-volume |dy / du| is a constant in Q. Discrete outputs have h(y | h) = 0,
outputs with Gaussian noise that of the noise. A continuous output without noise has h(y | h) = -inf: the mutual information is
infinite, or the entropy of the weights if these are discrete.
"""

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.priors.gaussian import as_prior
from attention_limits.sequence_multi_index.priors.prior import Prior

# The volume of M tokens takes M^3 numbers per node: long sequences use fewer nodes, at least the second number.
NUMBERS, FEWEST_NODES = 2**24, 64


def mean_log_volume(link: Link, nodes, prior: Prior | None = None) -> float:
    """E log |dy / du| over fields h ~ N(0, E w w^T) of the teacher; 0 where u is y.

    Parameters
    ----------
    link : Link
    nodes : GaussianNodes
        In P M dimensions.
    prior : Prior, optional
        Standard normal weights by default.

    Returns
    -------
    float
        NaN where rounding loses the output: the softmax underflows at some node.
    """
    count = max(FEWEST_NODES, 2 ** int(np.log2(NUMBERS / link.tokens**3)))
    nodes = nodes.head(min(count, len(nodes)))
    with np.errstate(divide="ignore", invalid="ignore"):
        fields = as_prior(prior, link).root @ nodes.points.reshape(-1, link.rows, link.tokens)
        found = nodes.mean(link.log_volume(fields))
    return float(found) if np.isfinite(found) else np.nan


def output_entropy(free_entropy, alpha, log_volume) -> float:
    """h(Y | X) / D, differential or, for discrete outputs, that of their probabilities.

    Parameters
    ----------
    free_entropy : float
        Phi at the fixed point, in the density of u and without side information.
    alpha : float
        n / D.
    log_volume : float
        `mean_log_volume`.
    """
    return alpha * log_volume - free_entropy


def mutual_information(link: Link, entropy, alpha, prior: Prior | None = None) -> float:
    """I(W; Y | X) / D >= 0; for a continuous output without noise that of the weights, infinite if they are continuous.

    Parameters
    ----------
    link : Link
    entropy : float
        h(Y | X) / D, from `output_entropy`.
    alpha : float
        n / D.
    prior : Prior, optional
        Standard normal weights by default.
    """
    return as_prior(prior, link).entropy if np.isneginf(link.output_entropy) else entropy - alpha * link.output_entropy
