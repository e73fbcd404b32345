"""Gradient descent of several layers: the model, the loss and its gradient, and starts next to the teacher."""

import numpy as np
import pytest

from attention_limits.attention_indexed.model.scores import (
    attention,
    attention_matrix,
    draw_sequences,
    scores,
    traceless,
)
from attention_limits.attention_indexed.schema.two_layers import LayersDescent
from attention_limits.attention_indexed.training import layers_descent
from attention_limits.attention_indexed.training.layers_descent import (
    LayersLoss,
    descend,
    output,
    raw_scores,
)
from attention_limits.attention_indexed.two_layers.sampled import SampledLayers

SKIP, BETA = 0.7, 0.8


def problem(layers, tokens=2, dimension=12, rank=5, count=40, starts=3):
    """(sequences, outputs, weights of the teacher (L, d, r), starts (K, L, d, r)), double precision."""
    rng = np.random.default_rng(0)
    teacher = rng.standard_normal((layers, dimension, rank))
    sequences = draw_sequences(count, tokens, dimension, rng)
    outputs = output(raw_scores(sequences, attention_matrix(teacher)), SKIP, BETA)
    return sequences, outputs, teacher, rng.standard_normal((starts, layers, dimension, rank))


def inner(weights):
    """Weights (K, L, d, r) as the loss takes them, (d, L, K, r)."""
    return np.ascontiguousarray(weights.transpose(2, 1, 0, 3))


@pytest.mark.parametrize("layers", [2, 3])
def test_layers_are_those_of_the_theory(layers):
    sequences, _, teacher, _ = problem(layers, tokens=3)
    raw = raw_scores(sequences, attention_matrix(teacher))
    np.testing.assert_allclose(output(raw, 1.5, BETA), SampledLayers(3, 1.5, BETA, layers).output(*raw), rtol=1e-12)


def test_one_layer_reads_scores_without_the_trace():
    sequences, outputs, teacher, _ = problem(1)
    wanted = attention(scores(sequences, traceless(attention_matrix(teacher[0]))), BETA)
    np.testing.assert_allclose(outputs, wanted, rtol=1e-12)


@pytest.mark.parametrize(("layers", "tokens"), [(1, 2), (2, 3), (3, 2), (4, 2)])
def test_gradient_is_that_of_finite_differences(layers, tokens):
    sequences, outputs, _, starts = problem(layers, tokens)

    def loss(weights):
        found = output(raw_scores(sequences, attention_matrix(weights)), SKIP, BETA)
        return np.sum((found - outputs) ** 2) / sequences.shape[2]

    values, gradients = LayersLoss(sequences, outputs, SKIP, BETA, float)(inner(starts))
    # Central differences of fourth order. With four layers a score is a polynomial of degree 14 in the weights: short steps.
    step, rng = 1e-4, np.random.default_rng(1)
    for k, W in enumerate(starts):
        assert values[k] == pytest.approx(loss(W), rel=1e-12)
        for layer in range(layers):
            direction = np.zeros_like(W)
            direction[layer] = rng.standard_normal(W.shape[1:])
            near = [loss(W + t * step * direction) for t in (-2, -1, 1, 2)]
            slope = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * step)
            assert np.sum(gradients[:, layer, k] * direction[layer]) == pytest.approx(slope, rel=1e-7, abs=1e-8)


def test_pieces_of_the_data_add_up(monkeypatch):
    sequences, outputs, _, starts = problem(2)
    whole = LayersLoss(sequences, outputs, SKIP, BETA, float)(inner(starts))
    monkeypatch.setattr(layers_descent, "_NUMBERS", 1)
    for part, one in zip(LayersLoss(sequences, outputs, SKIP, BETA, float)(inner(starts)), whole, strict=True):
        np.testing.assert_allclose(part, one, rtol=1e-12, atol=1e-15)


def test_the_teacher_is_stationary_and_descent_returns_to_it():
    """Three equations for each weight: the teacher is the only minimum near it, up to rotations of the columns of W."""
    sequences, outputs, teacher, _ = problem(2, dimension=10, rank=2, count=120)
    loss, gradient = LayersLoss(sequences, outputs, SKIP, BETA, float)(inner(teacher[None]))
    # The loss contains the rounding of the outputs squared, the gradient contains it once.
    assert loss[0] < 1e-25
    assert np.abs(gradient).max() < 1e-12
    near = teacher + 0.1 * np.random.default_rng(2).standard_normal(teacher.shape)
    settings = LayersDescent.Solver(steps=1500, learning_rate=0.003, record_every=100)
    found = descend(sequences, outputs, near[None], SKIP, BETA, settings)
    first, last = (
        np.linalg.norm(traceless(attention_matrix(weights) - attention_matrix(teacher)))
        for weights in (near, found.weights[0])
    )
    assert found.training_error[0, 0] > 1e-4
    assert found.training_error[0, -1] < 1e-4 * found.training_error[0, 0]
    assert last < 0.1 * first


def test_wrong_shapes_and_numbers_are_refused():
    sequences, outputs, _, starts = problem(2)
    with pytest.raises(ValueError, match="beta"):
        descend(sequences, outputs, starts, SKIP, np.inf, LayersDescent.Solver())
    with pytest.raises(ValueError, match="shapes"):
        descend(sequences, outputs[:-1], starts, SKIP, BETA, LayersDescent.Solver())
    with pytest.raises(ValueError, match="shapes"):
        descend(sequences, outputs, starts[:, :, :-1], SKIP, BETA, LayersDescent.Solver())
