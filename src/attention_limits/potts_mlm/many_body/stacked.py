"""Stacked factored attention with the activation x^2 (Rende, Gerace, Laio, Goldt 2024, arXiv:2410.19637).

Token k is a vector x_k of d numbers, its colour's row of the embedding; the masked token is zero. A layer before the last keeps
its input and adds the squares of what it attends to,

    x_j <- (x_j, u_j^2),   u_j = sum_h sum_k A^h_jk W^h x_k,

and the last layer gives the logits sum_h sum_k A^h_ik V^h x_k of the masked site i. A^h (L, L) is the attention of a head, free
and without softmax. One layer with one head is the factored attention of Rende et al. 2024 (arXiv:2304.07235). n layers are
polynomials of degree 2^(n-1) in the other tokens: interactions of at most 2^(n-1) + 1 sites. The number of heads, the skip
connection and the width are our choice. JAX differentiates the loss.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from attention_limits.potts_mlm.descent.epochs import annealed, evaluated_epochs


@dataclass(frozen=True)
class Shape:
    """Sizes of a model: L = `sites`, C = `colors`, number of `layers`, of `heads` of each, and `width` d of the embedding."""

    sites: int
    colors: int
    layers: int
    heads: int
    width: int


@dataclass(frozen=True)
class Training:
    """A training with Adam.

    Attributes
    ----------
    training_loss : array (n,)
        Mean over the steps of the evaluated epochs, in nats.
    test_loss : array (n,)
        Mean over all sites of the test sequences.
    logits : array (n, N, L, C)
        At every site of the probes, each masked in turn.
    """

    training_loss: np.ndarray
    test_loss: np.ndarray
    logits: np.ndarray


def initial(shape: Shape, rng: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """Random parameters of a model of this `shape`, float32.

    These are the embedding (C, d), and for each layer `attention` (H, L, L) and `values` (H, d_in, d_out): normal numbers of
    `rng`, of variance 1 / d_in (values), 1 / (L H) (attention) and 1 / d (embedding).
    """
    sites, heads, width = shape.sites, shape.heads, shape.width
    inputs = width
    parts = [{"embedding": rng.standard_normal((shape.colors, width)) / np.sqrt(width)}]
    for layer in range(shape.layers):
        last = layer == shape.layers - 1
        outputs = shape.colors if last else width
        parts.append(
            {
                "attention": rng.standard_normal((heads, sites, sites)) / np.sqrt(sites * heads),
                "values": rng.standard_normal((heads, inputs, outputs)) / np.sqrt(inputs),
            }
        )
        inputs += outputs
    return [{name: array.astype(np.float32) for name, array in part.items()} for part in parts]


def logits(parameters, sequences, masked):
    """Logits (B, C) of the sites `masked` (B,) of integer `sequences` (B, L), of `parameters` as `initial`; a JAX function."""
    embedding, *hidden, last = parameters
    sites = sequences.shape[1]
    seen = (jnp.arange(sites) != masked[:, None])[..., None]
    x = embedding["embedding"][sequences] * seen
    for layer in hidden:
        u = sum(jnp.einsum("jk,bkd->bjd", A, x @ W) for A, W in zip(layer["attention"], layer["values"], strict=True))
        x = jnp.concatenate([x, u**2], axis=-1)
    found = 0.0
    for A, V in zip(last["attention"], last["values"], strict=True):
        found = found + jnp.einsum("bk,bkd->bd", A[masked], x) @ V
    return found


def loss(parameters, sequences, masked):
    """Mean of -log p of the colours at the sites `masked`, in nats; `parameters` and `sequences` as in `logits`."""
    log_p = jax.nn.log_softmax(logits(parameters, sequences, masked))
    own = jnp.take_along_axis(sequences, masked[:, None], axis=1)
    return -jnp.mean(jnp.take_along_axis(log_p, own, axis=1))


@functools.partial(jax.jit, donate_argnums=(0,))
def _epoch(state, sequences, orders, masked, rates):
    """The steps of an epoch of Adam (Kingma and Ba 2015; 0.9, 0.999, 1e-8); state = parameters, both moments, steps done."""

    def step(state, batch):
        parameters, mean, square, done = state
        order, sites, rate = batch
        value, slope = jax.value_and_grad(loss)(parameters, sequences[order], sites)
        done = done + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
        square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, square, slope)
        first, second = 1.0 / (1.0 - 0.9**done), 1.0 / (1.0 - 0.999**done)
        parameters = jax.tree.map(
            lambda p, m, v: p - rate * first * m / (jnp.sqrt(second * v) + 1e-8), parameters, mean, square
        )
        return (parameters, mean, square, done), value

    return jax.lax.scan(step, state, (orders, masked, rates))


_all_logits = jax.jit(logits)


def every_site(parameters, sequences) -> np.ndarray:
    """Logits of every site of integer `sequences` (n, L), each masked in turn, of `parameters`: array (n, L, C)."""
    count, sites = sequences.shape
    rows, masked = np.indices(sequences.shape).reshape(2, -1)
    found = _all_logits(parameters, jnp.asarray(sequences[rows], dtype=jnp.int32), jnp.asarray(masked))
    return np.asarray(found, dtype=float).reshape(count, sites, -1)


def losses(found, sequences) -> np.ndarray:
    """-log softmax of the logits `found` (n, L, C) at the colours of `sequences` (n, L), in nats: array (n, L)."""
    highest = found.max(axis=2, keepdims=True)
    total = np.log(np.exp(found - highest).sum(axis=2)) + highest[..., 0]
    return total - np.take_along_axis(found, np.asarray(sequences, dtype=int)[..., None], axis=2)[..., 0]


def train(shape: Shape, sequences, test, probes, rng: np.random.Generator, settings: Mapping) -> Training:
    """Train a model by Adam, one random masked site for each sequence of a batch; evaluate it at evenly spaced epochs.

    Parameters
    ----------
    shape : Shape
    sequences, test : integer arrays (M, L), (n, L)
    probes : integer array (N, L)
        Sequences whose logits are kept.
    rng : numpy.random.Generator
        Draws the parameters, the order of the sequences and the masked sites.
    settings : mapping
        learning_rate (a cosine anneals it to 0), batch, epochs, evaluations.
    """
    batch, epochs = min(settings["batch"], len(sequences)), settings["epochs"]
    steps = len(sequences) // batch
    parameters = jax.tree.map(jnp.asarray, initial(shape, rng))
    zeros = [jax.tree.map(jnp.zeros_like, parameters) for _ in range(2)]
    state = (parameters, *zeros, jnp.asarray(0, dtype=jnp.int32))
    kept = jnp.asarray(sequences, dtype=jnp.int32)
    wanted = evaluated_epochs(epochs, settings["evaluations"])
    training, tested, seen = [], [], []
    for number in range(epochs):
        orders = rng.permutation(len(sequences))[: steps * batch].reshape(steps, batch)
        masked = rng.integers(0, shape.sites, (steps, batch))
        rates = annealed(settings["learning_rate"], number * steps, steps, epochs * steps)
        state, values = _epoch(
            state, kept, jnp.asarray(orders), jnp.asarray(masked), jnp.asarray(rates, dtype=jnp.float32)
        )
        if number + 1 in wanted:
            training.append(float(values.mean()))
            tested.append(losses(every_site(state[0], test), test).mean())
            seen.append(every_site(state[0], probes))
    return Training(np.array(training), np.array(tested), np.array(seen))
