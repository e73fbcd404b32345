"""Transformer encoders trained by masked-token prediction, as in Rende et al. 2024 (arXiv:2304.07235).

Post-layer-norm encoder with a single head: x <- LN(x + attention(x)), x <- LN(x + feedforward(x)), sinusoidal positions, a row
of the embedding for the mask, a linear head. Each step masks one site per sequence; the loss is the cross-entropy of its colour
in nats. The paper does not give the width of the feed-forward block, the initialisation, and the way of masking.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax

OPTIMIZERS = ("sgd", "adam")
# Sequences per call when all sites are masked in turn.
TEST_BATCH = 2000


@dataclass(frozen=True)
class Shape:
    """Sizes of an encoder.

    Attributes
    ----------
    sites, colors : int
        Length L of the sequences and number C of colours.
    layers : int
    width : int
        Dimension of the embedding, and of the single head.
    hidden : int
        Hidden units of the feed-forward block.
    """

    sites: int
    colors: int
    layers: int
    width: int = 20
    hidden: int = 40


@dataclass(frozen=True)
class Schedule:
    """How to train.

    Attributes
    ----------
    optimizer : "sgd" (no momentum, as in the paper) or "adam"
    learning_rate : float
        At the first step; a cosine anneals it to 0.
    batch : int
        Sequences per step; all sequences when there are fewer. An epoch leaves out an incomplete last batch.
    epochs : int
        Passes through the sequences.
    evaluations : int
        Number of evaluations, the last after the last epoch; at most `epochs`.

    Raises
    ------
    ValueError
        For another optimizer.
    """

    optimizer: str
    learning_rate: float
    batch: int
    epochs: int
    evaluations: int

    def __post_init__(self):
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer {self.optimizer!r}: allowed: {', '.join(OPTIMIZERS)}")


@dataclass(frozen=True)
class Training:
    """The outcome of a training.

    Attributes
    ----------
    epochs : array (n,)
        Numbers of epochs done at the evaluations.
    training_loss, test_loss : arrays (n,)
        Mean over the steps of the epoch; mean over all sites of the test sequences. NaN after a divergence.
    attention : array (layers, L, L)
        Mean over test sequences: row i is the attention of the masked site i.
    gradient_norm : float
        Largest component of the gradient of the training loss at the end, over all sequences and sites; NaN after a divergence.
    """

    epochs: np.ndarray
    training_loss: np.ndarray
    test_loss: np.ndarray
    attention: np.ndarray
    gradient_norm: float


def initial(shape: Shape, key) -> dict:
    """Random initial parameters of an encoder of a `shape`, from the JAX random `key`: nested dict of arrays.

    Xavier-uniform matrices, zero biases, unit layer norms, standard normal embedding (C + 1, width) over sqrt(width).
    """
    width, hidden = shape.width, shape.hidden
    keys = iter(jax.random.split(key, 2 + 6 * shape.layers))

    def dense(rows, columns):
        matrix = jax.nn.initializers.xavier_uniform()(next(keys), (rows, columns))
        return {"matrix": matrix, "bias": jnp.zeros(columns)}

    def norm():
        return {"scale": jnp.ones(width), "shift": jnp.zeros(width)}

    embedding = jax.random.normal(next(keys), (shape.colors + 1, width)) / np.sqrt(width)
    layers = [
        {
            **{name: dense(width, width) for name in ("query", "key", "value", "out")},
            "up": dense(width, hidden), "down": dense(hidden, width), "norm_1": norm(), "norm_2": norm(),
        }
        for _ in range(shape.layers)
    ]  # fmt: skip
    return {"embedding": embedding, "layers": layers, "head": dense(width, shape.colors)}


def positions(sites: int, width: int) -> np.ndarray:
    """Sinusoidal positions (sites, width): sin and cos of i / 10000^(2 k / width), side by side."""
    angle = np.arange(sites)[:, None] / 10000.0 ** (2.0 * np.arange((width + 1) // 2) / width)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(sites, -1)[:, :width]


def _dense(part, x):
    return x @ part["matrix"] + part["bias"]


def _norm(part, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return part["scale"] * centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) + part["shift"]


def predict(parameters, sequences, masked):
    """Logits (n, C) of the masked sites of sequences (n, L), and their attention (layers, n, L).

    The mask replaces the colour at the masked site masked[n], which therefore does not enter. `parameters` as from `initial`;
    the sequences are integer arrays of JAX.
    """
    rows = jnp.arange(len(sequences))
    embedding = parameters["embedding"]
    tokens = sequences.at[rows, masked].set(len(embedding) - 1)
    width = embedding.shape[1]
    x = embedding[tokens] + jnp.asarray(positions(sequences.shape[1], width), embedding.dtype)
    looks = []
    for depth, layer in enumerate(parameters["layers"], start=1):
        # The head reads only the masked sites of the last layer.
        last = depth == len(parameters["layers"])
        asking = x[rows, masked][:, None] if last else x
        scores = _dense(layer["query"], asking) @ _dense(layer["key"], x).swapaxes(1, 2) / np.sqrt(width)
        attention = jax.nn.softmax(scores, axis=-1)
        looks.append(attention[:, 0] if last else attention[rows, masked])
        x = _norm(layer["norm_1"], asking + _dense(layer["out"], attention @ _dense(layer["value"], x)))
        x = _norm(layer["norm_2"], x + _dense(layer["down"], jax.nn.relu(_dense(layer["up"], x))))
    return _dense(parameters["head"], x[:, 0]), jnp.stack(looks)


def masked_loss(parameters, sequences, masked):
    """Mean cross-entropy of the colours at the masked sites, in nats; `parameters`, `sequences` and `masked` as in `predict`."""
    logits, _ = predict(parameters, sequences, masked)
    targets = sequences[jnp.arange(len(sequences)), masked]
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


@jax.jit
def _evaluate(parameters, sequences):
    """Loss at each site (n, L), and the mean attention (layers, L, L)."""

    def at(site):
        masked = jnp.full(len(sequences), site)
        logits, looks = predict(parameters, sequences, masked)
        return optax.softmax_cross_entropy_with_integer_labels(logits, sequences[:, site]), looks.mean(axis=1)

    losses, looks = jax.lax.map(at, jnp.arange(sequences.shape[1]))
    return losses.T, looks.swapaxes(0, 1)


def evaluate(parameters, sequences) -> tuple[np.ndarray, np.ndarray]:
    """The loss at every site (n, L) in nats, each masked in turn, and the mean attention of masked sites (layers, L, L).

    `parameters` as from `initial`, `sequences` an integer array (n, L) of JAX.
    """
    parts = [_evaluate(parameters, sequences[k : k + TEST_BATCH]) for k in range(0, len(sequences), TEST_BATCH)]
    sizes = [len(losses) for losses, _ in parts]
    looks = np.average([np.asarray(look) for _, look in parts], axis=0, weights=sizes)
    return np.concatenate([np.asarray(losses) for losses, _ in parts]), looks


@jax.jit
def _batch_gradient(parameters, sequences):
    """Sum over sequences (n, L) and sites of the gradient of the loss."""

    def at(total, site):
        gradient = jax.grad(masked_loss)(parameters, sequences, jnp.full(len(sequences), site))
        return jax.tree.map(lambda sum_, part: sum_ + len(sequences) * part, total, gradient), None

    return jax.lax.scan(at, jax.tree.map(jnp.zeros_like, parameters), jnp.arange(sequences.shape[1]))[0]


def gradient(parameters, sequences) -> dict:
    """Gradient of the mean loss per site over `sequences` (n, L), an integer array, with every site masked in turn.

    `parameters` as from `initial`, and so is the result.
    """
    tokens = jnp.asarray(sequences, jnp.int32)
    parts = [_batch_gradient(parameters, tokens[k : k + TEST_BATCH]) for k in range(0, len(tokens), TEST_BATCH)]
    return jax.tree.map(lambda *values: sum(values) / tokens.size, *parts)


# The learning rate is an argument of the step, so that one compilation serves all schedules and sample sizes.
_METHODS = {"sgd": optax.sgd(1.0), "adam": optax.adam(1.0)}


@functools.partial(jax.jit, static_argnames="optimizer", donate_argnums=(0, 1))
def _step(parameters, state, batch, masked, learning_rate, optimizer):
    loss, gradient = jax.value_and_grad(masked_loss)(parameters, batch, masked)
    updates, state = _METHODS[optimizer].update(gradient, state)
    return jax.tree.map(lambda value, update: value + learning_rate * update, parameters, updates), state, loss


def evaluated_epochs(epochs: int, evaluations: int) -> np.ndarray:
    """The `evaluations` <= `epochs` numbers of epochs after which training is evaluated, evenly spaced: array (n,)."""
    return np.unique(np.linspace(epochs / evaluations, epochs, evaluations).round().astype(int))


def train(shape: Shape, sequences, test, rng: np.random.Generator, schedule: Schedule) -> Training:
    """Train an encoder on sequences and evaluate it at evenly spaced epochs.

    Parameters
    ----------
    shape : Shape
    sequences : integer array (M, L)
    test : integer array (n, L)
        Sequences of the test loss, which masks every site in turn.
    rng : numpy.random.Generator
        Draws the initial weights, the order of the sequences and the masked sites.
    schedule : Schedule
    """
    sequences, test = np.asarray(sequences, np.int32), jnp.asarray(test, jnp.int32)
    optimizer, epochs = schedule.optimizer, schedule.epochs
    batch = min(schedule.batch, len(sequences))
    steps = len(sequences) // batch
    parameters = initial(shape, jax.random.key(int(rng.integers(2**31))))
    state = _METHODS[optimizer].init(parameters)
    wanted = evaluated_epochs(epochs, schedule.evaluations)
    training, tested = [], []
    for epoch in range(epochs):
        order = rng.permutation(len(sequences))[: steps * batch].reshape(steps, batch)
        masked = rng.integers(0, shape.sites, (steps, batch), dtype=np.int32)
        losses = []
        for step in range(steps):
            annealed = 0.5 * schedule.learning_rate * (1.0 + np.cos(np.pi * (epoch * steps + step) / (epochs * steps)))
            parameters, state, loss = _step(
                parameters, state, sequences[order[step]], masked[step], annealed, optimizer
            )
            losses.append(loss)
        if epoch + 1 in wanted:
            tested_losses, looks = evaluate(parameters, test)
            training.append(float(np.mean(losses)))
            tested.append(float(tested_losses.mean()))
    slopes = jax.tree.leaves(gradient(parameters, sequences))
    norm = max(float(jnp.abs(slope).max()) for slope in slopes)
    return Training(wanted, np.array(training), np.array(tested), looks, norm)
