"""Factored self-attention fitted to sequences: logits_ia = sum_{j != i} A_ij V[a, s_j] (Rende et al. 2024, arXiv:2304.07235).

Its masked-token loss is the asymmetric pseudo-likelihood of a Potts model with couplings A_ij V_ab, so a fit is an inverse
Potts problem. The loss depends only on A_ij V_ab, up to V -> V + 1 b^T; the errors below are invariant under both freedoms.
"""

import functools
from dataclasses import dataclass

import numpy as np

from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.potts_mlm.attention import factored_kernels, single_precision_kernels
from attention_limits.potts_mlm.descent.lbfgs import START
from attention_limits.potts_mlm.descent.minima import Fit, Settings, minimised, with_ridge

ATTENTIONS = ("raw", "softmax")
# Sequences that estimate the curvature.
CURVED = 500
# Keeps the curvature positive where colours never meet.
FLAT = 1e-6


@dataclass(frozen=True)
class FactoredFit(Fit):
    """A fit with A as `attention` (L, L), zero diagonal, and V as `values` (C, C): V[a, b] is the logit of a from a site of b."""

    attention: np.ndarray
    values: np.ndarray


def fit(
    sequences, colors: int, rng: np.random.Generator, attention: str, ridge: float, settings: Settings
) -> FactoredFit:
    """Minimise the mean of -log p(s_i | s_-i) plus (ridge / 2)(||parameters of A||^2 + ||V||^2) by L-BFGS, from random weights.

    Parameters
    ----------
    sequences : int8 array (M, L), M >= 1, L >= 2, colours 0 to colors - 1
    colors : int
        C.
    rng : numpy.random.Generator
        Draws the start, normal numbers of standard deviation START.
    attention : "raw" or "softmax"
        A itself is the parameter, or A_ij = softmax_j(W_ij) over all j. The diagonal of the softmax is the weight of the masked
        site and does not enter: rows of A are positive and add up to at most one.
    ridge : float >= 0
    settings : Settings

    Raises
    ------
    ValueError
        For other values.
    """
    sequences = _checked(sequences, colors)
    if attention not in ATTENTIONS:
        raise ValueError(f"attention {attention!r}: {allowed_names(attention, ATTENTIONS)}")
    if not ridge >= 0.0:
        raise ValueError(f"ridge {ridge}: must be at least 0")
    sites = sequences.shape[1]
    start = START * rng.standard_normal(sites**2 + colors**2)
    if attention == "raw":
        start[: sites**2 : sites + 1] = 0.0

    def scales(flat):
        return curvature(flat, sequences[:CURVED], colors, ridge)

    found = minimised(
        functools.partial(objective, sequences=sequences, colors=colors, attention=attention, ridge=ridge), start, ridge,
        settings, scales if attention == "raw" else None,
    )  # fmt: skip
    weights, transposed = _unpacked(found.descent.parameters, sites, colors)
    return FactoredFit(found.loss, found.descent, attention_of(weights, attention), transposed.T.copy())


def objective(parameters, sequences, colors: int, attention: str, ridge: float, single: bool = False):
    """The regularised loss of `fit` and its gradient.

    Parameters
    ----------
    parameters : array (L^2 + C^2,)
        A (raw) or W (softmax), then V^T, flat.
    sequences : int8 array (M, L), not checked
    colors, attention, ridge
        C, and as in `fit`.
    single : bool
        The loss in single precision.

    Returns
    -------
    float, array (L^2 + C^2,)
        In nats per site.
    """
    sites = sequences.shape[1]
    weights, values = _unpacked(parameters, sites, colors)
    matrix = attention_of(weights, attention)
    gradient = np.empty_like(parameters)
    d_weights, d_values = _unpacked(gradient, sites, colors)
    kernel = single_precision_kernels.factored if single else factored_kernels.loss_and_gradient
    loss = kernel(matrix, values, sequences, d_weights, d_values)
    if attention == "softmax":
        d_weights[:] = softmax_pull_back(weights, d_weights)
    return with_ridge(loss, gradient, parameters, ridge)


