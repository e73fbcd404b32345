"""Heads with a softmax each: special cases that other links cover, the exact threshold of one head, and heads that split the
embedding."""

import numpy as np
import pytest
from smi_tools import channel_of, node_sets, path_settings

from agreement import assert_mean
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.links.attention.layers import softmax_rows
from attention_limits.sequence_multi_index.links.attention.untied import UntiedAttention
from attention_limits.sequence_multi_index.links.heads.learned_readout import LearnedReadout
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.links.heads.untied_multi_head import UntiedMultiHead
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory


def test_one_head_is_untied_attention_and_equal_queries_and_keys_are_tied():
    h = np.random.default_rng(61).standard_normal((5, 4, 3))
    one = UntiedMultiHead(heads=1, depth=2, tokens=3, skip=0.5)
    np.testing.assert_allclose(one.forward(h), UntiedAttention(depth=2, tokens=3, skip=0.5).forward(h), rtol=1e-12)
    tied = MultiHeadAttention(heads=4, tokens=3, readout=(0.4, 0.3, 0.2, 0.1))
    untied = UntiedMultiHead(heads=4, tokens=3, readout=(0.4, 0.3, 0.2, 0.1))
    np.testing.assert_allclose(untied.forward(np.concatenate([h, h], axis=1)), tied.forward(h), rtol=1e-12)


def test_the_output_of_a_learned_readout_is_the_sum_over_its_heads():
    h = np.random.default_rng(62).standard_normal((5, 6, 3))
    link = LearnedReadout(heads=2, tokens=3, untied=True, readout=(0.7, 0.3))
    expected = 0.0
    for head, weight in enumerate(link.weights):
        key, query, value = h[:, head], h[:, 2 + head], h[:, 4 + head]
        attention = softmax_rows(query[:, :, None] * key[:, None, :])
        expected = expected + weight * np.einsum("nab,nb->na", attention, value)
    np.testing.assert_allclose(link.forward(h), expected, rtol=1e-12)
    shared = LearnedReadout(heads=2, tokens=3, untied=True, shared=True, readout=(0.7, 0.3))
    same = np.concatenate([h, h[:, 4:5]], axis=1)[:, [0, 1, 2, 3, 4, 4]]
    np.testing.assert_allclose(shared.forward(h[:, :5]), link.forward(same), rtol=1e-12)


@pytest.mark.parametrize("untied", [False, True])
def test_a_learned_readout_behind_a_layer_reads_its_tokens(untied):
    """The tokens that the last layer reads, one after the other: x_a = c x_a + sum_b S_ab x_b of the first layer."""
    rng = np.random.default_rng(65)
    link = LearnedReadout(heads=2, tokens=3, depth=2, skip=0.5, untied=untied, readout=(0.7, 0.3))
    h = rng.standard_normal((5, link.rows, 3))
    width = 4 if untied else 2
    first, last, values = h[:, :width], h[:, width : 2 * width], h[:, 2 * width :]

    def heads(read):
        return [softmax_rows(read[:, k + width - 2, :, None] * read[:, k, None, :]) for k in (0, 1)]

    S = 0.7 * heads(first)[0] + 0.3 * heads(first)[1]

    def passed(fields):
        return 0.5 * fields + np.einsum("nab,nrb->nra", S, fields)

    attention, v = heads(passed(last)), passed(values)
    expected = sum(
        w * np.einsum("nab,nb->na", A, v[:, k]) for k, (w, A) in enumerate(zip((0.7, 0.3), attention, strict=True))
    )
    np.testing.assert_allclose(link.forward(h), expected, rtol=1e-12)


@pytest.mark.slow
def test_heads_that_split_the_embedding_have_the_theory_of_h_alpha():
    """One iteration of GAMP from an informed estimate, with head k reading only its own D / H dimensions: its overlap is that
    of the state evolution at H alpha. 8 data sets of D = 400; false-alarm rate 1e-4. An iteration from a given overlap has a
    bias of the order of 1 / D."""
    link, dimension, samples, q = MultiHeadAttention(tokens=4), 200, 160, 0.4
    channel, V = channel_of(link), 0.6 * np.eye(2)
    found = []
    for rng in np.random.default_rng(63).spawn(8):
        inputs = rng.standard_normal((samples, 4, 2, dimension)) / np.sqrt(dimension)
        teacher = rng.standard_normal((2, dimension))
        estimate = q * teacher + np.sqrt(q * (1.0 - q)) * rng.standard_normal((2, dimension))
        fields, omega = (np.einsum("naki,ki->nka", inputs, weights) for weights in (teacher, estimate))
        g, dg = denoiser(channel.posterior(link.observe(fields), omega, V), V)
        for head in (0, 1):
            precision = -dg[:, head, head].sum() / dimension
            b = np.einsum("na,nai->i", g.mean(axis=0)[:, head], inputs[:, :, head]) + precision * estimate[head]
            found.append(teacher[head] @ b / (1.0 + precision) / dimension)
    found = np.array(found).reshape(8, 2).mean(axis=1)
    # alpha = n / D = samples / (2 dimension), times H.
    settings = path_settings(q, 1)
    paths = [trajectory(channel, samples / dimension, nodes, settings) for nodes in node_sets(link, 256, 4, seed=64)]
    predicted = [np.trace(path.overlap[-1]) / 2.0 for path in paths]
    assert_mean(found, np.mean(predicted), 2.0 / dimension, np.std(predicted, ddof=1) / 2.0)
