"""Gradients by hand beside JAX, which differentiates the same loss: the evidence for the table of derivatives in CONTRIBUTING.

Both programs are in single precision and run in turn; JAX takes the threads that it wants. Each row holds the largest difference
of both gradients, in units of the largest component.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from attention_indexed import descent_problem
from attention_limits.attention_indexed.training.gradient_descent import TrainingLoss
from attention_limits.potts_mlm.attention.factored import objective
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.questions import classifier
from attention_limits.sequence_multi_index.questions.tokens import PADDING
from attention_limits.sequence_multi_index.training.gradient_descent import Block, descend
from descent_rows import BATCH, DESCENT, SETS
from descent_rows import descent_problem as layers_problem
from table import Row, Spread, clocked

# Sizes of Rende et al. 2024 and of the question classifier: 5500 questions of about ten words.
SITES, SEQUENCES = 20, 3000
QUESTIONS, WORDS, CLASSES, STEP = 5500, 3000, 6, 16
CLASSIFIER = classifier.Architecture(2, 64, 64, 1.0, 0.1, 1.0)


class ByJax(DeepAttention):
    """The same layers as a user's link, which has no kernel."""

    student = None


def _row(what, ours, peer, units, repeats, difference, note=""):
    """Seconds per unit of two programs that run in turn, after one run of each."""
    ours()
    peer()
    times = np.array([[clocked(peer)[0], clocked(ours)[0]] for _ in range(repeats)]) / units
    return Row.in_turn(what, times, our_errors={"gradient": Spread.of([difference])}, note=f"{note}baseline: JAX")


def _difference(ours, peer):
    return float(np.max(np.abs(np.asarray(ours) - np.asarray(peer))) / np.max(np.abs(peer)))


def factored_row(repeats):
    """Loss and gradient of raw factored attention, per sequence."""
    rng = np.random.default_rng(1)
    sequences = rng.integers(0, SITES, (SEQUENCES, SITES)).astype(np.int8)
    flat = 0.1 * rng.standard_normal(2 * SITES**2)
    flat[: SITES**2 : SITES + 1] = 0.0
    tokens = jnp.asarray(sequences, jnp.int32)

    @jax.jit
    @jax.value_and_grad
    def loss(parameters):
        matrix, transposed = parameters.reshape(2, SITES, SITES)
        logits = jnp.einsum("ij,mjc->mic", matrix * (1 - jnp.eye(SITES)), transposed[tokens])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[..., None], 2))

    def ours():
        return objective(flat, sequences, SITES, "raw", 0.0, single=True)

    def peer():
        return jax.block_until_ready(loss(jnp.asarray(flat, jnp.float32)))

    what = f"gradient of factored attention, per sequence, C = L = {SITES}, beside JAX"
    return _row(what, ours, peer, SEQUENCES, repeats, _difference(ours()[1], peer()[1]))


def width_row(repeats, dimension=100, alpha=0.4, starts=8):
    """Loss and gradient of attention of extensive width, per start."""
    X, y, first = descent_problem(dimension, alpha, starts)
    tokens, outputs = jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32)
    weights = np.ascontiguousarray(first.transpose(1, 0, 2), np.float32)
    rank, own = weights.shape[2], TrainingLoss(X, y, 1.0)

    @jax.jit
    @jax.value_and_grad
    def loss(weights):
        fields = (tokens.reshape(-1, dimension) @ weights.reshape(dimension, -1)).reshape(
            *tokens.shape[:2], starts, rank
        )
        trace = jnp.einsum("ikc,ikc->k", weights, weights)[:, None, None] * jnp.eye(tokens.shape[1])
        scores = (jnp.einsum("nakc,nbkc->nkab", fields, fields) - trace) / (np.sqrt(rank) * dimension)
        return jnp.sum((jax.nn.softmax(scores) - outputs[:, None]) ** 2) / dimension

    def ours():
        return own(weights)

    def peer():
        return jax.block_until_ready(loss(jnp.asarray(weights)))

    what = f"gradient of extensive width, d = {dimension}, n = {len(X)}, per start, beside JAX"
    return _row(what, ours, peer, starts, repeats, _difference(ours()[1], peer()[1]), f"{starts} starts; ")


def layers_row(repeats, batches=40):
    """Gradient step of softmax layers that read two tokens, per data set, by the kernel and as any user's link."""
    link, block, start, teachers = layers_problem(batches)
    plain = ByJax(skip=link.skip)

    def moved(link, block):
        return descend(link, [block], start, teachers, DESCENT).weights - start

    one = Block(block.sequences, block.outputs, block.order[:, :1])
    difference = _difference(moved(link, one), moved(plain, one))
    what = f"gradient step of two softmax layers, batch of {BATCH} sequences, per data set, beside JAX"
    units = batches * DESCENT.reuse * SETS
    return _row(what, lambda: moved(link, block), lambda: moved(plain, block), units, repeats, difference)


def classifier_row(repeats):
    """Step of AdamW of the question classifier; optax, with padded questions, in the baseline."""
    rng = np.random.default_rng(2)
    longest = 2 * rng.poisson(5, QUESTIONS).max()
    tokens = rng.integers(PADDING + 1, WORDS, (QUESTIONS, longest))
    tokens[np.arange(longest) >= np.maximum(1, rng.poisson(10, QUESTIONS))[:, None]] = PADDING
    labels, forward = rng.integers(0, CLASSES, QUESTIONS), classifier.Forward(CLASSIFIER.skip)
    start = classifier.initial_parameters(CLASSIFIER, WORDS, CLASSES, rng)
    order = classifier.batches(QUESTIONS, STEP, 1, 1, rng)
    few = tokens[:STEP], labels[:STEP]
    method, padded = optax.adamw(1e-3, weight_decay=0.01), jnp.asarray(tokens)

    def loss(parameters, tokens, labels):
        present = (tokens != PADDING)[:, None, :]
        x = parameters.embedding[tokens]
        for matrix in parameters.attention:
            keys = x @ matrix
            scores = jnp.where(present, keys @ keys.swapaxes(1, 2) / np.sqrt(CLASSIFIER.hidden), -jnp.inf)
            x = CLASSIFIER.skip * x + jax.nn.softmax(scores) @ x
        pooled = jnp.sum(x * present.swapaxes(1, 2), axis=1) / present.sum(axis=2)
        scores = jax.nn.log_softmax(pooled @ parameters.readout + parameters.bias)
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], 1))

    @jax.jit
    def epoch(parameters, state, order):
        def step(carried, numbers):
            parameters, state = carried
            slope = jax.grad(loss)(parameters, padded[numbers], jnp.asarray(labels)[numbers])
            update, state = method.update(slope, state, parameters)
            return (optax.apply_updates(parameters, update), state), 0.0

        return jax.lax.scan(step, (parameters, state), order)[0]

    def ours():
        classifier.train(start, (tokens, labels), few, order, 1e-3, 0.01, forward)

    def peer():
        parameters = jax.tree.map(jnp.asarray, start)
        jax.block_until_ready(epoch(parameters, method.init(parameters), jnp.asarray(order[0])))

    slopes = classifier.loss_and_gradient(start, *few, forward)[1], jax.grad(loss)(start, jnp.asarray(few[0]), few[1])
    difference = _difference(*(np.concatenate([part.ravel() for part in slope]) for slope in slopes))
    note = f"batch of {STEP}, {WORDS} words, two layers of 64; ours also answers all questions twice per epoch; "
    return _row(
        "step of the question classifier, beside JAX", ours, peer, order.size // STEP, repeats, difference, note
    )
