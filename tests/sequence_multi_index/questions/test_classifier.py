"""The classifier against the equations written out in float64, and the symmetries it must have."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from attention_limits.sequence_multi_index.questions import classifier, training_kernels
from attention_limits.sequence_multi_index.questions.tokens import PADDING

pytestmark = pytest.mark.slow

SKIP = 0.7
FORWARD = classifier.Forward(SKIP)
ARCHITECTURE = classifier.Architecture(depth=2, embedding=6, hidden=4, skip=SKIP, initial_std=0.5, embedding_std=1.0)
TOKENS = np.array([[2, 5, 3, 5], [4, 2, PADDING, PADDING], [7, 6, 1, PADDING]], np.int32)
LABELS = np.array([0, 2, 1], np.int32)
logits = classifier.logits


@pytest.fixture(scope="module")
def parameters():
    return classifier.initial_parameters(ARCHITECTURE, 9, 3, np.random.default_rng(1))


def reference_logits(parameters, tokens, padding=False):
    """Sentence by sentence, without padding unless it counts, in float64."""
    embedding, attention, readout, bias, key_bias = (np.asarray(array, float) for array in parameters)
    rows = []
    for row in tokens:
        x = embedding[row if padding else row[row != PADDING]]
        for weights, shift in zip(attention, key_bias, strict=True):
            keys = x @ weights + (shift if shift.size else 0.0)
            scores = np.exp(keys @ keys.T / np.sqrt(ARCHITECTURE.hidden))
            x = SKIP * x + (scores / scores.sum(axis=1, keepdims=True)) @ x
        rows.append(x.mean(axis=0) @ readout + bias)
    return np.array(rows)


def reference_loss(parameters, tokens, labels):
    scores = reference_logits(parameters, tokens)
    return np.mean(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(labels)), labels])


def padded_loss(parameters, tokens, labels, skip, padding=False):
    """The mean cross entropy with all padding, in JAX."""
    embedding, attention, readout, bias, key_bias = parameters
    present = (tokens != PADDING) | padding
    x = embedding[tokens]
    for weights, shift in zip(attention, key_bias, strict=True):
        keys = x @ weights + (shift if shift.size else 0.0)
        scores = keys @ jnp.swapaxes(keys, 1, 2) / weights.shape[1] ** 0.5
        scores = jnp.where(present[:, None, :], scores, -1e30)
        x = skip * x + jax.nn.softmax(scores) @ x
    weight = present / present.sum(axis=1, keepdims=True)
    found = jnp.einsum("nt,nte->ne", weight, x) @ readout + bias
    return optax.softmax_cross_entropy_with_integer_labels(found, labels).mean()


def gradient_of_loss(*arguments):
    return classifier.loss_and_gradient(*arguments)[1]


def random_questions(count, length, size, rng):
    """Token numbers (count, length) below `size`, with padding behind at least one token, and labels of three classes."""
    tokens = rng.integers(2, size, (count, length)).astype(np.int32)
    tokens[np.arange(length) >= rng.integers(1, length + 1, count)[:, None]] = PADDING
    return tokens, rng.integers(0, 3, count).astype(np.int32)


def test_logits_and_loss_are_the_equations(parameters):
    """Float32 against float64: 1e-5 is a hundred units of rounding."""
    np.testing.assert_allclose(
        logits(parameters, TOKENS, FORWARD), reference_logits(parameters, TOKENS), rtol=1e-5, atol=1e-5
    )
    found, _ = classifier.loss_and_gradient(parameters, TOKENS, LABELS, FORWARD)
    np.testing.assert_allclose(found, reference_loss(parameters, TOKENS, LABELS), rtol=1e-5)


def test_padding_may_count_and_keys_may_have_a_bias(parameters):
    biased = parameters._replace(key_bias=np.random.default_rng(7).standard_normal((2, 4)).astype(np.float32))
    for padding in (False, True):
        found = logits(biased, TOKENS, classifier.Forward(SKIP, padding))
        np.testing.assert_allclose(found, reference_logits(biased, TOKENS, padding), rtol=1e-5, atol=1e-5)
    gradient = gradient_of_loss(biased, TOKENS, LABELS, classifier.Forward(SKIP, True))
    assert np.any(gradient.embedding[PADDING])
    assert np.all(np.any(gradient.key_bias, axis=1))
    start = classifier.initial_parameters(
        dataclasses.replace(ARCHITECTURE, key_bias=True), 9, 3, np.random.default_rng(1)
    )
    np.testing.assert_array_equal(start.key_bias, np.zeros((2, 4)))
    np.testing.assert_array_equal(start.embedding, parameters.embedding)


def test_padding_changes_nothing(parameters):
    wider = np.pad(TOKENS, ((0, 0), (0, 5)), constant_values=PADDING)
    before, after = (logits(parameters, tokens, FORWARD) for tokens in (TOKENS, wider))
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)
    loud = parameters._replace(embedding=parameters.embedding.copy())
    loud.embedding[PADDING] = 1e3
    np.testing.assert_allclose(logits(loud, wider, FORWARD), before, rtol=1e-5, atol=1e-6)


def test_padding_has_no_gradient(parameters):
    gradient = gradient_of_loss(parameters, TOKENS, LABELS, FORWARD)
    assert not np.any(gradient.embedding[PADDING])
    assert np.all(np.any(gradient.embedding[np.unique(TOKENS[TOKENS > PADDING])], axis=1))


def test_a_question_of_padding_alone_is_finite(parameters):
    empty = np.full((1, 4), PADDING, np.int32)
    np.testing.assert_array_equal(logits(parameters, empty, FORWARD)[0], parameters.bias)
    gradient = gradient_of_loss(parameters, empty, LABELS[:1], FORWARD)
    assert all(np.isfinite(part).all() for part in gradient)


def test_order_of_the_tokens_is_irrelevant(parameters):
    """There are no positions."""
    before, after = (logits(parameters, row, FORWARD) for row in (TOKENS[:1], TOKENS[:1, [3, 0, 2, 1]]))
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


def test_columns_of_the_weights_may_be_rotated(parameters):
    """The network depends on W through W W^T."""
    rotation = np.linalg.qr(np.random.default_rng(2).standard_normal((4, 4)))[0].astype(np.float32)
    turned = parameters._replace(attention=parameters.attention @ rotation)
    before, after = (logits(weights, TOKENS, FORWARD) for weights in (parameters, turned))
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)
    similarities = classifier.similarity_with_last(np.stack([turned.attention, parameters.attention]))
    of_weights, of_products, of_grams = similarities
    np.testing.assert_allclose(of_products[0], 1.0, rtol=1e-5)
    assert np.all(of_weights[0] < 0.9)
    # The measure of the published code is no property of the function.
    assert np.all(of_grams[0] < 0.99)


def test_gradient_is_the_finite_difference(parameters):
    """Central differences of the float64 reference along random directions, error O(step^2) = 1e-8."""
    gradient = gradient_of_loss(parameters, TOKENS, LABELS, FORWARD)
    rng = np.random.default_rng(4)
    for position in range(4):  # without a bias of the keys
        direction = rng.standard_normal(parameters[position].shape)
        moved = [
            parameters._replace(
                **{parameters._fields[position]: np.asarray(parameters[position], float) + sign * 1e-4 * direction}
            )
            for sign in (1, -1)
        ]
        ahead, behind = (reference_loss(weights, TOKENS, LABELS) for weights in moved)
        np.testing.assert_allclose(
            np.sum(gradient[position] * direction), (ahead - behind) / 2e-4, rtol=1e-3, atol=1e-5
        )


def test_first_step_is_that_of_adamw(parameters):
    """With bias correction the first step is -rate (g / (|g| + 1e-8) + decay W), for any size of g."""
    order = np.arange(3)[None, None]
    path = classifier.train(parameters, (TOKENS, LABELS), (TOKENS[:1], LABELS[:1]), order, 0.1, 0.3, FORWARD)
    gradient = np.asarray(gradient_of_loss(parameters, TOKENS, LABELS, FORWARD).attention, float)
    before = np.asarray(parameters.attention, float)
    expected = before - 0.1 * (gradient / (np.abs(gradient) + 1e-8) + 0.3 * before)
    # Gradients near zero are known to fewer digits, and only their sign enters.
    clear = np.abs(gradient) > 1e-5
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(path.attention[0], parameters.attention)
    np.testing.assert_allclose(np.asarray(path.attention[1])[clear], expected[clear], rtol=1e-3, atol=1e-5)


def test_records_are_those_of_the_weights(parameters):
    order = classifier.batches(3, 3, 2, 1, np.random.default_rng(0))
    path = classifier.train(parameters, (TOKENS, LABELS), (TOKENS[1:], LABELS[1:]), order, 1e-3, 0.0, FORWARD)
    scores = reference_logits(parameters, TOKENS)
    right = scores.argmax(axis=1) == LABELS
    np.testing.assert_allclose(path.training_accuracy[0], right.mean(), rtol=1e-6)
    np.testing.assert_allclose(path.test_accuracy[0], right[1:].mean(), rtol=1e-6)
    np.testing.assert_allclose(path.training_loss[0], reference_loss(parameters, TOKENS, LABELS), rtol=1e-5)
    assert path.attention.shape == (3, 2, 6, 4)
    assert path.training_loss[2] < path.training_loss[1] < path.training_loss[0]


@pytest.mark.parametrize("padding", [False, True])
def test_gradient_and_training_are_those_with_all_padding(padding):
    """Against automatic differentiation and AdamW of optax. A gradient of about 100 terms in single precision: 2e-5 of its
    largest component is allowed; of weights that move by 0.2 in 20 steps, 1e-4."""
    rng = np.random.default_rng(8)
    architecture = dataclasses.replace(ARCHITECTURE, depth=3, key_bias=True)
    start = classifier.initial_parameters(architecture, 30, 3, rng)
    start = start._replace(key_bias=rng.standard_normal((3, 4)).astype(np.float32))
    tokens, labels = random_questions(80, 11, 30, rng)
    slope = jax.jit(jax.grad(padded_loss), static_argnums=4)
    expected = slope(start, tokens, labels, SKIP, padding)
    _, found = classifier.loss_and_gradient(start, tokens, labels, classifier.Forward(SKIP, padding))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5 * np.abs(other).max())
    order = classifier.batches(80, 16, 4, 1, rng)
    path = classifier.train(
        start, (tokens, labels), (tokens, labels), order, 0.01, 0.1, classifier.Forward(SKIP, padding)
    )
    optimiser, weights = optax.adamw(0.01, weight_decay=0.1), start
    moments = optimiser.init(weights)
    for chosen in order.reshape(-1, 16):
        update, moments = optimiser.update(
            slope(weights, tokens[chosen], labels[chosen], SKIP, padding), moments, weights
        )
        weights = optax.apply_updates(weights, update)
    np.testing.assert_allclose(path.attention[-1], weights.attention, atol=1e-4)
    assert np.abs(path.attention[-1] - start.attention).max() > 0.1


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_answers_to_many_questions_are_those_to_each(depth):
    """The products of words, sent through the layers, against the tokens themselves; keys carry a bias."""
    rng = np.random.default_rng(9)
    architecture = dataclasses.replace(ARCHITECTURE, depth=depth, key_bias=True)
    parameters = classifier.initial_parameters(architecture, 9, 3, rng)
    parameters = parameters._replace(key_bias=rng.standard_normal((depth, 4)).astype(np.float32))
    tokens, labels = random_questions(500, 7, 9, rng)
    questions = classifier.packed(tokens, labels, FORWARD)
    right, loss = training_kernels.answers(parameters, np.float32(SKIP), *questions)
    assert right == np.mean(reference_logits(parameters, tokens).argmax(axis=1) == labels)
    np.testing.assert_allclose(loss, reference_loss(parameters, tokens, labels), rtol=1e-5)


def test_scores_that_are_no_finite_numbers_give_no_answer(parameters):
    """One weight of a layer is NaN, or keys are so large that scores overflow."""
    questions = classifier.packed(TOKENS, LABELS, FORWARD)
    for wrong in (np.nan, 1e20):
        broken = parameters._replace(attention=parameters.attention.copy())
        broken.attention[0, 0, 0] = wrong
        assert np.isnan(training_kernels.answers(broken, np.float32(SKIP), *questions)).all()


def test_similarity_of_products_is_that_of_the_matrices():
    weights = np.random.default_rng(5).standard_normal((3, 2, 5, 4))
    of_weights, of_products, of_grams = classifier.similarity_with_last(weights)
    for time in range(3):
        for layer in range(2):
            now, last = weights[time, layer], weights[-1, layer]
            measures = (
                (now, last, of_weights),
                (now @ now.T, last @ last.T, of_products),
                (now.T @ now, last.T @ last, of_grams),
            )
            for a, b, found in measures:
                expected = np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)
                np.testing.assert_allclose(found[time, layer], expected, rtol=1e-12)


def test_half_time_is_where_half_of_the_way_is_done():
    curve = np.array([[0.2, 0.5], [0.4, 0.9], [0.8, 0.7], [1.0, 1.0]])
    times = np.array([0.0, 2.0, 4.0, 6.0])
    np.testing.assert_allclose(classifier.half_time(times, curve), [3.0, 1.25])
    curve[1, 0] = np.nan
    np.testing.assert_allclose(classifier.half_time(times, curve), [np.nan, 1.25])
    assert np.isnan(classifier.half_time(times, np.ones((4, 1)))).all()


def test_batches_are_permutations():
    order = classifier.batches(23, 5, 40, 2, np.random.default_rng(6))
    assert order.shape == (80, 2, 5)
    for epoch in order.reshape(40, 20):
        assert len(set(epoch)) == 20
    assert set(order.ravel()) == set(range(23))
    with pytest.raises(ValueError, match="need as many samples, got 23"):
        classifier.batches(23, 12, 1, 2, np.random.default_rng(6))
