"""Adam on the squared training error of extensive-width attention, from several starts on the same data, and their average.

With weights W (d, r), scores h_W as in `model` and data of n sequences,

    loss(W) = (1/d) sum_mu ||softmax(beta h_W,mu) - y_mu||_F^2

(Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582: learning rate 0.1, 1000 steps). A step is two products of the
n T x d matrix of all tokens, with W and with the slopes by X W, and sums over r: nothing of the size of n d^2 is made. Single
precision; the tests compare it with double.

Samples of the posterior would have twice the Bayes-optimal error, and the mean of m of them mmse (1 + 1/m). Runs that fit the
data are not quite that: for T = 2, rho = 0.5 and alpha = 0.14 (mmse 0.172) one start has 0.46 after 1000 and 0.31 after 5000
steps, while the limit of many starts stays between 0.21 and 0.24, from d = 25 to d = 100.
"""

import math
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from attention_limits.attention_indexed.model import attention_matrix


def training_loss(weights, tokens, outputs, beta):
    """loss(W) of the module, of weights (d, r), tokens (n T, d) and outputs (n, T, T)."""
    length = outputs.shape[-1]
    dimension, rank = weights.shape
    fields = (tokens @ weights).reshape(-1, length, rank)
    trace = jnp.sum(weights**2)
    # A T x T matrix product per sequence is slow where T is small: sums over r, one for each pair of tokens.
    pairs = {
        (a, b): jnp.sum(fields[:, a] * fields[:, b], axis=-1) - (trace if a == b else 0.0)
        for a in range(length)
        for b in range(a, length)
    }
    rows = [[pairs[min(a, b), max(a, b)] for b in range(length)] for a in range(length)]
    h = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2) / (math.sqrt(rank) * dimension)
    return jnp.sum((jax.nn.softmax(beta * h, axis=-1) - outputs) ** 2) / dimension


@dataclass(frozen=True)
class Descent:
    """How long and how fast: learning_rate > 0, steps >= 1, a record every `record_every` >= 1 steps (the last may be shorter).

    The run ends at the first record at which the error on the training data, per sequence, is at most `tolerance` >= 0 for every
    start.

    Raises
    ------
    ValueError
        If one is out of its range.
    """

    learning_rate: float = 0.1
    steps: int = 1000
    record_every: int = 50
    tolerance: float = 0.0

    def __post_init__(self):
        if not (self.learning_rate > 0 and self.steps >= 1 and self.record_every >= 1 and self.tolerance >= 0):
            raise ValueError(f"need learning_rate > 0, steps >= 1, record_every >= 1 and tolerance >= 0, got {self}")

    def records(self) -> np.ndarray:
        """Steps done at the records: 0, record_every, ..., steps."""
        return np.append(np.arange(0, self.steps, self.record_every), self.steps)


@dataclass(frozen=True)
class Runs:
    """Gradient descent from K starts.

    Attributes
    ----------
    weights : array (K, d, r)
        Last weights.
    training_error : array (K, records)
        Mean over the sequences of ||softmax(beta h_W) - y||_F^2 at each record; missing after an early stop.
    steps : int
        Steps done.
    """

    weights: np.ndarray
    training_error: np.ndarray
    steps: int


