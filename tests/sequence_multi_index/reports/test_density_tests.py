"""Links that are the same model have the same posterior, and that of two points is known."""

import numpy as np
import pytest

from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.large_depth import LargeDepth
from attention_limits.sequence_multi_index.links.attention.sequence_output import SequenceOutput
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval

pytestmark = pytest.mark.slow


def assert_same_posterior(first: Link, second: Link):
    h = np.random.default_rng(3).standard_normal((20, 1, 2))
    omega, V = 0.3 * np.random.default_rng(4).standard_normal(h.shape), np.array([[0.7]])
    moments = [
        Channel(link, 1.0, np.random.default_rng(0)).posterior(link.observe(h), omega, V) for link in (first, second)
    ]
    assert np.allclose(moments[0].mean, moments[1].mean, rtol=1e-7, atol=1e-9)
    assert np.allclose(moments[0].covariance, moments[1].covariance, rtol=1e-7, atol=1e-9)


def test_one_head_is_one_layer_of_deep_attention():
    assert_same_posterior(MultiHeadAttention(heads=1, beta=1.3), DeepAttention(depth=1, beta=1.3))


def test_one_layer_has_the_same_posterior_by_its_sequence_as_by_its_attention():
    assert_same_posterior(SequenceOutput(depth=1, skip=0.4, beta=0.8), DeepAttention(depth=1, beta=0.8))


def test_the_limit_of_many_layers_has_the_posterior_of_one_layer():
    # The average transfer is invertible: y gives h up to its sign, for any kappa.
    assert_same_posterior(LargeDepth(ratio=1.5), DeepAttention(depth=1))


def test_phase_retrieval_posterior_is_that_of_two_points():
    channel = Channel(phase_retrieval(), 1.0, np.random.default_rng(0))
    size, omega, V = np.array([0.3, 1.7]), np.array([0.5, -0.2]), 0.6
    moments = channel.posterior(size**2, omega[:, None, None], np.array([[V]]))
    mean = size * np.tanh(size * omega / V)
    assert np.allclose(moments.mean[:, 0, 0] + omega, mean, rtol=1e-12)
    assert np.allclose(moments.covariance[:, 0, 0, 0, 0], size**2 - mean**2, rtol=1e-12)
