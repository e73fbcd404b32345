"""Transformer encoders trained by masked-token prediction, as in Rende et al. 2024 (arXiv:2304.07235).

Post-layer-norm encoder with a single head: x <- LN(x + attention(x)), x <- LN(x + feedforward(x)), sinusoidal positions, a row
of the embedding for the mask, a linear head. Each step masks one site per sequence; the loss is the cross-entropy of its colour
in nats. The paper does not give the width of the feed-forward block, the initialisation, and the way of masking.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.simd.aligned_arrays import aligned
from attention_limits.numerics.simd.float32_lanes import WIDTH
from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.potts_mlm.descent.epochs import annealed, evaluated_epochs
from attention_limits.potts_mlm.transformer import transformer_kernels

OPTIMIZERS = ("sgd", "adam")
# Layers whose attention Rende et al. average, of three.
FINAL_LAYERS = 2


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
    width: int
    hidden: int

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """As the kernels take them."""
        return self.sites, self.colors, self.width, self.hidden, self.layers

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """The shapes of the arrays in the order of the flat parameters.

        Embedding (C + 1, width) with the mask last; per layer matrix and bias of query, key, value, out, up and down, then scale
        and shift of both norms; matrix and bias of the head.
        """
        width, hidden = self.width, self.hidden

        def dense(rows, columns):
            return [(rows, columns), (columns,)]

        layer = [*4 * dense(width, width), *dense(width, hidden), *dense(hidden, width), *4 * [(width,)]]
        return [(self.colors + 1, width), *self.layers * layer, *dense(width, self.colors)]

    def split(self, theta) -> Iterator:
        """The arrays in the flat parameters `theta`, one after the other."""
        end = 0
        for part in self.parts:
            start, end = end, end + int(np.prod(part))
            yield theta[start:end].reshape(part)


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
            raise ValueError(f"optimizer {self.optimizer!r}: {allowed_names(self.optimizer, OPTIMIZERS)}")


@dataclass(frozen=True)
class Training:
    """The outcome of a training.

    Attributes
    ----------
    epochs : array (n,)
        Numbers of epochs done at the evaluations.
    training_loss, test_loss : arrays (n,)
        Mean over the steps of the epoch; mean over all sites of the test sequences. NaN after a divergence.
    attention : array (n, layers, L, L)
        Mean over test sequences: row i is the attention of the masked site i.
    gradient_norm : float
        Largest component of the gradient of the training loss at the end, over all sequences and sites; NaN after a divergence.
    parameters : float32 array (parameters,)
        At the end.
    losses : array (n, test sequences)
        The test loss of each sequence, mean over its sites.
    """

    epochs: np.ndarray
    training_loss: np.ndarray
    test_loss: np.ndarray
    attention: np.ndarray
    gradient_norm: float
    parameters: np.ndarray
    losses: np.ndarray


def initial(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Random initial parameters of an encoder of a `shape`, from the Generator `rng`: float32 array (parameters,).

    Xavier-uniform matrices, zero biases, unit layer norms, standard normal embedding over sqrt(width).
    """
    embedding, *parts = shape.parts
    arrays = [rng.standard_normal(embedding) / np.sqrt(shape.width)]
    for number, part in enumerate(parts[:-2]):
        place = number % 16
        if len(part) == 2:
            arrays.append(_xavier(part, rng))
        else:
            # Behind the six matrices with their biases: scale, shift, scale, shift.
            arrays.append(np.full(part, 1.0 if place in (12, 14) else 0.0))
    arrays += [_xavier(parts[-2], rng), np.zeros(parts[-1])]
    return np.concatenate([array.ravel() for array in arrays]).astype(np.float32)


def _xavier(part, rng):
    bound = np.sqrt(6.0 / sum(part))
    return rng.uniform(-bound, bound, part)


