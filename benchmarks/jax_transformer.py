"""The encoder of `potts_mlm.transformer` in JAX with automatic differentiation, trained one run at a time."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from attention_limits.potts_mlm.transformer.transformer import positions


def parameters(theta, shape):
    """The flat parameters of a shape as nested arrays of JAX."""
    arrays = iter(shape.split(jnp.asarray(theta)))

    def dense():
        return {"matrix": next(arrays), "bias": next(arrays)}

    def norm():
        return {"scale": next(arrays), "shift": next(arrays)}

    names = ("query", "key", "value", "out", "up", "down")
    embedding = next(arrays)
    layers = [{**{name: dense() for name in names}, "norm_1": norm(), "norm_2": norm()} for _ in range(shape.layers)]
    return {"embedding": embedding, "layers": layers, "head": dense()}


def _dense(part, x):
    return x @ part["matrix"] + part["bias"]


def _norm(part, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return part["scale"] * centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) + part["shift"]


def predict(tree, sequences, masked):
    """Logits (n, C) of the masked sites of sequences (n, L), and their attention (layers, n, L)."""
    rows = jnp.arange(len(sequences))
    embedding = tree["embedding"]
    tokens = sequences.at[rows, masked].set(len(embedding) - 1)
    width = embedding.shape[1]
    x = embedding[tokens] + jnp.asarray(positions(sequences.shape[1], width), embedding.dtype)
    looks = []
    for depth, layer in enumerate(tree["layers"], start=1):
        # The head reads only the masked sites of the last layer.
        last = depth == len(tree["layers"])
        asking = x[rows, masked][:, None] if last else x
        scores = _dense(layer["query"], asking) @ _dense(layer["key"], x).swapaxes(1, 2) / np.sqrt(width)
        attention = jax.nn.softmax(scores, axis=-1)
        looks.append(attention[:, 0] if last else attention[rows, masked])
        x = _norm(layer["norm_1"], asking + _dense(layer["out"], attention @ _dense(layer["value"], x)))
        x = _norm(layer["norm_2"], x + _dense(layer["down"], jax.nn.relu(_dense(layer["up"], x))))
    return _dense(tree["head"], x[:, 0]), jnp.stack(looks)


def masked_loss(theta, sequences, masked, shape):
    """Mean cross-entropy of the colours at the masked sites (n,) of integer arrays sequences (n, L), in nats."""
    logits, _ = predict(parameters(theta, shape), sequences, masked)
    targets = sequences[jnp.arange(len(sequences)), masked]
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


METHODS = {"sgd": optax.sgd(1.0), "adam": optax.adam(1.0)}


@functools.partial(jax.jit, static_argnames=("shape", "optimizer"), donate_argnums=(0, 1))
def step(theta, state, batch, masked, rate, shape, optimizer):
    """One step of training: parameters, state of the optimizer and loss."""
    loss, slope = jax.value_and_grad(masked_loss)(theta, batch, masked, shape)
    updates, state = METHODS[optimizer].update(slope, state)
    return theta + rate * updates, state, loss
