"""Stochastic gradient descent on the squared loss of any link.

Softmax attention layers of rank one that read two tokens have a compiled kernel (`training.two_tokens_kernels`); for all other
links JAX differentiates the forward pass of the link itself (`links.jax_forward`). Per step, on a batch of sequences x_mu (M x D)
with outputs y_mu, and with fields h_mu = W x_mu^T / sqrt(D) (P x M),

    loss(W) = (1/D) sum_{mu in batch} ||y_mu - g(h_mu)||_F^2,      W <- W - learning_rate (grad loss(W) + decay W).

The sum over the batch is divided by the dimension, not by the size of the batch: at learning rate 15 and D = 500 a batch of 200
sequences moves the weights as a mean over the batch would at learning rate 6. The decay is the weight decay of common libraries:
it is multiplied by the learning rate. (The text of Troiani et al. 2025, arXiv:2502.00901, gives this for its Figure 2.)
Everything is in single precision. Diverged weights stay in the results, as NaN.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.links import jax_forward
from attention_limits.sequence_multi_index.links.link import GRADIENT, Link, require
from attention_limits.sequence_multi_index.training import two_tokens_kernels


def batch_loss(link: Link, weights, sequences, outputs):
    """sum_mu ||y_mu - g(h_mu)||_F^2 / D over a batch.

    Parameters
    ----------
    link : Link
        One that offers GRADIENT.
    weights : array (P, D)
    sequences : array (B, M, D)
    outputs : array (B, ...)
    """
    dimension = weights.shape[1]
    # One matrix of all tokens: the two products with it are nearly all of the work.
    products = (sequences.reshape(-1, dimension) @ weights.T).reshape(len(sequences), link.tokens, -1)
    fields = jnp.swapaxes(products / jnp.sqrt(dimension), 1, 2)
    return jnp.sum((outputs - jax_forward.forward(link, fields)) ** 2) / dimension


class Settings(Protocol):
    """The settings that gradient descent reads; the section `schema.training.DescentSolver` has them.

    Attributes
    ----------
    learning_rate : float
        > 0.
    weight_decay : float
        decay = weight_decay / D, >= 0: in units of 1 / D, like the loss.
    reuse : int
        Number of steps on each batch, >= 1.
    """

    learning_rate: float
    weight_decay: float
    reuse: int


@dataclass(frozen=True)
class Block:
    """Batches that come one after the other, for S data sets at once; arrays of NumPy, or of JAX where blocks share them.

    Attributes
    ----------
    sequences : array (S, N, M, D)
    outputs : array (S, N, ...)
    order : integer array (S, K, B)
        Numbers of the sequences of K batches of size B.
    """

    sequences: np.ndarray
    outputs: np.ndarray
    order: np.ndarray


@dataclass(frozen=True)
class Trajectory:
    """Gradient descent from R starts on each of S data sets, at the start and after each of T blocks.

    Attributes
    ----------
    batches : array (T + 1,)
        Batches drawn so far.
    cosine, norm : arrays (S, R, T + 1, P)
        Cosine similarity of each row with the teacher's, signed, and |W_l| / sqrt(D).
    loss : array (S, R, T + 1)
        Mean over the sequences of a block of ||y - g(h)||_F^2, each before the steps on its batch; missing at the start.
    weights : array (S, R, P, D)
        Last weights.
    """

    batches: np.ndarray
    cosine: np.ndarray
    norm: np.ndarray
    loss: np.ndarray
    weights: np.ndarray


def descend(link: Link, blocks: Iterable[Block], start, teacher, settings: Settings) -> Trajectory:
    """Run gradient descent through all blocks.

    Parameters
    ----------
    link : Link
        The link of the outputs of the blocks; it offers GRADIENT.
    blocks : iterable of Block
    start : array (S, R, P, D)
        First weights. All starts of a data set see its batches in the same order.
    teacher : array (S, P, D)
        The weights that define the cosines.
    settings : Settings

    Raises
    ------
    ValueError
        A SpecError, if JAX must and cannot differentiate the forward pass of the link, or its output does not change with the
        fields.
    """
    require(link, {GRADIENT})
    compiled = has_kernel(link)
    problem = "" if compiled else jax_forward.problem_of(link)
    if problem:
        raise SpecError([problem])
    weights, teacher = np.asarray(start, np.float32), np.asarray(teacher, np.float32)[:, None]
    batches, losses, measured = [0], [np.full(weights.shape[:2], np.nan)], [_measure(weights, teacher)]
    through = partial(_compiled, link) if compiled else partial(_traced, _ByIdentity(link))
    decay = settings.weight_decay / weights.shape[-1]
    for block in blocks:
        weights, loss = through(settings, decay, weights, block)
        batches.append(batches[-1] + block.order.shape[1])
        losses.append(loss)
        measured.append(_measure(weights, teacher))
    cosine, norm = (np.stack([np.asarray(item[i]) for item in measured], axis=2) for i in (0, 1))
    return Trajectory(np.array(batches), cosine, norm, np.stack(losses, axis=2), np.asarray(weights))


def has_kernel(link: Link) -> bool:
    """Whether the link consists of softmax layers of one tied head that read two tokens and return their matrix."""
    kind, numbers = link.student or ("", ())
    return kind == "attention" and (*numbers[1:3], *numbers[5:]) == (1, 2, 0, True, 0)


def _compiled(link, settings, decay, weights, block):
    """As `_through`, by `training.two_tokens_kernels`, one run after the other."""
    _, _, _, skip, beta, *_ = link.student[1]
    step = two_tokens_kernels.Step(*map(np.float32, (settings.learning_rate, decay, skip, beta)))
    sequences, outputs = (np.asarray(part, np.float32) for part in (block.sequences, block.outputs))
    moved, losses = np.array(weights), np.empty(weights.shape[:2])
    for data_set, start in np.ndindex(losses.shape):
        losses[data_set, start] = two_tokens_kernels.descend(
            sequences[data_set], outputs[data_set].reshape(-1, 4), block.order[data_set], settings.reuse, step,
            moved[data_set, start],
        )  # fmt: skip
    return moved, losses


def _traced(fixed, settings, decay, weights, block):
    """As `_through`, for the arrays of a block."""
    arrays = block.sequences, block.outputs, block.order
    return _through(fixed, settings.reuse, weights, *arrays, settings.learning_rate, decay)


@dataclass(frozen=True, eq=False)
class _ByIdentity:
    """A link as a static argument: two links count as equal when they are the same object, because a link may be unhashable."""

    link: Link

    def __hash__(self):
        return id(self.link)

    def __eq__(self, other):
        return self.link is other.link


# Over several data sets at once the products with thin matrices are batched, which is three times as fast as one by one.
@partial(jax.jit, static_argnums=(0, 1))
def _through(fixed, reuse, weights, sequences, outputs, order, learning_rate, decay):
    """Weights (S, R, P, D) after the batches of a block, and the mean loss per sequence (S, R) before each batch's own steps."""

    def from_start(weights, sequences, outputs, order):
        def use(weights, numbers):
            x, y = sequences[numbers], outputs[numbers]
            value_and_gradient = jax.value_and_grad(partial(batch_loss, fixed.link))
            loss, gradient = value_and_gradient(weights, x, y)
            moved = weights - learning_rate * (gradient + decay * weights)
            for _ in range(reuse - 1):
                gradient = value_and_gradient(moved, x, y)[1]
                moved = moved - learning_rate * (gradient + decay * moved)
            return moved, loss

        weights, losses = jax.lax.scan(use, weights, order)
        return weights, jnp.mean(losses) * weights.shape[1] / order.shape[1]

    on_data_set = jax.vmap(from_start, in_axes=(0, None, None, None))
    return jax.vmap(on_data_set)(weights, sequences, outputs, order)


@jax.jit
def _measure(weights, teacher):
    norm, size = jnp.linalg.norm(weights, axis=-1), jnp.linalg.norm(teacher, axis=-1)
    return jnp.sum(weights * teacher, axis=-1) / (norm * size), norm / jnp.sqrt(weights.shape[-1])


def drawn_batches(samples: int, batch: int, batches: int, generator) -> np.ndarray:
    """Numbers (batches, batch) of the sequences of each batch: pass after pass through the data in a new random order.

    In each pass every sequence is in at most one batch; those that do not fill the last one are left out.

    Parameters
    ----------
    samples, batch, batches : int
        Number of sequences N, size B of a batch, 1 <= B <= N, and number of batches.
    generator : numpy.random.Generator

    Raises
    ------
    ValueError
        If a batch is empty or larger than the data.
    """
    if not 1 <= batch <= samples:
        raise ValueError(f"the size of a batch must be from 1 to the number of samples {samples}, got {batch}")
    whole = samples // batch
    passes = -(-batches // whole)
    orders = [generator.permutation(samples)[: whole * batch].reshape(whole, batch) for _ in range(passes)]
    return np.concatenate(orders)[:batches].astype(np.int32)
