import importlib

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from smi_tools import descent_settings

from attention_limits.sequence_multi_index.data.sequences import draw, local_fields
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention
from attention_limits.sequence_multi_index.training import gradient_descent
from attention_limits.sequence_multi_index.training.gradient_descent import (
    Block,
    batch_loss,
    descend,
    drawn_batches,
    has_kernel,
)

pytestmark = pytest.mark.slow

naive_sgd = importlib.import_module("naive_sequence_multi_index")


def problem(link, dimension, samples, sets=1, seed=0):
    """Sequences, outputs, teachers and starts of some data sets."""
    generator = np.random.default_rng(seed)
    drawn = [draw(link.rows, link.tokens, dimension, samples, generator) for _ in range(sets)]
    sequences, teachers = (np.stack(part) for part in zip(*drawn, strict=True))
    outputs = np.stack([link.forward(local_fields(*pair)) for pair in zip(sequences, teachers, strict=True)])
    return sequences, outputs, teachers, 0.9 * generator.standard_normal(teachers.shape)


def gradient_of(link):
    """Loss and gradient by automatic differentiation, a function of weights, sequences and outputs, compiled once."""
    return jax.jit(jax.value_and_grad(lambda weights, x, y: batch_loss(link, weights, x, y)))


def test_the_gradient_is_that_of_a_loop_over_the_sequences():
    link = DeepAttention(skip=0.7, beta=1.3)
    (sequences,), (outputs,), _, (start,) = problem(link, 30, 20)
    with jax.enable_x64(True):
        found = gradient_of(link)(start, sequences.astype(float), outputs)[1]
    np.testing.assert_allclose(found, naive_sgd.gradient(link, start, sequences, outputs), rtol=1e-10, atol=1e-13)


@pytest.fixture(params=["compiled", "JAX"])
def program(request, monkeypatch):
    """Both programs for softmax layers that read two tokens."""
    if request.param == "JAX":
        monkeypatch.setattr(gradient_descent, "has_kernel", lambda link: False)


@pytest.mark.usefixtures("program")
def test_single_precision_follows_the_naive_descent_in_double_precision():
    link = DeepAttention(skip=1.0)
    sequences, outputs, teachers, starts = problem(link, 60, 400, sets=2)
    order = np.stack([drawn_batches(400, 20, 40, np.random.default_rng(set_)) for set_ in range(2)])
    descent = descent_settings(learning_rate=5.0, weight_decay=0.07, reuse=3)
    block = Block(sequences, outputs.astype(np.float32), order)
    found = descend(link, [block], starts[:, None], teachers, descent)
    for index in range(2):
        naive = naive_sgd.descend(link, starts[index], sequences[index], outputs[index], order[index], descent)
        # 120 steps of rounding at 6e-8 each, on weights of size one.
        np.testing.assert_allclose(found.weights[index, 0], naive, atol=1e-4)
        sizes = np.linalg.norm(naive, axis=1)
        cosine = np.sum(naive * teachers[index], axis=1) / (sizes * np.linalg.norm(teachers[index], axis=1))
        np.testing.assert_allclose(found.cosine[index, 0, -1], cosine, atol=1e-4)
        np.testing.assert_allclose(found.norm[index, 0, -1], sizes / np.sqrt(60), atol=1e-4)
    assert found.loss[:, 0, -1].max() < np.sum(outputs**2, axis=(2, 3)).mean()


@pytest.mark.parametrize(("depth", "batch"), [(1, 1), (2, 7), (3, 4), (4, 9)])
def test_the_kernel_takes_the_steps_of_automatic_differentiation(depth, batch):
    """Also batches of an odd number of sequences, whose last one has no partner."""
    link = DeepAttention(skip=0.6, beta=1.4, depth=depth)
    (sequences,), (outputs,), teachers, starts = problem(link, 33, 30)
    order = drawn_batches(30, batch, 4, np.random.default_rng(1))
    descent = descent_settings(learning_rate=0.5, weight_decay=0.66, reuse=2)
    block = Block(sequences[None], outputs[None].astype(np.float32), order[None])
    found = descend(link, [block], starts[:, None], teachers, descent)
    weights, losses, of_weights = starts[0], [], gradient_of(link)
    with jax.enable_x64(True):
        for numbers in order:
            x, y = sequences[numbers].astype(float), outputs[numbers]
            for step in range(descent.reuse):
                loss, gradient = of_weights(weights, x, y)
                losses += [loss * 33 / batch] if step == 0 else []
                weights = weights - descent.learning_rate * (gradient + descent.weight_decay / 33 * weights)
    # Eight steps of rounding at 6e-8 each, on weights of size one.
    np.testing.assert_allclose(found.weights[0, 0], weights, atol=5e-6)
    np.testing.assert_allclose(found.loss[0, 0, 1], np.mean(losses), rtol=1e-5)


