"""Adam on the squared training error of several layers of extensive-width attention, from several starts on the same data.

With the raw scores X S~_l X^T / sqrt(d) of layer l, S~_l = S_l - (tr S_l / d) I and S_l = W_l W_l^T / sqrt(r d), B_0 = I,

    h^l = B_{l-1} (X S~_l X^T / sqrt(d)) B_{l-1}^T,    B_l = (softmax(beta h^l) + c I) B_{l-1},    y = softmax(beta h^L),
    loss(W) = (1/d) sum_mu ||y_mu(W) - y_mu||_F^2

(layers as in Boncoraglio, Troiani, Erba, Zdeborova 2025, arXiv:2506.01582, the trace as in docs/attention_indexed_two_layers.md).
The data do not depend on the traces, so nothing stops the trace of an estimate: errors are those of S~_l. In the theory, which
knows the trace, both are equal in the limit. Data and descent hold for any number of layers L; a state evolution is known for
one and two.
"""

import math

import numpy as np

from attention_limits.attention_indexed.model.scores import attention, scores, traceless
from attention_limits.attention_indexed.training.gradient_descent import Runs, Settings, minimise
from attention_limits.attention_indexed.training.layers_descent_kernels import layer_slopes

# Numbers in the fields of one piece of the data, which stay in the cache.
_NUMBERS = 1 << 17


def output(raw, skip: float, beta: float):
    """y (..., M, M) of the raw scores (L, ..., M, M) of all layers; c = `skip`, inverse temperature `beta`."""
    identity = np.eye(raw.shape[-1])
    mixing = identity
    for one in raw[:-1]:
        mixing = (attention(mixing @ one @ np.swapaxes(mixing, -1, -2), beta) + skip * identity) @ mixing
    return attention(mixing @ raw[-1] @ np.swapaxes(mixing, -1, -2), beta)


def raw_scores(sequences, matrices):
    """X S~_l X^T / sqrt(d) (L, n, M, M) of sequences (n, M, d) and S_l, `matrices` (L, d, d)."""
    return np.stack([scores(sequences, S) for S in traceless(matrices)])


class LayersLoss:
    """loss(W) of the module and its gradient, for K weights at once.

    Parameters
    ----------
    sequences : array (n, M, d)
    outputs : array (n, M, M)
    skip, beta : float
        c >= 0 and beta > 0, finite.
    precision : dtype
        Of the products.

    Raises
    ------
    ValueError
        If shapes do not fit, or a number is out of its range.
    """

    def __init__(self, sequences, outputs, skip: float, beta: float, precision=np.float32):
        count, length, _ = np.shape(sequences)
        if not (0 <= skip < math.inf and 0 < beta < math.inf):
            raise ValueError(f"gradient descent needs skip >= 0 and beta > 0, both finite, got {skip} and {beta}")
        if np.shape(outputs) != (count, length, length):
            raise ValueError(f"shapes do not fit: {np.shape(sequences)}, {np.shape(outputs)}")
        self._sequences, self._outputs = (np.ascontiguousarray(part, precision) for part in (sequences, outputs))
        self._gram = self._sequences @ np.swapaxes(self._sequences, 1, 2)
        self._precision = self._sequences.dtype
        self._skip, self._beta = self._precision.type(skip), self._precision.type(beta)

    def __call__(self, weights):
        """Loss (K,) and gradient (d, L, K, r) at `weights` (d, L, K, r)."""
        dimension, layers, starts, rank = weights.shape
        length = self._sequences.shape[1]
        scales = np.array([1.0 / (math.sqrt(rank) * dimension)], self._precision)
        trace = np.einsum("ilkc,ilkc->lk", weights, weights) / self._precision.type(dimension)
        losses, traces = np.zeros(starts), np.zeros((layers, starts))
        flat = weights.reshape(dimension, -1)
        gradient = np.zeros_like(flat)
        size = max(1, _NUMBERS // (length * flat.shape[1]))
        for first in range(0, len(self._sequences), size):
            sequences, outputs, gram = (
                part[first : first + size] for part in (self._sequences, self._outputs, self._gram)
            )
            tokens = sequences.reshape(-1, dimension)
            fields = (tokens @ flat).reshape(-1, length, layers, starts, rank)
            slopes = np.empty_like(fields)
            layer_slopes(fields, gram, outputs, trace, scales, self._skip, self._beta, slopes, losses, traces)
            gradient += tokens.T @ slopes.reshape(len(tokens), -1)
        of_trace = (2.0 / dimension * traces).astype(self._precision)
        gradient = gradient.reshape(weights.shape) + of_trace[..., None] * weights
        return losses / dimension, gradient / self._precision.type(dimension)


def descend(sequences, outputs, starts, skip: float, beta: float, settings: Settings) -> Runs:
    """Run Adam from each of `starts` (K, L, d, r) on sequences (n, M, d) with outputs (n, M, M); precision is that of `starts`.

    `skip` is c, `beta` the inverse temperature; `settings` as for one layer. Both weights of the result are (K, L, d, r).
    Raises ValueError as `LayersLoss`, or if the dimensions differ.
    """
    starts = np.asarray(starts)
    count, _, dimension = np.shape(sequences)
    if starts.ndim != 4 or starts.shape[2] != dimension:
        raise ValueError(f"shapes do not fit: {np.shape(sequences)}, {starts.shape}")
    loss = LayersLoss(sequences, outputs, skip, beta, starts.dtype)
    end = minimise(loss, starts.transpose(2, 1, 0, 3), count, dimension, settings)
    weights, earlier = (part.transpose(2, 1, 0, 3) for part in (end.weights, end.earlier))
    return Runs(weights, end.training_error, end.steps, earlier)
