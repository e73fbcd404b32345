"""Importance sampling of deep softmax attention reading two tokens: the arrays of `sampling.two_tokens_kernels`."""

import numpy as np

from attention_limits.sequence_multi_index.channels.sampling.importance import split_prior
from attention_limits.sequence_multi_index.channels.sampling.importance_kernels import Found
from attention_limits.sequence_multi_index.channels.sampling.two_tokens_kernels import (
    Mixture,
    Model,
    deep_moments,
)
from attention_limits.sequence_multi_index.links.link import Link


def two_token_moments(link: Link, u, omega, V, nodes, proposals):
    """`importance.fibre_moments` of deep softmax attention reading two tokens, by the compiled kernel.

    `link`, `omega`, `V`, `nodes` and `proposals` as in `fibre_moments`, one or two proposals for each output; score roots `u`
    (n, 2). The moments are in the precision of the nodes, single or double. In single precision log Z and the moments, in units
    of the prior standard deviations, have errors of about 1e-5, while sampling on 512 nodes has errors of a few percent.
    """
    n, free, size = len(u), link.free_rows, 2 * link.depth
    prior = split_prior(V, free)
    # One proposal alone is not compared with another.
    inverse = np.linalg.inv(proposals.spread) if proposals.centre.shape[1] > 1 else proposals.spread
    kind = nodes.dtype

    def plain(array):
        return np.ascontiguousarray(array, dtype=kind)

    mixtures = Mixture(*map(plain, (proposals.centre, proposals.spread, inverse, proposals.log_volume)))
    numbers = map(kind.type, (1.0 / prior.rest[0, 0] ** 2, link.skip, link.beta))
    model = Model(plain(prior.whitening), plain(prior.regression[0]), *numbers)
    found = Found(np.empty(n), np.empty((n, size)), np.empty((n, size, size)), np.empty(n))
    deep_moments(plain(u), plain(omega), mixtures, model, np.ascontiguousarray(nodes).reshape(-1, free, 2), found)
    return found.log_z + 2.0 * np.log(np.diag(prior.whitening)).sum(), found.mean, found.second, found.effective