def test_the_kernel_is_for_softmax_layers_of_one_head_and_two_tokens():
    assert has_kernel(DeepAttention(depth=3, skip=0.0))
    for other in (DeepAttention(tokens=3), DeepAttention(activation="linear"), MultiHeadAttention(heads=2)):
        assert not has_kernel(other)


@pytest.mark.usefixtures("program")
def test_neither_the_blocks_nor_the_company_change_a_number():
    link = DeepAttention(skip=1.0, depth=3)
    sequences, outputs, teachers, starts = problem(link, 40, 100, sets=3)
    outputs = outputs.astype(np.float32)
    order = np.stack([drawn_batches(100, 10, 12, np.random.default_rng(set_)) for set_ in range(3)])
    descent = descent_settings(learning_rate=2.0)
    together = descend(link, [Block(sequences, outputs, order)], starts[:, None], teachers, descent)
    for index in range(3):
        one = slice(index, index + 1)
        cut = [Block(sequences[one], outputs[one], order[one, first : first + 4]) for first in (0, 4, 8)]
        alone = descend(link, cut, starts[one][:, None], teachers[one], descent)
        np.testing.assert_array_equal(alone.weights[0], together.weights[index])
        assert alone.batches.tolist() == [0, 4, 8, 12]
        np.testing.assert_array_equal(alone.cosine[0, 0, -1], together.cosine[index, 0, -1])
        np.testing.assert_allclose(alone.loss[0, 0, 1:].mean(), together.loss[index, 0, 1], rtol=1e-5)


def test_the_recorded_loss_is_the_mean_over_sequences():
    link = DeepAttention(skip=1.0)
    sequences, outputs, teachers, starts = problem(link, 30, 20)
    # A rate so small that the weights stay where they are.
    found = descend(
        link, [Block(sequences, outputs, drawn_batches(20, 5, 4, np.random.default_rng(0))[None])], starts[:, None], teachers,
        descent_settings(learning_rate=1e-9),
    )  # fmt: skip
    errors = np.sum((link.forward(local_fields(sequences[0], starts[0])) - outputs[0]) ** 2, axis=(1, 2))
    assert np.isnan(found.loss[0, 0, 0])
    np.testing.assert_allclose(found.loss[0, 0, 1], errors.mean(), rtol=1e-5)


def test_diverged_weights_are_kept_as_nan():
    link = DeepAttention(skip=1.0, activation="linear")
    sequences, outputs, teachers, starts = problem(link, 30, 20)
    order = drawn_batches(20, 5, 40, np.random.default_rng(0))[None]
    found = descend(
        link, [Block(sequences, outputs, order)], starts[:, None], teachers, descent_settings(learning_rate=1e4)
    )
    assert np.isfinite(found.cosine[0, 0, 0]).all()
    assert np.isnan(found.cosine[0, 0, -1]).all()


@given(st.integers(1, 40), st.data())
def test_a_pass_uses_no_sequence_twice(samples, data):
    batch, batches = data.draw(st.integers(1, samples)), data.draw(st.integers(1, 20))
    drawn = drawn_batches(samples, batch, batches, np.random.default_rng(0))
    assert drawn.shape == (batches, batch)
    whole = samples // batch
    for first in range(0, batches, whole):
        used = drawn[first : first + whole].ravel()
        assert len(set(used.tolist())) == len(used)
        assert set(used.tolist()) <= set(range(samples))


def test_wrong_sizes_are_refused():
    for batch in (0, 11):
        with pytest.raises(ValueError, match="from 1 to the number of samples 10"):
            drawn_batches(10, batch, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="at least one"):
        draw(2, 2, 0, 1, np.random.default_rng(0))
