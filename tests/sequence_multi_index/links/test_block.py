"""A sequence model and its description as a block multi-index model of M D inputs with the weights I kron W (Troiani et al.
2025, appendix B): the same data, channel and state evolution.

The sampled channels use the same nodes in both descriptions. The proposals of single outputs differ: a row that is hardly known
keeps the correlations of its tokens, and as rows of a block model these fields are different rows. Both are unbiased, which a
quadrature shows.
"""

import numpy as np
import pytest
from links_under_test import LINKS
from smi_tools import channel_of, draw_channels, node_sets

from agreement import assert_mean
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import channel_averages, sample_outputs
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.channels.sampling import importance
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.untied import UntiedAttention
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import FINITE_SUM, SAMPLING
from attention_limits.sequence_multi_index.links.wrappers import BlockMultiIndex

# Links whose two descriptions use the same method: finite sums and sampling.
SAME = {
    name: link
    for name, link in LINKS.items()
    if link.rows * link.tokens > 1 and channel_of(link, 0.25).method in (FINITE_SUM, SAMPLING)
}


def both(link, resolution=0.25):
    """The channels of both descriptions on the same nodes."""
    return (channel_of(link, resolution), Channel(BlockMultiIndex(link), resolution, np.random.default_rng(0)))


def overlap_of(link):
    return 0.3 * np.eye(link.rows) + 0.1 / link.rows


