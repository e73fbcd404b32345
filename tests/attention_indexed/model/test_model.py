"""The model of extensive-width attention and the sizes of its simulations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.attention_indexed.model import scores, sizes


@given(st.floats(0.005, 10.0), st.floats(0.0, 2.0), st.integers(1, 500))
def test_sizes_are_the_nearest_whole_numbers(ratio, alpha, dimension):
    size = sizes.sizes(alpha, ratio, dimension)
    assert size.rank >= 1
    assert size.count >= 1
    assert abs(size.rank - ratio * dimension) <= max(0.5, 1.0 - ratio * dimension)
    assert abs(size.count - alpha * dimension**2) <= max(0.5, 1.0 - alpha * dimension**2)
    assert size.realised()["realised_ratio"] * dimension == pytest.approx(size.rank)


def test_scores_are_the_definition():
    rng = np.random.default_rng(1)
    W, S = scores.draw_weights(7, 3, rng)
    X = scores.draw_sequences(5, 4, 7, rng)
    np.testing.assert_allclose(S, W @ W.T / np.sqrt(21.0))
    for x, h in zip(X, scores.scores(X, S), strict=True):
        np.testing.assert_allclose(h, (x @ S @ x.T - np.trace(S) * np.eye(4)) / np.sqrt(7.0))


def test_attention_by_rows():
    h = np.array([[[1.0, 1.0, 0.0], [800.0, 0.0, -800.0], [0.0, np.log(2.0), 0.0]]])
    np.testing.assert_allclose(scores.attention(h)[0, 1:], [[1, 0, 0], [0.25, 0.5, 0.25]], atol=1e-15)
    np.testing.assert_array_equal(scores.attention(h, np.inf)[0], [[1, 0, 0], [1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sizes.width(0.0, 10), "0 < rho"),
        (lambda: scores.draw_sequences(5, 0, 3, np.random.default_rng()), "M >= 1"),
        (lambda: scores.draw_weights(0, 1, np.random.default_rng()), "d >= 1"),
        (lambda: scores.attention(np.zeros((1, 2, 2)), 0.0), "beta > 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
