"""Adam on the squared training error of extensive-width attention, from several starts on the same data, and their average.

With weights W (d, r), scores h_W as in `model` and data of n sequences,

    loss(W) = (1/d) sum_mu ||softmax(beta h_W,mu) - y_mu||_F^2

(Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582: learning rate 0.1, 1000 steps). A step is two products of the
n M x d matrix of all tokens, with W of all starts and with the slopes by X W, and sums over r. Single precision; the tests
compare it with double.

Samples of the posterior would have twice the Bayes-optimal error, and the mean of m of them mmse (1 + 1/m). Runs that fit the
data behave differently: for M = 2, rho = 0.5 and alpha = 0.14 (mmse 0.172) one start has 0.46 after 1000 and 0.31 after 5000
steps, while the limit of many starts stays between 0.21 and 0.24, from d = 25 to d = 100.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.attention_indexed.model.scores import attention_matrix
from attention_limits.attention_indexed.training.gradient_descent_kernels import adam_step, field_slopes
from attention_limits.numerics.simd.aligned_arrays import aligned

# Decays of the moving averages of Adam, and its smallest denominator (Kingma and Ba 2015).
_DECAYS, _SMALLEST = (0.9, 0.999), 1e-8
# Numbers in the fields of one piece of the data, which stay in the cache.
_NUMBERS = 1 << 17
# Numbers in the longest vector register.
_REGISTER = 16
# Starts whose estimates moved by less, in units of their error, since a half of the steps or earlier have settled. Errors below
# the second number are exact recovery: Adam at a constant rate wanders about it.
_SETTLED, _RECOVERED = 0.01, 1e-4


class TrainingLoss:
    """loss(W) of the module and its gradient, for K weights at once.

    Parameters
    ----------
    sequences : array (n, M, d)
    outputs : array (n, M, M)
    beta : float
        Inverse temperature, positive and finite.
    precision : dtype
        Of the products.

    Raises
    ------
    ValueError
        If shapes do not fit, or beta is not positive and finite.
    """

    def __init__(self, sequences, outputs, beta: float, precision=np.float32):
        count, length, _ = np.shape(sequences)
        if not 0 < beta < math.inf:
            raise ValueError(f"gradient descent needs 0 < beta < infinity, got {beta}")
        if np.shape(outputs) != (count, length, length):
            raise ValueError(f"shapes do not fit: {np.shape(sequences)}, {np.shape(outputs)}")
        self._sequences, self._outputs = (np.asarray(part, precision) for part in (sequences, outputs))
        self._beta, self._precision = self._sequences.dtype.type(beta), self._sequences.dtype
        self._pieces = {}

    def __call__(self, weights):
        """Loss (K,) and gradient (d, K, r) at `weights` (d, K, r).

        All weights are multiplied with the tokens, piece by piece; the trace in the scores adds a multiple of W to the gradient.
        """
        dimension, starts, rank = weights.shape
        length = self._sequences.shape[1]
        scale = self._precision.type(1.0 / (math.sqrt(rank) * dimension))
        trace = np.einsum("ikc,ikc->k", weights, weights)
        losses, diagonal = np.zeros((2, starts))
        flat, gradient = weights.reshape(dimension, -1), np.zeros((dimension, starts * rank), self._precision)
        pieces, space = self._in_pieces(starts * rank)
        for tokens, outputs in pieces:
            fields, slopes = (part[: starts * rank * tokens.shape[1]].reshape(starts * rank, -1) for part in space)
            np.matmul(flat.T, tokens, out=fields)
            shape = starts, rank, length, -1
            field_slopes(
                fields.reshape(shape), outputs, trace, scale, self._beta, slopes.reshape(shape), losses, diagonal
            )
            gradient += tokens @ slopes.T
        gradient = gradient.reshape(weights.shape) - 2.0 * diagonal.astype(self._precision)[:, None] * weights
        return losses / dimension, gradient / self._precision.type(dimension)

    def _in_pieces(self, rows):
        """The tokens (d, M n) and the outputs (M, M, n) of each piece of the data, whose n sequences are the last axis, for this
        number of `rows` of fields; and space (2, rows M n) for the fields and the slopes of the largest one."""
        if rows not in self._pieces:
            count, length, dimension = self._sequences.shape
            number = -(-count // max(1, _NUMBERS // (length * rows)))
            # Pieces of about the same size, a multiple of that of a vector register.
            size, pieces = -(-count // (_REGISTER * number)) * _REGISTER, []
            for first in range(0, count, size):
                sequences, outputs = (part[first : first + size] for part in (self._sequences, self._outputs))
                tokens = aligned((dimension, length, len(sequences)), self._precision)
                tokens[:] = sequences.transpose(2, 1, 0)
                pieces.append((tokens.reshape(dimension, -1), np.ascontiguousarray(outputs.transpose(1, 2, 0))))
            space = aligned((2, rows * max(tokens.shape[1] for tokens, _ in pieces)), self._precision)
            self._pieces[rows] = pieces, space
        return self._pieces[rows]


class Settings(Protocol):
    """The settings that gradient descent reads; the section `schema.one_layer.GradientDescent.Solver` has them.

    Attributes
    ----------
    learning_rate : float
        > 0.
    steps : int
        Number of steps, >= 1.
    record_every : int
        Steps between two records, >= 1; the last stretch may be shorter.
    tolerance : float
        The run ends at the first record at which the error on the training data, per sequence, is at most this for every start.
    """

    learning_rate: float
    steps: int
    record_every: int
    tolerance: float


def steps_of_records(settings: Settings) -> np.ndarray:
    """Steps done at the records of `settings`: 0, record_every, ..., steps."""
    return np.append(np.arange(0, settings.steps, settings.record_every), settings.steps)


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
    earlier : array (K, d, r)
        Weights after the largest power of two of steps up to half of those done: a quarter to a half of them.
    """

    weights: np.ndarray
    training_error: np.ndarray
    steps: int
    earlier: np.ndarray


