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

import numpy as np

from attention_limits.numerics.probability.power_laws import first_reached
from attention_limits.sequence_multi_index.questions import classifier_kernels, gradient_kernels, training_kernels
from attention_limits.sequence_multi_index.questions.classifier_kernels import Parameters
from attention_limits.sequence_multi_index.questions.tokens import PADDING


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
    return Parameters(*(array.astype(np.float32) for array in arrays))


class Questions(NamedTuple):
    """Questions as the kernels take them, one after the other without padding.

    Attributes
    ----------
    tokens : int64 array (N,)
        Numbers of all tokens.
    offsets : int64 array (n + 1,)
        Question q has the tokens from offsets[q] to offsets[q + 1] - 1.
    labels : int64 array (n,)
    longest : int
        Largest number of tokens of a question.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    longest: int


def packed(tokens, labels, forward) -> Questions:
    """Pack token numbers (n, length), whose rows end in PADDING, with labels (n,); padding stays where `forward` counts it."""
    tokens, labels = np.asarray(tokens, dtype=np.int64), np.asarray(labels, dtype=np.int64)
    present = (tokens != PADDING) | forward.padding
    lengths = present.sum(axis=1)
    return Questions(tokens[present], np.concatenate([[0], np.cumsum(lengths)]), labels, int(lengths.max()))


def logits(parameters, tokens, forward):
    """Scores of the classes, float32 array (n, classes), for token numbers (n, length) that end in PADDING.

    `parameters` are `Parameters`, `forward` is a `Forward`.
    """
    tokens, offsets, *_ = questions = packed(tokens, np.zeros(len(tokens)), forward)
    kept = classifier_kernels.space(parameters, *_sizes(questions))
    classifier_kernels.forward(parameters, np.float32(forward.skip), tokens, offsets, kept)
    return kept.logits


def loss_and_gradient(parameters, tokens, labels, forward):
    """Mean cross entropy, in nats, of the `labels` (n,), and its gradient, `Parameters`.

    `parameters`, `tokens` and `forward` as in `logits`.
    """
    questions, gradient = packed(tokens, labels, forward), Parameters(*map(np.zeros_like, parameters))
    kept, slopes = (
        make(parameters, *_sizes(questions)) for make in (classifier_kernels.space, gradient_kernels.scratch)
    )
    loss = gradient_kernels.mean_loss(parameters, np.float32(forward.skip), *questions[:3], kept, slopes, gradient)
    return loss, gradient


def _sizes(questions):
    """Number of questions, number of tokens, and length of the longest question."""
    return len(questions.labels), len(questions.tokens), questions.longest


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

    attention: np.ndarray
    training_accuracy: np.ndarray
    test_accuracy: np.ndarray
    training_loss: np.ndarray


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
    questions, tested = (packed(*part, forward) for part in (train_set, test_set))
    numbers = np.zeros((4, sum(array.size for array in parameters)), dtype=np.float32)
    numbers[0] = np.concatenate([array.ravel() for array in parameters])
    theta, gradient = (_views(row, parameters) for row in numbers[:2])
    skip, rate, decay = np.float32(forward.skip), np.float32(learning_rate), np.float32(weight_decay)
    attention, found, steps = [], [], order.shape[1]
    for number in range(len(order) + 1):
        right, loss = training_kernels.answers(theta, skip, *questions)
        attention.append(theta.attention.copy())
        found.append((right, training_kernels.answers(theta, skip, *tested)[0], loss))
        if number < len(order):
            part = np.asarray(order[number], dtype=np.int64)
            training_kernels.descend(theta, gradient, numbers, skip, *questions, part, number * steps, rate, decay)
    return Trajectory(np.stack(attention), *np.array(found).T)


def _views(flat, like) -> Parameters:
    """The arrays of `like` with the numbers of `flat`, without a copy."""
    ends = np.cumsum([array.size for array in like])
    return Parameters(
        *(flat[end - array.size : end].reshape(array.shape) for array, end in zip(like, ends, strict=True))
    )


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
            found[layer] = first_reached(times, curve, half)
    return found
