"""The student of a user in the benchmarks is the provided one."""

import importlib

import numpy as np

from attention_limits.sequence_single_index.links.built_in import full_attention

# The benchmarks are scripts beside the package, not part of it.
own_models = importlib.import_module("own_models")


def test_a_tuple_and_a_list_hold_the_same_attention():
    for z in np.random.default_rng(0).normal(0.0, 3.0, (20, 2)).tolist():
        np.testing.assert_allclose(own_models.attention_of_two_tokens(tuple(z)), full_attention(z), rtol=1e-12)
