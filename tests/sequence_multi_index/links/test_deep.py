"""The map from local fields to outputs, against tokens that are really passed from layer to layer."""

import numpy as np
import pytest

from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.layers import softmax_rows


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


FIBRES = {
    "two layers": DeepAttention(1.0),
    "four layers": DeepAttention(0.5, 2.0, 4),
    "three tokens": DeepAttention(1.0, 1.0, 3, 3),
    "one layer": DeepAttention(1.0, 1.0, 1, 4),
    "no skip": DeepAttention(0.0, 1.0, 2, 3),
    "linear": DeepAttention(1.0, 0.7, 2, 2, "linear"),
    "linear, deep": DeepAttention(0.5, 1.0, 3, 3, "linear"),
}


@pytest.mark.parametrize("link", FIBRES.values(), ids=FIBRES)
def test_candidates_of_the_fibre_are_the_preimages_of_the_output(link):
    """On any free layers both candidates give back the output, and on the true ones one of them is the truth. Rounding is
    amplified by the condition numbers of the layers: up to 1e5 for these draws, without a skip."""
    rng = np.random.default_rng(74)
    h = rng.standard_normal((20, link.depth, link.tokens))
    free = rng.standard_normal((20, 5, link.depth - 1, link.tokens))
    free[:, 0] = h[:, :-1]
    candidates, log_weight = link.fibre(link.observe(h), free, np.zeros((1, 0)))
    assert candidates.shape == (20, 5, 2, 1, link.tokens)
    assert log_weight.shape == (20, 5, 2)
    whole = np.concatenate([np.broadcast_to(free[:, :, None], (20, 5, 2, *free.shape[2:])), candidates], axis=3)
    expected = np.broadcast_to(link.forward(h)[:, None, None], link.forward(whole).shape)
    np.testing.assert_allclose(link.forward(whole), expected, rtol=1e-7, atol=1e-7)
    distance = np.abs(candidates[:, 0, :, 0] - h[:, None, -1]).max(axis=2)
    assert distance.min(axis=1).max() < 1e-8
    np.testing.assert_array_equal(candidates[:, :, 0], -candidates[:, :, 1])


@pytest.mark.parametrize("link", FIBRES.values(), ids=FIBRES)
def test_weight_of_the_fibre_is_the_inverse_jacobian(link):
    """|det du/dh_L|, column by column: u is linear in the last layer."""
    rng = np.random.default_rng(75)
    h = rng.standard_normal((20, link.depth, link.tokens))
    _, log_weight = link.fibre(link.observe(h), h[:, None, :-1], np.zeros((1, 0)))
    columns = []
    for token in range(link.tokens):
        moved = h.copy()
        moved[:, -1] = np.eye(link.tokens)[token]
        columns.append(link.preactivation(moved))
    expected = -np.linalg.slogdet(np.stack(columns, axis=2))[1]
    np.testing.assert_allclose(log_weight, np.tile(expected[:, None, None], (1, 1, 2)), rtol=1e-9, atol=1e-9)


def test_linear_forward_is_the_product_of_the_definition():
    """B_l = B_{l-1} [c I + S_l^T], S_l = beta (h_l B_{l-1})^T (h_l B_{l-1}), written out."""
    link = DeepAttention(0.5, 0.7, 3, 3, "linear")
    h = np.random.default_rng(76).standard_normal((3, 3))
    B = np.eye(3)
    for layer in range(3):
        S = 0.7 * np.outer(h[layer] @ B, h[layer] @ B)
        B = B @ (0.5 * np.eye(3) + S.T)
    np.testing.assert_allclose(link.forward(h), S, rtol=1e-12)


def test_linear_attention_without_skip_has_no_channel():
    assert "skip" in DeepAttention(0.0, 1.0, 2, 2, "linear").no_density
    assert not DeepAttention(0.0, 1.0, 1, 2, "linear").no_density
    assert not DeepAttention(0.0).no_density


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="softmax or linear"):
        DeepAttention(activation="relu")
