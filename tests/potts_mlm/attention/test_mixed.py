"""Mixed attention: its limits, and the masked colour."""

import numpy as np
import pytest
from potts_tools import random_weights

from attention_limits.potts_mlm.attention import mixed
from attention_limits.potts_mlm.attention.factored import losses

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("softmax", [False, True])
def test_mixed_attention_at_zero_is_factored(softmax):
    """The same loss from the same weights, to rounding."""
    attention, values, sequences = random_weights(5, 4, 6)
    # Directions of the shared space are max(C, L) = 5; the mask is the row after them.
    scores = np.zeros((6, 5))
    scores[:5] = attention + np.diag(np.arange(5.0))
    found = mixed.losses(scores, values, sequences, 0.0, softmax)
    matrix = scores[:5].copy()
    if softmax:
        matrix = np.exp(matrix) / np.exp(matrix).sum(axis=1, keepdims=True)
    np.fill_diagonal(matrix, 0.0)
    np.testing.assert_allclose(found, losses(matrix, values, sequences), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("softmax", [False, True])
def test_mixed_attention_at_one_does_not_know_the_positions(softmax):
    """Permuting the sites of a sequence permutes its losses."""
    _, values, sequences = random_weights(5, 4, 7)
    scores = np.random.default_rng(8).standard_normal((6, 5))
    order = [3, 0, 4, 1, 2]
    found = mixed.losses(scores, values, sequences, 1.0, softmax)
    np.testing.assert_allclose(
        mixed.losses(scores, values, sequences[:, order], 1.0, softmax), found[:, order], atol=1e-10
    )


@pytest.mark.parametrize("mixing", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("softmax", [False, True])
def test_mixed_attention_does_not_see_the_masked_colour(mixing, softmax):
    """The logits of a masked site, read off the losses of all its colours, add up to probability one."""
    _, values, sequences = random_weights(5, 4, 9)
    scores = np.random.default_rng(10).standard_normal((6, 5))
    total = 0.0
    for color in range(4):
        recolored = sequences.copy()
        recolored[:, 2] = color
        total = total + np.exp(-mixed.losses(scores, values, recolored, mixing, softmax)[:, 2])
    np.testing.assert_allclose(total, 1.0, atol=1e-10)