@pytest.mark.parametrize("name", LINKS)
def test_a_block_model_is_a_sound_link_with_the_same_data(name):
    link, rng = LINKS[name], np.random.default_rng(41)
    block = BlockMultiIndex(link)
    assert problems_of(block) == []
    data = gamp.gaussian_dataset(link, 12, 5, rng)
    inputs, weights = data.sequences.reshape(5, -1), np.kron(np.eye(link.tokens), data.teacher)
    h = inputs @ weights.T / np.sqrt(12)
    # Row p of token a stands at a P + p in I kron W, at p M + a in the link.
    order = np.arange(link.rows * link.tokens).reshape(link.tokens, link.rows).T.ravel()
    noise = np.random.default_rng(42).standard_normal((5, link.noise_dimension))
    fields = np.einsum("pd,nad->npa", data.teacher, data.sequences) / np.sqrt(12)
    np.testing.assert_allclose(h[:, order], fields.reshape(5, -1), atol=1e-13)
    np.testing.assert_allclose(
        block.observe(h[:, order, None], noise), link.observe(fields, noise), rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(block.log_volume(fields.reshape(5, -1, 1)), link.log_volume(fields))
    np.testing.assert_equal(block.output_entropy, link.output_entropy)


@pytest.mark.parametrize("name", SAME)
def test_both_descriptions_have_the_same_channel(name, monkeypatch):
    """Up to rounding, on the same nodes: without proposals of single outputs, and without the directions that a block model
    alone sees to be free, such as the mean of the keys over the tokens."""
    monkeypatch.setattr(importance, "ADAPTATIONS", 0)
    link = SAME[name]
    V = np.eye(link.rows) - overlap_of(link)
    observed, omega, _ = draw_channels(link, V, 6, seed=43)
    sequence, block = both(link)
    for one, other in zip(sequence.nodes, block.nodes, strict=True):
        np.testing.assert_array_equal(one, other)
    block.invariant = np.kron(sequence.invariant, np.eye(link.tokens))
    first = sequence.posterior(observed, omega, V)
    second = block.posterior(observed, omega.reshape(6, -1, 1), np.kron(V, np.eye(link.tokens)))
    np.testing.assert_allclose(first.log_z, second.log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(first.mean.ravel(), second.mean.ravel(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(first.covariance.ravel(), second.covariance.ravel(), rtol=1e-6, atol=1e-9)


def untied_quadrature(observed, omega, V):
    """(Z, Z E[h - omega]) of one untied head that reads two tokens, h = (k, q), of one output (a, b).

    Given d = k_1 - k_2 the output fixes q = (a, -b) / d with the density 1 / d^2. In the sum and the difference over the tokens
    the fields are independent, of covariance 2 V; the sum of the keys is Gaussian given that of the queries. One integral over
    d is left.
    """
    a, b = observed
    t = np.linspace(-14.0, 4.0, 200001)
    total, moments = 0.0, np.zeros((2, 2))
    for sign in (1.0, -1.0):
        d = sign * np.exp(t)
        difference = np.stack([d, (a + b) / d]) - (omega[:, 0] - omega[:, 1])[:, None]
        q_sum = (a - b) / d - omega[1].sum()
        k_sum = V[0, 1] / V[1, 1] * q_sum
        exponent = np.sum(difference * np.linalg.solve(2.0 * V, difference), axis=0) + q_sum**2 / (2.0 * V[1, 1])
        norm = 2.0 * np.pi * np.sqrt(4.0 * np.linalg.det(V)) * np.sqrt(2.0 * np.pi * 2.0 * V[1, 1])
        # dk_1 dk_2 = ds dd / 2; the density in (h_1, h_2) is twice that in sum and difference, for each of two rows.
        weight = 2.0 * np.exp(-0.5 * exponent) / norm / d**2 * np.abs(d) * (t[1] - t[0])
        sums = np.stack([k_sum, q_sum])
        total += weight.sum()
        moments += np.stack([(sums + difference) @ weight, (sums - difference) @ weight], axis=1) / 2.0
    return total, moments


def test_sampling_of_untied_attention_agrees_with_a_quadrature():
    """Z and Z E[h - omega], relative to the quadrature, without bias; false-alarm rate 1e-4. In the block description the mean
    of the keys over the tokens, which the output does not see, has exactly the moment that it has without data."""
    link, V = UntiedAttention(), np.array([[0.7, 0.1], [0.1, 0.6]])
    observed, omega, _ = draw_channels(link, V, 6, seed=44)
    exact = [untied_quadrature(*given, V) for given in zip(observed, omega, strict=True)]
    values = []
    for generator in np.random.default_rng(45).spawn(16):
        nodes = gaussian_nodes(2, 4096, generator, 1.0).points
        log_z, mean, _, _ = importance.fibre_moments(link, observed, omega, V, nodes)
        scaled = np.exp(log_z) / [z for z, _ in exact]
        values.append(scaled[:, None] * np.concatenate([np.ones((6, 1)), mean], axis=1))
    expected = [np.concatenate([[1.0], moments.ravel() / z]) for z, moments in exact]
    assert_mean(values, expected)
    assert np.median(np.std(values, axis=0, ddof=1)[:, 0]) / 4.0 < 0.02
    _, block = both(link)
    found = block.posterior(observed, omega.reshape(6, -1, 1), np.kron(V, np.eye(2))).mean[..., 0].reshape(6, 2, 2)
    response = np.einsum("pq,nqa->npa", np.linalg.inv(V), found).sum(axis=2)
    np.testing.assert_allclose(response[:, 0], 0.0, atol=1e-9)
    exact_response = [np.linalg.solve(V, moments / z).sum(axis=1)[0] for z, moments in exact]
    np.testing.assert_allclose(exact_response, 0.0, atol=1e-6)


@pytest.mark.parametrize("name", ["deep_attention depth=2 tokens=3", "multi_head heads=1", "sequence_output depth=2"])
def test_both_descriptions_have_the_same_state_evolution(name, monkeypatch):
    """The weights I kron W are tied: the information about W is the sum over the tokens, the diagonal blocks of that about I
    kron W, whose overlap is Q kron I. Both estimates of it, E g g^T and -E dg, on the same nodes."""
    monkeypatch.setattr(importance, "ADAPTATIONS", 0)
    link = LINKS[name]
    (nodes,) = node_sets(link, 64, 1, seed=46)
    Q, identity = np.diag(np.linspace(0.3, 0.6, link.rows)), np.eye(link.tokens)
    V = np.eye(link.rows) - Q
    found = []
    for channel, overlap, variance in zip(
        both(link), (Q, np.kron(Q, identity)), (V, np.kron(V, identity)), strict=True
    ):
        omega, observed = sample_outputs(channel.link, overlap, variance, nodes.points)
        (first, second), dg = denoiser(channel.posterior(observed, omega, variance), variance)
        products = np.einsum("n,npa,nqa->pq", nodes.weights, first, second)
        averages = channel_averages(channel, overlap, nodes)
        found.append([products, -np.einsum("n,npq->pq", nodes.weights, dg), averages.log_z])
    for of_rows, of_fields in zip(*(pair[:2] for pair in found), strict=True):
        tied = np.einsum("paqa->pq", of_fields.reshape(2 * (link.rows, link.tokens)))
        np.testing.assert_allclose(tied, of_rows, rtol=1e-6, atol=1e-9)
    assert found[1][2] == pytest.approx(found[0][2], rel=1e-9)
