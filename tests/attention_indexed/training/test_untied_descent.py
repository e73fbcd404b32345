"""Gradient descent of untied attention: its loss and gradient, and starts next to the teacher."""

import numpy as np
import pytest

from attention_limits.attention_indexed.model.scores import (
    attention,
    draw_sequences,
    draw_untied,
    product_matrix,
    scores,
)
from attention_limits.attention_indexed.schema.untied import UntiedDescent
from attention_limits.attention_indexed.training import untied_descent
from attention_limits.attention_indexed.training.untied_descent import descend

BETA = 0.8


def problem(own, count=40, tokens=3, dimension=12, rank=5, starts=3):
    """(sequences, keys or None, outputs, S, starts (2, K, d, r))."""
    rng = np.random.default_rng(0)
    S = draw_untied(dimension, rank, rng)
    sequences = draw_sequences(count, tokens, dimension, rng)
    keys = None if own else draw_sequences(count, tokens, dimension, rng)
    outputs = attention(scores(sequences, S, keys), BETA)
    return sequences, keys, outputs, S, rng.standard_normal((2, starts, dimension, rank))


@pytest.mark.parametrize("own", [True, False])
def test_loss_and_gradient_are_those_of_the_model(own):
    """Single precision against central differences of the loss in double precision: 1e-3 of the norm of the gradient."""
    sequences, keys, outputs, _, starts = problem(own)
    d = sequences.shape[2]

    def loss(weights):
        return np.sum((attention(scores(sequences, product_matrix(weights), keys), BETA) - outputs) ** 2) / d

    data = [None if part is None else np.asarray(part, np.float32) for part in (sequences, keys, outputs)]
    values, gradients = (
        np.asarray(part, float)
        for part in untied_descent._losses(np.asarray(starts, np.float32), *data, np.float32(BETA))
    )
    rng, step = np.random.default_rng(1), 1e-4
    for k in range(starts.shape[1]):
        W = starts[:, k]
        assert values[k] == pytest.approx(loss(W), rel=1e-5)
        direction = rng.standard_normal(W.shape)
        slope = (loss(W + step * direction) - loss(W - step * direction)) / (2.0 * step)
        scale = np.linalg.norm(gradients[:, k])
        assert np.sum(gradients[:, k] * direction) == pytest.approx(slope, abs=1e-3 * scale)


@pytest.mark.parametrize("own", [True, False])
def test_descent_returns_to_a_teacher_that_it_starts_near(own):
    """Four equations for each weight: the teacher is the only minimum near it, up to Q A, K A^-T."""
    rng = np.random.default_rng(2)
    teacher = rng.standard_normal((2, 10, 2))
    sequences = draw_sequences(160, 2, 10, rng)
    keys = None if own else draw_sequences(160, 2, 10, rng)
    S = product_matrix(teacher)
    outputs = attention(scores(sequences, S, keys), BETA)
    near = (teacher + 0.1 * rng.standard_normal(teacher.shape))[:, None]
    settings = UntiedDescent.Solver(steps=1500, learning_rate=0.003, record_every=100)
    found = descend(sequences, outputs, near, BETA, settings, keys)
    assert found.training_error[0, -1] < 1e-4 * found.training_error[0, 0]
    first, last = (np.linalg.norm(product_matrix(weights[:, 0]) - S) for weights in (near, found.weights))
    assert last < 0.1 * first


def test_wrong_shapes_and_numbers_are_refused():
    sequences, keys, outputs, _, starts = problem(False)
    for wrong in (
        (sequences, outputs[:-1], starts, BETA, UntiedDescent.Solver(), keys),
        (sequences, outputs, starts[:, :, :-1], BETA, UntiedDescent.Solver(), keys),
        (sequences, outputs, starts, BETA, UntiedDescent.Solver(), keys[:-1]),
    ):
        with pytest.raises(ValueError, match="shapes"):
            descend(*wrong)
    with pytest.raises(ValueError, match="beta"):
        descend(sequences, outputs, starts, np.inf, UntiedDescent.Solver(), keys)
