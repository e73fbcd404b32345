"""The map from local fields to outputs, against tokens that are really passed from layer to layer."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attention_limits.sequence_multi_index.links.deep_attention import DeepAttention, softmax_rows


def simulate(model, weights, tokens):
    """Tokens x (M, D) through the layers W (L, D): x_a <- c x_a + sum_b S_ab x_b with S = softmax(beta scores scores^T)."""
    dimension = tokens.shape[1]
    for layer in range(model.depth):
        scores = [weights[layer] @ token / np.sqrt(dimension) for token in tokens]
        attention = np.empty((model.tokens, model.tokens))
        for a in range(model.tokens):
            row = np.exp([model.beta * scores[a] * scores[b] for b in range(model.tokens)])
            attention[a] = row / row.sum()
        tokens = np.array(
            [model.skip * tokens[a] + sum(attention[a, b] * tokens[b] for b in range(model.tokens))
             for a in range(model.tokens)]
        )  # fmt: skip
    return attention, np.array(scores)


@pytest.mark.parametrize(("layers", "count"), [(1, 2), (2, 2), (3, 2), (2, 3), (3, 3), (4, 5)])
@pytest.mark.parametrize(("skip", "beta"), [(0.0, 1.0), (0.5, 2.0), (1.0, 1.0)])
def test_forward_equals_the_simulation_of_the_tokens(layers, count, skip, beta):
    """Rounding only: the scores are sums of D = 50 products of order one."""
    model = DeepAttention(skip, beta, layers, count)
    rng = np.random.default_rng(71)
    for _ in range(5):
        weights, tokens = rng.standard_normal((layers, 50)), rng.standard_normal((count, 50))
        attention, scores = simulate(model, weights, tokens)
        h = weights @ tokens.T / np.sqrt(50)
        np.testing.assert_allclose(model.preactivation(h), scores, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.forward(h), attention, rtol=1e-12, atol=1e-12)


def test_forward_of_a_batch_is_the_batch_of_forwards():
    model = DeepAttention(0.7, 1.3, 3, 4)
    h = np.random.default_rng(72).standard_normal((2, 5, 3, 4))
    single = np.array([[model.forward(one) for one in row] for row in h])
    np.testing.assert_allclose(model.forward(h), single, rtol=1e-14)


def test_preactivation_leaves_its_argument_alone():
    h = np.ones((3, 2, 2))
    DeepAttention(1.0).preactivation(h)
    assert np.all(h == 1)


@given(st.integers(2, 5).flatmap(lambda m: st.lists(st.floats(-4, 4), min_size=m, max_size=m)), st.floats(0.25, 2))
def test_inverse_of_the_output_is_the_root_up_to_one_sign(entries, beta):
    """The inversion divides by the largest difference d of the roots and by the larger of the pair p: rounding errors of
    log y, at most 1e-14 (2 beta u^2 <= 64), are amplified by 64 / (d p)^2."""
    u = np.array(entries)
    model = DeepAttention(1.0, beta, 2, len(u))
    assume(np.ptp(u) > 0.1)
    found = model.invert(model.attention(u))
    sign = np.sign(found @ u)
    np.testing.assert_allclose(sign * found, u, atol=1e-9)


def test_inverse_works_on_batches():
    model = DeepAttention(1.0, 1.0, 2, 3)
    u = np.random.default_rng(73).standard_normal((4, 6, 3))
    found = model.invert(model.attention(u))
    sign = np.sign(np.sum(found * u, axis=-1, keepdims=True))
    np.testing.assert_allclose(sign * found, u, atol=1e-9)


def test_inverse_refuses_what_is_no_output():
    model = DeepAttention(1.0)
    with pytest.raises(ValueError, match="underflowed"):
        model.invert(np.eye(2))
    # log(y_11 y_22 / (y_12 y_21)) = beta (u_1 - u_2)^2 cannot be negative.
    with pytest.raises(ValueError, match="negative"):
        model.invert(np.array([[0.3, 0.7], [0.7, 0.3]]))
    with pytest.raises(ValueError, match="shape"):
        model.invert(np.full((3, 3), 1 / 3))


def test_softmax_of_large_scores():
    rows = softmax_rows(np.array([[1e4, 0.0], [-1e4, -1e4]]))
    np.testing.assert_array_equal(rows, [[1.0, 0.0], [0.5, 0.5]])


@pytest.mark.parametrize(
    "arguments",
    [(-0.1,), (np.nan,), (np.inf,), (1.0, 0.0), (1.0, -1.0), (1.0, np.inf), (1.0, 1.0, 0), (1.0, 1.0, 2, 1)],
)
def test_impossible_models_are_refused(arguments):
    with pytest.raises(ValueError):
        DeepAttention(*arguments)


def test_fields_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="depth, tokens"):
        DeepAttention(1.0).preactivation(np.zeros((5, 3, 2)))