def descend(sequences, outputs, starts, beta: float, settings: Settings) -> Runs:
    """Run Adam from each of `starts` (K, d, r) on sequences (n, M, d) with outputs (n, M, M); precision is that of `starts`.

    `beta` is the inverse temperature, `settings` gives the number of steps and the learning rate. Weights that diverge
    stay in the result, as NaN.

    Raises
    ------
    ValueError
        If shapes do not fit, or beta is not positive and finite.
    """
    starts = np.asarray(starts)
    count, _, dimension = np.shape(sequences)
    if starts.ndim != 3 or starts.shape[1] != dimension:
        raise ValueError(f"shapes do not fit: {np.shape(sequences)}, {starts.shape}")
    loss = TrainingLoss(sequences, outputs, beta, starts.dtype)
    end = minimise(loss, starts.transpose(1, 0, 2), count, dimension, settings)
    return Runs(end.weights.transpose(1, 0, 2), end.training_error, end.steps, end.earlier.transpose(1, 0, 2))


def minimise(loss, weights, count, dimension, settings: Settings) -> Runs:
    """Adam from `weights`, an array of any shape that holds K starts, on `loss(weights)`: values (K,) and their gradient.

    `count` and `dimension` are n and d of the data: the loss is n / d times the training error. Both weights of the result have
    the shape of `weights`; `settings` as for `descend`.
    """
    weights, records = np.array(weights, order="C"), steps_of_records(settings)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    errors, precision = [], weights.dtype
    decays, smallest = np.array(_DECAYS, precision), precision.type(_SMALLEST)
    earlier = latest = weights.copy()
    for done in range(int(records[-1]) + 1):
        if done and done & (done - 1) == 0:
            earlier, latest = latest, weights.copy()
        value, gradient = loss(weights)
        if done in records:
            errors.append(value * dimension / count)
        if done == records[-1] or (done in records and np.all(errors[-1] <= settings.tolerance)):
            break
        correction = [1.0 - decay ** (done + 1) for decay in _DECAYS]
        rates = np.array([settings.learning_rate / correction[0], 1.0 / correction[1]], precision)
        adam_step(weights.ravel(), gradient.ravel(), mean.ravel(), square.ravel(), decays, rates, smallest)
    missing = np.full((len(records) - len(errors), len(errors[0])), np.nan)
    return Runs(weights, np.concatenate([errors, missing]).T, done, earlier)


def movement(runs: Runs, truth: np.ndarray) -> float:
    """Root mean square change of the estimates of `runs` since `earlier`, in units of the root of their mean error.

    `truth` (d, d) is S.
    """
    return relative_change(*(attention_matrix(np.asarray(part, float)) for part in (runs.weights, runs.earlier)), truth)


def relative_change(now, before, truth) -> float:
    """||now - before|| / ||now - truth|| of two sets of estimates and the truth, arrays that broadcast."""
    return float(np.linalg.norm(now - before) / np.linalg.norm(now - truth))


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


def settled(moved, errors) -> bool:
    """Whether starts have settled: they `moved` little (`relative_change`), or all `errors` of the starts are exact recovery."""
    return bool(moved <= _SETTLED or np.max(errors) <= _RECOVERED)


def averages(weights, truth, sizes) -> Averages:
    """Errors of the means of m estimates S_k = W_k W_k^T / sqrt(r d), for each m of `sizes`.

    With e_k = S_k - S and C_kl = tr(e_k e_l) / d, the error of the mean over a set of m starts is the mean of C_kl over its
    pairs. Its mean over all such sets is P + (D - P) / m, where D and P are the means of C_kl over k = l and over k != l: exactly
    linear in 1/m. P is the extrapolation (m average_m - average_1) / (m - 1), the same for all m.

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
    return averages_of(attention_matrix(np.asarray(weights, float)) - truth, sizes)


def averages_of(errors, sizes) -> Averages:
    """`averages` of the errors e_k, array (K, d, d), of K estimates; `sizes` as there. Raises ValueError as `averages`."""
    count = len(errors)
    if not all(1 <= size <= count for size in sizes):
        raise ValueError(f"sizes of averages must be from 1 to the number of starts {count}, got {list(sizes)}")
    off = errors.reshape(count, -1)
    products = off @ off.T / errors.shape[1]
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
