"""Heads that split the embedding: thresholds and fixed points at H alpha, and GAMP beside state evolution.

`reports/test_check_prior.py` holds the identities of the prior.
"""

import numpy as np
import pytest
from smi_tools import channel_of, informed_paths, informed_runs, node_sets, search_settings, symmetric_overlaps

from agreement import assert_mean
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.heads.learned_readout import LearnedReadout
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.links.heads.untied_multi_head import UntiedMultiHead
from attention_limits.sequence_multi_index.priors.blocks import BlockRows
from attention_limits.sequence_multi_index.priors.gaussian import standard_normal
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold

HEADS = BlockRows([1, 2])


def test_one_block_holds_standard_normal_weights():
    one, whole = BlockRows([1, 1]), standard_normal(2)
    precision = np.array([[0.7, 0.2], [0.2, 3.0]])
    overlap = whole.overlap(precision)
    np.testing.assert_allclose(one.overlap(precision), overlap, rtol=1e-12)
    assert one.free_entropy(overlap, precision) == pytest.approx(whole.free_entropy(overlap, precision), rel=1e-12)


@pytest.mark.parametrize(
    ("link", "blocks"),
    [(MultiHeadAttention(heads=2), [1, 2]), (UntiedMultiHead(heads=2), [1, 2, 1, 2])],
    ids=["tied", "queries and keys"],
)
def test_first_threshold_is_that_of_whole_heads_divided_by_their_number(link, blocks):
    channel, nodes = channel_of(link, 0.5), node_sets(link, 256, 1, seed=1)[0]
    split, whole = (first_threshold(channel, nodes, one) for one in (BlockRows(blocks), standard_normal(link.rows)))
    if link.sign_symmetry == "rows":
        assert split.alpha == pytest.approx(whole.alpha / 2, rel=1e-9)
    # The sign of each head is free, but the nodes know it up to their noise: the overlap of two heads, which is zero, differs.
    assert split.alpha == pytest.approx(whole.alpha / 2, abs=4.0 * (split.error + whole.error / 2))
    # Up to rounding, for a direction of length one.
    np.testing.assert_allclose(split.direction[np.not_equal.outer(blocks, blocks)], 0.0, atol=1e-14)


def test_fixed_point_is_that_of_whole_heads_at_twice_as_many_samples():
    """Two layers on the same nodes; each layer reads one half of the embedding."""
    channel = channel_of(DeepAttention(1.0))
    nodes = node_sets(channel.link, 128, 1, seed=2)[0]
    split, whole = (
        solve(channel, alpha, nodes, 1e-3, search_settings(), prior=one).value
        for alpha, one in ((0.35, HEADS), (0.7, standard_normal(2)))
    )
    assert whole[1, 1] > 0.5
    np.testing.assert_allclose(split, whole, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "blocks", "alpha"),
    [
        (MultiHeadAttention(heads=2), [1, 2], 0.4),
        (UntiedMultiHead(heads=2), [1, 2, 1, 2], 0.4),
        (LearnedReadout(heads=2), [1, 2, 1, 2], 0.6),
    ],
    ids=["tied", "queries and keys", "learned readout"],
)
def test_gamp_follows_state_evolution_from_an_informed_start(link, blocks, alpha):
    """W_hat W^T / D over three iterations at D = 256; bias O(iterations / D) allowed; false-alarm rate 1e-4."""
    dimension, start, iterations, prior = 256, 0.3, 3, BlockRows(blocks)
    channel = channel_of(link, 0.5)
    paths = informed_paths(channel, prior, alpha, start, iterations, node_sets(link, 512, 4, seed=3))
    generators = np.random.default_rng(4).spawn(8)
    runs = informed_runs(channel, prior, alpha, start, iterations, dimension, generators)
    error = np.std(paths, axis=0, ddof=1) / 2.0
    assert_mean(symmetric_overlaps(runs), np.mean(paths, axis=0), iterations / dimension, error)
