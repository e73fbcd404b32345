"""Single attention layers between factored and position-free: x_j = a s_j + (1 - a) p_j (Rende et al. 2024, Fig. 2d).

Colours s_j and positions p_j are one-hot in one space of max(C, L) directions, the mask in one more. Scores are
e_ij = x_i^T Q^T K x_j with the mask for s_i, logits are sum_{j != i} A_ij V s_j, with A = e (raw) or its softmax over j, where
the masked site has value zero. a = 0 is factored attention; at a = 1 the scores do not know the positions. Which attention the
paper uses here, and how colours and positions share the space, are inferred.
"""

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy.optimize import minimize

START = 0.1
# Sequences per call when only the loss is asked for.
TEST_BATCH = 2000


@dataclass(frozen=True)
class MixedFit:
    """A local minimum of the training loss.

    Attributes
    ----------
    parameters : dict of arrays
        "scores" (d + 1, d), Q^T K with the mask as last row, d = max(C, L); "values" (C, C), V[a, b].
    loss : float
        Training loss per site in nats.
    gradient_norm : float
        Largest component of its gradient.
    iterations : int
    converged : bool
    """

    parameters: dict
    loss: float
    gradient_norm: float
    iterations: int
    converged: bool


def site_losses(parameters, sequences, mixing, softmax: bool):
    """-log p(s_i | s_-i) of sequences (n, L) at every site, each masked in turn, in nats: array (n, L), of JAX.

    Parameters
    ----------
    parameters : dict of arrays
        As in `MixedFit`.
    sequences : integer array (n, L)
    mixing : float
        a in [0, 1].
    softmax : bool
        Whether the attention is the softmax of the scores or the scores themselves.
    """
    scores, values = parameters["scores"], parameters["values"]
    sites = sequences.shape[1]
    # The masked site's own vector is the same for all sequences, and so is its product with the scores.
    queries = mixing * scores[-1] + (1.0 - mixing) * scores[:sites]
    by_color = jnp.moveaxis(queries[:, sequences], 1, 0)
    attention = mixing * by_color + (1.0 - mixing) * queries[:, :sites]
    own = jnp.eye(sites, dtype=bool)
    if softmax:
        # The key of the masked site is the mask, which has no column of its own: only its position scores.
        attention = jax.nn.softmax(
            jnp.where(own, (1.0 - mixing) * jnp.diag(queries[:, :sites])[:, None], attention), axis=-1
        )
    logits = jnp.where(own, 0.0, attention) @ values.T[sequences]
    return optax.softmax_cross_entropy_with_integer_labels(logits, sequences)


@functools.partial(jax.jit, static_argnames="softmax")
def _objective(parameters, sequences, mixing, ridge, softmax):
    squares = sum(jnp.sum(part**2) for part in parameters.values())
    return site_losses(parameters, sequences, mixing, softmax).mean() + 0.5 * ridge * squares


_gradient = jax.jit(jax.value_and_grad(_objective), static_argnames="softmax")
_losses = jax.jit(site_losses, static_argnames="softmax")


def fit(
    sequences, colors: int, rng: np.random.Generator, *, mixing: float, softmax: bool, ridge: float, max_iterations: int,
    tolerance: float,
) -> MixedFit:  # fmt: skip
    """Minimise the masked-token loss plus (ridge / 2) times the squared parameters by L-BFGS, from random weights.

    Parameters
    ----------
    sequences : int8 array (M, L)
    colors : int
        C.
    rng : numpy.random.Generator
        Draws the start, normal numbers of standard deviation START.
    mixing : float
        a in [0, 1].
    softmax : bool
        Whether the attention is the softmax of the scores or the scores themselves.
    ridge : float >= 0
    max_iterations : int
        Largest number of L-BFGS iterations.
    tolerance : float
        Largest component of the gradient at which the fit has converged.

    Raises
    ------
    ValueError
        For a mixing outside of [0, 1].
    """
    if not 0.0 <= mixing <= 1.0:
        raise ValueError(f"mixing {mixing}: must be between 0 and 1")
    directions = max(colors, sequences.shape[1])
    shapes = {"scores": (directions + 1, directions), "values": (colors, colors)}
    split = np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1]
    tokens = jnp.asarray(sequences, jnp.int32)

    def unpacked(flat):
        parts = np.split(flat, split)
        return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def function(flat):
        value, gradient = _gradient(unpacked(flat), tokens, mixing, ridge, softmax)
        return float(value), np.concatenate([np.asarray(gradient[name], dtype=float).ravel() for name in shapes])

    start = START * rng.standard_normal(sum(np.prod(shape) for shape in shapes.values()))
    outcome = minimize(
        function, start, jac=True, method="L-BFGS-B",
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "gtol": tolerance, "ftol": 0.0, "maxcor": 20},
    )  # fmt: skip
    gradient = float(np.abs(outcome.jac).max())
    loss = float(outcome.fun - 0.5 * ridge * outcome.x @ outcome.x)
    return MixedFit(unpacked(outcome.x), loss, gradient, int(outcome.nit), gradient <= tolerance)


def losses(parameters, sequences, mixing: float, softmax: bool) -> np.ndarray:
    """-log p(s_i | s_-i) of sequences (n, L) at every site in nats: array (n, L), of NumPy.

    `parameters`, `mixing` and `softmax` as in `site_losses`.
    """
    tokens = jnp.asarray(sequences, jnp.int32)
    parts = [
        _losses(parameters, tokens[k : k + TEST_BATCH], mixing, softmax) for k in range(0, len(tokens), TEST_BATCH)
    ]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])