def descend(sequences, outputs, starts, beta: float, descent: Descent) -> Runs:
    """Run Adam from each of `starts` (K, d, r) on sequences (n, T, d) with outputs (n, T, T); precision is that of `starts`.

    `beta` is the inverse temperature, `descent` a Descent. Double precision needs JAX's 64-bit mode. Weights that diverge stay
    in the result, as NaN.

    Raises
    ------
    ValueError
        If shapes do not fit or the softmax is none (beta not positive and finite).
    """
    starts = jnp.asarray(starts)
    count, length, dimension = np.shape(sequences)
    if not 0 < beta < math.inf:
        raise ValueError(f"gradient descent needs 0 < beta < infinity, got {beta}")
    if np.shape(outputs) != (count, length, length) or starts.ndim != 3 or starts.shape[1] != dimension:
        raise ValueError(f"shapes do not fit: {np.shape(sequences)}, {np.shape(outputs)}, {starts.shape}")
    tokens = jnp.asarray(np.reshape(sequences, (-1, dimension)), starts.dtype)
    outputs = jnp.asarray(outputs, starts.dtype)
    state = jax.vmap(optax.adam(descent.learning_rate).init)(starts)
    weights, records = starts, descent.records()
    errors = np.full((len(starts), len(records)), np.nan)
    done = 0
    for record, until in enumerate(records):
        weights, state, losses = _advance(
            weights, state, tokens, outputs, beta, descent.learning_rate, int(until) - done
        )
        errors[:, record], done = np.asarray(losses) * dimension / count, int(until)
        if np.all(errors[:, record] <= descent.tolerance):
            break
    return Runs(np.asarray(weights), errors, done)


# One start after the other: the arrays of a start stay in the cache, and memory does not grow with the number of starts.
@partial(jax.jit, static_argnums=5)
def _advance(weights, state, tokens, outputs, beta, learning_rate, steps):
    """Weights, state of Adam and loss of each start, after `steps` steps."""
    loss = partial(training_loss, tokens=tokens, outputs=outputs, beta=beta)
    optimiser = optax.adam(learning_rate)

    def one(start):
        def step(_, carry):
            weights, state = carry
            updates, state = optimiser.update(jax.grad(loss)(weights), state)
            return optax.apply_updates(weights, updates), state

        weights, state = jax.lax.fori_loop(0, steps, step, start)
        return weights, state, loss(weights)

    return jax.lax.map(one, (weights, state))


@dataclass(frozen=True)
class Averages:
    """Errors ||S - S_hat||_F^2 / d of estimates and of means of estimates.

    Attributes
    ----------
    by_start : array (K,)
        Of each estimate.
    average : array (A,)
        Of the mean of m estimates, itself a mean over all sets of m of the K.
    extrapolated, extrapolated_error : float
        The limit m -> infinity and its standard error over the starts (jackknife); NaN for fewer than two (error: three) starts.
    """

    by_start: np.ndarray
    average: np.ndarray
    extrapolated: float
    extrapolated_error: float


def averages(weights, truth, sizes) -> Averages:
    """Errors of the means of m estimates S_k = W_k W_k^T / sqrt(r d), for each m of `sizes`.

    With e_k = S_k - S and C_kl = tr(e_k e_l) / d, the error of the mean over a set of m starts is the mean of C_kl over its
    pairs, and over all such sets it is P + (D - P) / m, D and P the means of C_kl over k = l and over k != l: exactly linear in
    1/m. P is the extrapolation (m average_m - average_1) / (m - 1), the same for all m.

    Parameters
    ----------
    weights : array (K, d, r)
    truth : array (d, d)
    sizes : sequence of int
        From 1 to K.

    Raises
    ------
    ValueError
        If a size is out of its range.
    """
    count = len(weights)
    if not all(1 <= size <= count for size in sizes):
        raise ValueError(f"sizes of averages must be from 1 to the number of starts {count}, got {list(sizes)}")
    off = (attention_matrix(np.asarray(weights, float)) - truth).reshape(count, -1)
    products = off @ off.T / len(truth)
    single = np.diag(products)
    if count == 1:
        return Averages(single, np.array([single[0] for _ in sizes]), math.nan, math.nan)
    between = products.sum() - single.sum()
    pairs = between / (count * (count - 1))
    error = math.nan
    if count > 2:
        left_out = (between - 2.0 * (products.sum(axis=1) - single)) / ((count - 1) * (count - 2))
        error = math.sqrt((count - 1) * np.var(left_out))
    average = np.array([pairs + (single.mean() - pairs) / size for size in sizes])
    return Averages(single, average, float(pairs), error)


def average_sizes(count: int) -> list[int]:
    """1, 2, 4, ... up to `count` starts, and `count` itself."""
    powers = [2**k for k in range(count.bit_length()) if 2**k < count]
    return [*powers, count]
