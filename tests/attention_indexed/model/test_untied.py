"""The two parts of S of untied attention, and the information that self-attention holds on them."""

import numpy as np
import pytest

from attention_limits.attention_indexed.model.scores import draw_sequences, scores
from attention_limits.attention_indexed.model.untied import parts


def test_parts_add_up_and_are_orthogonal():
    matrices = np.random.default_rng(3).standard_normal((4, 5, 5))
    symmetric, antisymmetric = parts(matrices)
    np.testing.assert_allclose(symmetric + antisymmetric, matrices, atol=1e-15)
    np.testing.assert_allclose(symmetric, symmetric.swapaxes(1, 2))
    assert np.sum(symmetric * antisymmetric) == pytest.approx(0.0, abs=1e-12)


def test_self_attention_of_two_tokens_holds_three_times_the_information_on_the_symmetric_part():
    """Fisher information of the two differences of scores h_12 - h_11 and h_21 - h_22 on directions of S, from 20 000 sequences
    of d = 20. On (E_01 + E_10) / 2 it is 2 (1/2 + 1) / d; the score of a token with itself has no antisymmetric part. The
    ratio has a standard error of 1 %; five of them: false-alarm rate 1e-6."""
    d, rng = 20, np.random.default_rng(4)
    sequences = draw_sequences(20_000, 2, d, rng)
    pair = np.zeros((d, d))
    pair[0, 1] = 1.0
    squares = []
    for direction in parts(pair):
        h = scores(sequences, direction)
        difference = np.stack([h[:, 0, 1] - h[:, 0, 0], h[:, 1, 0] - h[:, 1, 1]])
        # Scores of an unknown S: variance 2 of each difference, uncorrelated.
        squares.append(np.mean(np.sum(difference**2, axis=0)))
    assert squares[0] / squares[1] == pytest.approx(3.0, rel=0.05)
