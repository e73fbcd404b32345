"""The encoder's loss and gradient against automatic differentiation of the same encoder in JAX."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attention_limits.potts_mlm.transformer.transformer import Shape, evaluate, gradient, initial

pytestmark = pytest.mark.slow

peer = importlib.import_module("jax_transformer")


# Of three layers, one is neither the first nor the last.
@pytest.mark.parametrize("layers", [1, 3])
def test_loss_and_gradient_are_those_of_automatic_differentiation(layers):
    """Sizes that neither 4 nor 16 divides; all parameters are away from their start, where biases and shifts are zero. Sums of
    about 100 terms in single precision: 2e-5 of the largest component is allowed."""
    rng = np.random.default_rng(layers)
    shape = Shape(sites=7, colors=5, layers=layers, width=6, hidden=9)
    theta = initial(shape, rng)
    theta += 0.1 * rng.standard_normal(len(theta)).astype(np.float32)
    sequences = rng.integers(0, 5, (37, 7))
    rows, masked = rng.permutation(37)[:35], rng.integers(0, 7, 35)
    loss, slope = gradient(theta, shape, sequences, rows, masked)
    function = jax.jit(jax.value_and_grad(peer.masked_loss), static_argnums=3)
    expected, slopes = function(jnp.asarray(theta), jnp.asarray(sequences[rows]), masked, shape)
    assert loss == pytest.approx(float(expected), rel=1e-5)
    np.testing.assert_allclose(slope, slopes, atol=2e-5 * float(jnp.abs(slopes).max()))


def test_attention_of_every_layer_is_that_of_the_peer():
    rng = np.random.default_rng(4)
    shape = Shape(sites=6, colors=3, layers=2, width=8, hidden=8)
    theta, sequences = initial(shape, rng), rng.integers(0, 3, (20, 6))
    _, looks = evaluate(theta, shape, sequences)
    predict = jax.jit(lambda masked: peer.predict(peer.parameters(theta, shape), jnp.asarray(sequences), masked))
    for site in range(6):
        _, expected = predict(np.full(20, site))
        np.testing.assert_allclose(looks[:, site], expected.mean(axis=1), atol=1e-5)
