"""A question classifier of tied attention layers, and its training: the text experiment of Troiani et al. 2025.

The source is arXiv:2502.00901, Figure 3, right.

Tokens x_0 are rows of a trainable embedding, without positions. With the keys k = x W_l (queries and keys are tied, values are
the tokens themselves), layer l writes

    x_l = c x_{l-1} + softmax_rows(k k^T / sqrt(hidden)) x_{l-1},

the deep attention of the rest of this family with beta = 1/sqrt(hidden). The mean of x_L over the tokens is read out linearly to
the classes. Padding is neither attended to nor pooled, unless the architecture sets it; keys may carry a bias, k = x W_l + b_l.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from attention_limits.sequence_multi_index.trec.tokens import PADDING

_EVALUATED_TOGETHER = 512  # questions
_LENGTH_GROUPS = 3


class Parameters(NamedTuple):
    """Weights, float32.

    Attributes
    ----------
    embedding : array (size, embedding)
    attention : array (layers, embedding, hidden)
    readout : array (embedding, classes)
    bias : array (classes,)
    key_bias : array (layers, hidden)
        b_l; without entries, (layers, 0), where the keys carry none.
    """

    embedding: jax.Array
    attention: jax.Array
    readout: jax.Array
    bias: jax.Array
    key_bias: jax.Array


@dataclass(frozen=True)
class Architecture:
    """Sizes and initial scales.

    Attributes
    ----------
    depth, embedding, hidden : int
        Number of attention layers, dimension of a token and number of columns of W_l.
    skip : float
        Strength c >= 0 of the residual connection.
    initial_std : float
        Standard deviation of the entries of W_l at the start.
    embedding_std : float
        The same of the embedding.
    key_bias : bool
        Whether keys carry a bias, zero at the start.
    """

    depth: int
    embedding: int
    hidden: int
    skip: float
    initial_std: float
    embedding_std: float
    key_bias: bool = False


class Forward(NamedTuple):
    """Fixed numbers of the forward pass.

    Attributes
    ----------
    skip : float
        c.
    padding : bool
        Whether padding counts as a token, which is attended to and pooled.
    """

    skip: float
    padding: bool = False


def initial_parameters(architecture, vocabulary, classes, rng):
    """Gaussian embedding and attention; readout uniform within 1/sqrt(embedding), bias zero.

    Parameters
    ----------
    architecture : Architecture
    vocabulary, classes : int
        Numbers of tokens and of classes.
    rng : numpy Generator
    """
    shape = architecture.embedding, architecture.hidden
    embedding = architecture.embedding_std * rng.standard_normal((vocabulary, architecture.embedding))
    attention = architecture.initial_std * rng.standard_normal((architecture.depth, *shape))
    bound = architecture.embedding**-0.5
    readout = rng.uniform(-bound, bound, (architecture.embedding, classes))
    key_bias = np.zeros((architecture.depth, architecture.hidden if architecture.key_bias else 0))
    arrays = embedding, attention, readout, np.zeros(classes), key_bias
    return Parameters(*(jnp.asarray(array, jnp.float32) for array in arrays))


def logits(parameters, tokens, forward):
    """Scores of the classes, array (n, classes), for token numbers (n, length) that end in PADDING.

    `parameters` are `Parameters`, `tokens` the token numbers, `forward` is a `Forward`.
    """
    present = (tokens != PADDING) | forward.padding
    x = parameters.embedding[tokens]
    for weights, bias in zip(parameters.attention, parameters.key_bias, strict=True):
        keys = x @ weights + bias if bias.size else x @ weights
        scores = keys @ jnp.swapaxes(keys, -1, -2) / weights.shape[1] ** 0.5
        # The lowest finite number instead of -inf: a row of padding alone must not turn into NaN.
        scores = jnp.where(present[:, None, :], scores, jnp.finfo(scores.dtype).min)
        x = forward.skip * x + jax.nn.softmax(scores) @ x
    weight = present / jnp.maximum(present.sum(axis=1, keepdims=True), 1)
    return jnp.einsum("nt,nte->ne", weight, x) @ parameters.readout + parameters.bias


def loss(parameters, tokens, labels, forward):
    """Mean cross entropy, in nats, of the labels (n,); `parameters`, `tokens` and `forward` as in `logits`."""
    return optax.softmax_cross_entropy_with_integer_labels(logits(parameters, tokens, forward), labels).mean()


def batches(count, batch, epochs, records, rng):
    """Sample numbers (epochs * records, steps, batch): each epoch a new order of all samples, cut into `records` equal parts.

    `count` is the number of samples, `batch` that of a step; `rng` is a numpy Generator. Samples that do not fill a batch in
    every part, fewer than `records * batch` of them, are left out of that epoch. Raises ValueError when there are fewer samples
    than that.
    """
    steps = count // (batch * records)
    if not steps:
        raise ValueError(f"{records} records per epoch of batches of {batch} need as many samples, got {count}")
    orders = [rng.permutation(count)[: records * steps * batch] for _ in range(epochs)]
    return np.stack(orders).reshape(epochs * records, steps, batch)


class Trajectory(NamedTuple):
    """Records from the start (entry 0) to the end of the training: arrays with `times` entries along the first axis.

    Attributes
    ----------
    attention : array (times, layers, embedding, hidden)
    training_accuracy, test_accuracy : arrays (times,)
        Share of right answers on the training and on the test questions.
    training_loss : array (times,)
        Cross entropy on the training questions in nats.
    """

    attention: jax.Array
    training_accuracy: jax.Array
    test_accuracy: jax.Array
    training_loss: jax.Array


def train(parameters, train_set, test_set, order, learning_rate, weight_decay, forward):
    """Minimise the cross entropy by AdamW (Loshchilov and Hutter 2019; decay of all weights by learning rate times weight decay).

    Parameters
    ----------
    parameters : Parameters
        At the start.
    train_set, test_set : pairs of arrays, tokens (n, length) and labels (n,)
    order : array of int (times - 1, steps, batch)
        The samples of each step between two records; see `batches`.
    learning_rate, weight_decay : float
    forward : Forward

    Returns
    -------
    Trajectory
    """
    # The test questions are few: grouping them would cost more compilation than it saves.
    evaluated = _by_length(*train_set, forward.padding), (test_set,)
    return _train(parameters, train_set, evaluated, order, learning_rate, weight_decay, forward)


def _by_length(tokens, labels, padding):
    """The samples in groups (tokens, labels) of similar length without common padding: a record costs half as much.

    Groups of equal size have the same shapes for nearly every split of the questions, so JAX compiles them once. Where `padding`
    counts as a token, all samples are one group.
    """
    if padding:
        return ((tokens, labels),)
    lengths = np.sum(np.asarray(tokens) != PADDING, axis=1)
    groups = [group for group in np.array_split(np.argsort(lengths, kind="stable"), _LENGTH_GROUPS) if group.size]
    return tuple((tokens[group, : max(lengths[group].max(), 1)], labels[group]) for group in groups)


@jax.jit
def _train(parameters, train_set, evaluated, order, learning_rate, weight_decay, forward):
    """`train` with the groups that a record evaluates, of the training and of the test questions."""
    optimiser = optax.adamw(learning_rate, weight_decay=weight_decay)

    def step(state, chosen):
        parameters, moments = state
        tokens, labels = (array[chosen] for array in train_set)
        gradient = jax.grad(loss)(parameters, tokens, labels, forward)
        update, moments = optimiser.update(gradient, moments, parameters)
        return (optax.apply_updates(parameters, update), moments), None

    def record(parameters):
        trained, tested = (_evaluate(parameters, groups, forward) for groups in evaluated)
        return Trajectory(parameters.attention, trained[0], tested[0], trained[1])

    def part(state, chosen):
        now = record(state[0])
        state, _ = jax.lax.scan(step, state, chosen)
        return state, now

    # The steps after the last record have no effect: a second copy of the record would double the compilation.
    parts = jnp.concatenate([order, order[-1:]])
    return jax.lax.scan(part, (parameters, optimiser.init(parameters)), parts)[1]


def _evaluate(parameters, groups, forward):
    """Share of right answers and mean cross entropy; both are missing once a score is no finite number.

    `groups` are pairs of tokens (n, length) and labels (n,).
    """

    def one(sample):
        row, label = sample
        scores = logits(parameters, row[None], forward)[0]
        right = jnp.where(jnp.isfinite(scores).all(), scores.argmax() == label, jnp.nan)
        return right, optax.softmax_cross_entropy_with_integer_labels(scores, label)

    results = [jax.lax.map(one, samples, batch_size=_EVALUATED_TOGETHER) for samples in groups]
    return tuple(jnp.concatenate(values).mean() for values in zip(*results, strict=True))


def similarity_with_last(weights):
    """Cosine of W_l(t) with W_l(last), of W_l(t) W_l(t)^T with that of the end, and the same of W_l(t)^T W_l(t).

    Without a bias the network depends on W_l through W_l W_l^T alone (a rotation of the columns of W_l changes nothing), so only
    the second is a property of the function. The third is the similarity in the published code of Troiani et al. 2025. All are
    in [-1, 1], the last two in [0, 1].

    Parameters
    ----------
    weights : array (times, layers, embedding, hidden)

    Returns
    -------
    of_weights, of_products, of_grams : arrays (times, layers)
    """
    weights = np.asarray(weights, dtype=float)
    last = weights[-1:]

    def cosine(inner):
        return inner(weights, last) / np.sqrt(inner(weights, weights) * inner(last, last))

    return cosine(_inner), cosine(_inner_of_products), cosine(_inner_of_grams)


def _inner(a, b):
    return np.sum(a * b, axis=(-1, -2))


def _inner_of_products(a, b):
    """tr a a^T b b^T = |a^T b|_F^2, without a matrix of embedding x embedding for each time."""
    return np.sum((np.swapaxes(a, -1, -2) @ b) ** 2, axis=(-1, -2))


def _inner_of_grams(a, b):
    """tr a^T a b^T b = |a b^T|_F^2."""
    return _inner(np.swapaxes(a, -1, -2) @ a, np.swapaxes(b, -1, -2) @ b)


def half_time(times, similarity):
    """When a similarity first has gone half of its way from the start to 1, linear between the times.

    Parameters
    ----------
    times : array (times,)
    similarity : array (times, layers)
        1 at the last time.

    Returns
    -------
    array (layers,)
        NaN where similarities are missing (a diverged training), or 1 from the start.
    """
    similarity = np.asarray(similarity, dtype=float)
    level = 0.5 * (1.0 + similarity[0])
    found = np.full(similarity.shape[1], np.nan)
    for layer, (curve, half) in enumerate(zip(similarity.T, level, strict=True)):
        if np.isfinite(curve).all() and curve[0] < half:
            after = int(np.argmax(curve >= half))
            between = slice(after - 1, after + 1)
            found[layer] = np.interp(half, curve[between], times[between])
    return found