def curvature(parameters, sequences, colors: int, ridge: float) -> np.ndarray:
    """Diagonal of the Gauss-Newton matrix of `objective` for raw attention, plus `ridge` and FLAT: array (L^2 + C^2,).

    `parameters`, `sequences`, `colors` and `ridge` are those of `objective`.

    With p = softmax of the logits at site i and n_ib = sum_j A_ij [s_j = b], the entry of A_ik is Var_p(V[., s_k]) and that of
    V_ab is n_ib^2 p_a (1 - p_a). Sums over sites and means over sequences and sites are those of the loss. Pairs of colours that
    hardly meet have a small curvature: their entries of V diverge to minus infinity, and without this scale they would take
    most of the iterations.
    """
    count, sites = sequences.shape
    weights, values = _unpacked(parameters, sites, colors)
    gathered = values[sequences]
    p = _softmax(weights @ gathered)
    of_weights = p @ np.swapaxes(gathered**2, 1, 2) - (p @ np.swapaxes(gathered, 1, 2)) ** 2
    met = weights @ np.eye(colors)[sequences]
    of_values = np.tensordot(met**2, p * (1.0 - p), ((0, 1), (0, 1)))
    flat = np.concatenate([of_weights.sum(axis=0).ravel(), of_values.ravel()])
    return flat / (count * sites) + ridge + FLAT


def losses(attention, values, sequences) -> np.ndarray:
    """-log softmax(sum_{j != i} A_ij V[:, s_j])[s_i] of sequences (M, L) at every site: array (M, L), nats.

    `attention` is A (L, L), with zero diagonal, and `values` is V (C, C). With A = beta J and V = U these are the losses of the
    conditionals of the Potts model, which no model beats on average. Raises ValueError when the sequences do not fit.
    """
    sequences = _checked(sequences, len(values))
    out = np.empty(sequences.shape)
    factored_kernels.losses(
        np.ascontiguousarray(attention, dtype=float), np.ascontiguousarray(values.T, dtype=float), sequences, out
    )
    return out


def independent_losses(training, test, colors: int) -> np.ndarray:
    """-log f_i(s_i) of `test` sequences (n, L) under the site frequencies f of the `training` ones (M, L): array (n, L), nats.

    Half a count is added to each of the `colors` at each site. Raises ValueError when the sequences do not fit.
    """
    training, test = _checked(training, colors), _checked(test, colors)
    counts = np.stack([np.count_nonzero(training == color, axis=0) for color in range(colors)], axis=1)
    frequency = (counts + 0.5) / (len(training) + 0.5 * colors)
    return -np.log(frequency[np.arange(test.shape[1]), test])


def _unpacked(parameters, sites, colors):
    return parameters[: sites**2].reshape(sites, sites), parameters[sites**2 :].reshape(colors, colors)


def attention_of(weights, kind: str) -> np.ndarray:
    """A (L, L) from W = `weights` (L, L): W itself for the `kind` raw, else the softmax of its whole rows, with zero diagonal."""
    if kind == "raw":
        return weights
    matrix = _softmax(weights)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _softmax(weights):
    matrix = np.exp(weights - weights.max(axis=-1, keepdims=True))
    return matrix / matrix.sum(axis=-1, keepdims=True)


def softmax_pull_back(weights, gradient) -> np.ndarray:
    """The gradient in W (L, L) = `weights` from the `gradient` in A, the softmax of its whole rows, with zero diagonal."""
    matrix = _softmax(weights)
    return matrix * (gradient - np.sum(matrix * gradient, axis=1, keepdims=True))


def _checked(sequences, colors):
    sequences = np.asarray(sequences)
    if sequences.ndim != 2 or len(sequences) < 1 or sequences.shape[1] < 2:
        raise ValueError(f"sequences of shape {sequences.shape}: must be (M, L) with M >= 1 and L >= 2")
    if sequences.min() < 0 or sequences.max() >= colors:
        raise ValueError(f"colours {sequences.min()} to {sequences.max()}: allowed: 0 to {colors - 1}")
    return np.ascontiguousarray(sequences, dtype=np.int8)
