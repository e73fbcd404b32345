"""Adam on the squared training error of untied softmax attention of extensive width, from several starts on the same data.

With weights Q and K (d, r), S = Q K^T / sqrt(r d), queries X and keys Z,

    h = (X S Z^T - delta tr S) / sqrt(d),    loss(Q, K) = (1/d) sum_mu ||softmax(beta h_mu) - y_mu||_F^2.

Self-attention has Z = X and the trace of S, as tied attention (Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582).
Separate sequences have independent Z and no trace. Of self-attention, h_aa reads the symmetric part of S alone: with M = 2 the
linear response to the symmetric part is three times that to the antisymmetric part. So the noise on S is not that of
independent entries, and the theory of separate sequences does not hold. JAX differentiates the loss, in single precision.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

from attention_limits.attention_indexed.model.scores import product_matrix
from attention_limits.attention_indexed.training.gradient_descent import Runs, Settings, minimise


@jax.jit
def _losses(weights, sequences, keys, outputs, beta):
    """Loss (K,) and gradient at `weights` (2, K, d, r); `keys` None: those of self-attention.

    One start after the other, so no array is larger than the data.
    """
    dimension = sequences.shape[-1]

    def loss(matrix):
        products = (sequences.reshape(-1, dimension) @ matrix).reshape(sequences.shape)
        h = products @ (sequences if keys is None else keys).swapaxes(1, 2)
        if keys is None:
            h = h - jnp.trace(matrix) * jnp.eye(h.shape[-1], dtype=h.dtype)
        attends = jax.nn.softmax(beta / math.sqrt(dimension) * h, axis=-1)
        return jnp.sum((attends - outputs) ** 2) / dimension

    matrices, back = jax.vjp(product_matrix, weights)
    losses, slopes = jax.lax.map(jax.value_and_grad(loss), matrices)
    return losses, back(slopes)[0]


def descend(sequences, outputs, starts, beta: float, settings: Settings, keys=None) -> Runs:
    """Run Adam from each of `starts` (2, K, d, r), Q and K, on sequences (n, M, d) with outputs (n, M, M), in single precision.

    `beta` is the inverse temperature; `settings` as for tied attention; `keys` (n, M, d) are those of separate sequences. Both
    weights of the result are (2, K, d, r). Weights that diverge stay in it, as NaN.

    Raises
    ------
    ValueError
        If shapes do not fit, or beta is not positive and finite.
    """
    count, tokens, dimension = np.shape(sequences)
    fits = np.ndim(starts) == 4 and (len(starts), np.shape(starts)[2]) == (2, dimension)
    if (
        not fits
        or np.shape(outputs) != (count, tokens, tokens)
        or np.shape(keys) not in ((), (count, tokens, dimension))
    ):
        raise ValueError(
            f"shapes do not fit: {np.shape(sequences)}, {np.shape(outputs)}, {np.shape(starts)}, {np.shape(keys)}"
        )
    if not 0 < beta < math.inf:
        raise ValueError(f"gradient descent needs 0 < beta < infinity, got {beta}")
    data = [None if part is None else jnp.asarray(part, jnp.float32) for part in (sequences, keys, outputs)]

    def loss(weights):
        value, gradient = _losses(weights, *data, np.float32(beta))
        return np.asarray(value, float), np.array(gradient)

    return minimise(loss, np.asarray(starts, np.float32), count, dimension, settings)