def positions(sites: int, width: int) -> np.ndarray:
    """Sinusoidal positions (sites, width): sin and cos of i / 10000^(2 k / width), side by side."""
    angle = np.arange(sites)[:, None] / 10000.0 ** (2.0 * np.arange((width + 1) // 2) / width)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(sites, -1)[:, :width]


def evaluate(theta, shape: Shape, sequences) -> tuple[np.ndarray, np.ndarray]:
    """The loss at every site (n, L) in nats, each masked in turn, and the mean attention of masked sites (layers, L, L).

    `theta` holds the parameters of the `shape`, `sequences` is an integer array (n, L).
    """
    sequences = np.asarray(sequences, dtype=np.int64)
    rows, masked = _every_site(sequences)
    out, looks = np.empty(len(rows)), np.zeros((shape.layers, shape.sites, shape.sites))
    nothing = np.empty(0, dtype=np.float32)
    transformer_kernels.mean_loss(
        theta,
        shape.sizes,
        _waves(shape),
        sequences,
        rows,
        masked,
        out,
        _no_odds(),
        looks,
        nothing,
        _space(shape, False),
    )
    return out.reshape(sequences.shape), looks / len(sequences)


def gradient(theta, shape: Shape, sequences, rows=None, masked=None) -> tuple[float, np.ndarray]:
    """Mean loss at the masked sites (n,) of sequences[rows], in nats, and its gradient, float32 array (parameters,).

    Without `rows` and `masked` every site of every sequence is masked in turn. `theta`, `shape`, `sequences` as in `evaluate`.
    """
    sequences = np.asarray(sequences, dtype=np.int64)
    if rows is None:
        rows, masked = _every_site(sequences)
    slope = np.empty_like(theta)
    space = _space(shape, True)
    return _descended(theta, shape, _waves(shape), sequences, rows, masked, slope, space), slope


def _descended(theta, shape, waves, sequences, rows, masked, slope, space):
    """The mean loss, as in `gradient`, whose gradient is written into `slope`; `space` is that of `_space`."""
    out, looks = np.empty(len(rows)), np.empty((0, shape.sites, shape.sites))
    return transformer_kernels.mean_loss(
        theta, shape.sizes, waves, sequences, rows, masked, out, _no_odds(), looks, slope, space
    )


def _space(shape, learns):
    return aligned((transformer_kernels.space_rows(shape.sizes, learns), WIDTH), np.float32)


def _no_odds():
    return np.empty((0, 0), dtype=np.float32)


def mean_couplings(theta, shape: Shape, references) -> np.ndarray:
    """Mean response of log p(s_i = a | s_-i) to the colour b of each other site j: array (L, L, C, C), at [i, j, b, a].

    Entry [i, j, b, a] is the mean over the sequences `references` (n, L), in which site j takes the colour b and site i is
    masked; zero for i = j. In the zero-sum gauge of `contacts.joint_model` it is J_ij(a, b) if the encoder is a Potts model.
    This is the categorical Jacobian (Zhang et al. 2024, PNAS 121, e2406285121), averaged over backgrounds. `theta` holds the
    parameters of the `shape`.
    """
    references = np.asarray(references, dtype=np.int64)
    sites, colors, count = shape.sites, shape.colors, len(references)
    waves, nothing, space = _waves(shape), np.empty(0, dtype=np.float32), _space(shape, False)
    looks = np.empty((0, sites, sites))
    found = np.zeros((sites, sites, colors, colors))
    for j in range(sites):
        changed = np.repeat(references[None], colors, axis=0)
        changed[:, :, j] = np.arange(colors)[:, None]
        others = np.delete(np.arange(sites), j)
        rows = np.repeat(np.arange(colors * count), sites - 1)
        masked = np.tile(others, colors * count)
        out, odds = np.empty(len(rows)), np.empty((len(rows), colors), dtype=np.float32)
        transformer_kernels.mean_loss(
            theta, shape.sizes, waves, changed.reshape(-1, sites), rows, masked, out, odds, looks, nothing, space
        )
        # An underflow of single precision would be -inf.
        logarithms = np.log(np.maximum(odds, np.finfo(np.float32).tiny)).astype(float)
        mean = logarithms.reshape(colors, count, sites - 1, colors).mean(axis=1)
        found[others, j] = mean.swapaxes(0, 1)
    return found


def final_attention(attention) -> np.ndarray:
    """Mean of `attention` (..., layers, L, L) over the final two layers, or over the only one: array (..., L, L)."""
    return attention[..., -FINAL_LAYERS:, :, :].mean(axis=-3)


def epoch(theta, moments, shape: Shape, sequences, steps, adam: bool, done: int) -> float:
    """The steps of an epoch, in place; returns the mean loss over the steps.

    Parameters
    ----------
    theta : float32 array (parameters,), changed
    moments : float32 array (2, parameters), changed
        As in `transformer_kernels.move`.
    shape : Shape
    sequences : integer array (M, L)
    steps : iterable of (integer array (batch,), integer array (batch,), float)
        Sequences, masked sites and learning rate of each step.
    adam : bool
        Otherwise plain gradient descent.
    done : int
        Steps before this epoch.
    """
    waves, slope, losses, space = _waves(shape), np.empty_like(theta), [], _space(shape, True)
    for step, (rows, sites, rate) in enumerate(steps):
        losses.append(_descended(theta, shape, waves, sequences, rows, sites, slope, space))
        transformer_kernels.move(theta, moments, slope, rate, adam, done + step + 1)
    return sum(losses) / len(losses)


def _every_site(sequences):
    """Rows and masked sites (n L,) that mask each site of each sequence once."""
    return (array.ravel() for array in np.indices(sequences.shape))


def _waves(shape):
    return positions(shape.sites, shape.width).astype(np.float32)


def train(shape: Shape, sequences, test, rng: np.random.Generator, schedule: Schedule, weights=None) -> Training:
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
    weights : array (M,), optional
        Each step draws its sequences with probabilities proportional to these weights, instead of all in a random order. The
        gradient norm at the end does not weight them.
    """
    sequences = np.asarray(sequences, dtype=np.int64)
    batch = min(schedule.batch, len(sequences))
    steps = len(sequences) // batch
    theta = initial(shape, rng)
    moments = np.zeros((2, len(theta)), dtype=np.float32)
    wanted = evaluated_epochs(schedule.epochs, schedule.evaluations)
    training, tested, by_sequence, looks = [], [], [], []
    shares = None if weights is None else np.asarray(weights, dtype=float) / np.sum(weights)
    for number in range(schedule.epochs):
        if shares is None:
            orders = rng.permutation(len(sequences))[: steps * batch].reshape(steps, batch)
        else:
            orders = rng.choice(len(sequences), (steps, batch), p=shares)
        masked = rng.integers(0, shape.sites, (steps, batch))
        rates = annealed(schedule.learning_rate, number * steps, steps, schedule.epochs * steps)
        drawn = zip(orders, masked, rates, strict=True)
        loss = epoch(theta, moments, shape, sequences, drawn, schedule.optimizer == "adam", number * steps)
        if number + 1 in wanted:
            losses, look = evaluate(theta, shape, test)
            training.append(loss)
            tested.append(losses.mean())
            by_sequence.append(losses.mean(axis=1))
            looks.append(look)
    _, slope = gradient(theta, shape, sequences)
    series = (np.array(item) for item in (training, tested, looks))
    return Training(wanted, *series, float(np.abs(slope).max()), theta, np.array(by_sequence))
