"""What the tests of the theory share: statistical decisions fixed in advance, sampled channels, independent nodes.

Every stochastic comparison is a t-test over independent replicas (or plain samples) with a Bonferroni-corrected threshold:
the probability that a correct program fails it for a random seed is FALSE_ALARM per call (unless said otherwise),
whatever the number of comparisons. The seeds are fixed, so a pass stays a pass.
"""

import numpy as np
from scipy import stats

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channel import Channel
from attention_limits.sequence_multi_index.state_evolution import node_dimension

FALSE_ALARM = 1e-4


def t_threshold(comparisons, degrees, false_alarm=FALSE_ALARM):
    """Two-sided Student threshold at which `comparisons` tests together raise a false alarm with this probability."""
    return float(stats.t.isf(0.5 * false_alarm / comparisons, degrees))


def assert_mean(values, expected=0.0, allowance=0.0, error=0.0, false_alarm=FALSE_ALARM):
    """Assert that the mean over the first axis of independent replicas agrees with `expected`, entry by entry.

    Parameters
    ----------
    values : array (replicas, ...)
    expected : array (...)
    allowance : float or array
        Known bound on the bias (finite difference, finite size), declared with its reason by the caller.
    error : float
        Standard error of `expected`.
    """
    values = np.asarray(values, dtype=float)
    replicas = len(values)
    standard_error = np.hypot(values.std(axis=0, ddof=1) / np.sqrt(replicas), error)
    deviation = np.abs(values.mean(axis=0) - expected)
    # A quantity that vanishes identically has no error: what is left is the truncation of the channel's range, 1e-9.
    limit = t_threshold(deviation.size, replicas - 1, false_alarm) * standard_error + allowance + 1e-8
    assert np.all(deviation <= limit), f"deviation {deviation}, limit {limit}, mean {values.mean(axis=0)}"


def channel_of(link, resolution=1.0, seed=0):
    """The channel of a link; the seed scrambles the nodes of the methods that have any."""
    return Channel(link, resolution, np.random.default_rng(seed))


def node_sets(link, count, replicas, seed, dimension=None):
    """Independent scramblings of the Gaussian nodes of state evolution."""
    size = node_dimension(link) if dimension is None else dimension
    return [gaussian_nodes(size, count, child) for child in np.random.default_rng(seed).spawn(replicas)]


def draw_channels(link, V, count, seed, overlap=None):
    """(observed, omega, h) of `count` outputs of a link, omega_a ~ N(0, overlap) (default I - V), h_a ~ N(omega_a, V)."""
    rng = np.random.default_rng(seed)
    size = link.rows
    overlap = np.eye(size) - V if overlap is None else overlap
    # Adding a tiny multiple of the identity lets a singular overlap have a Cholesky factor.
    prior = np.linalg.cholesky(overlap + 1e-300 * np.eye(size)) if np.any(overlap) else overlap
    omega = np.einsum("pq,nqa->npa", prior, rng.standard_normal((count, size, link.tokens)))
    h = omega + np.einsum("pq,nqa->npa", np.linalg.cholesky(V), rng.standard_normal((count, size, link.tokens)))
    return link.observe(h, rng.standard_normal((count, link.noise_dimension))), omega, h
