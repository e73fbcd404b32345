"""Single attention layers between factored and position-free: x_j = a s_j + (1 - a) p_j (Rende et al. 2024, Fig. 2d).

Colours s_j and positions p_j are one-hot in one space of max(C, L) directions; the mask is one direction more. Scores are
e_ij = x_i^T Q^T K x_j with the mask for s_i; logits are sum_{j != i} A_ij V s_j, with A = e (raw) or its softmax over j, where
the masked site has value zero. a = 0 is factored attention; at a = 1 the scores do not depend on the positions. The kind of
attention in the paper, and how colours and positions share the space, are inferred.
"""

import functools
from dataclasses import dataclass

import numpy as np

from attention_limits.potts_mlm.attention import mixed_kernels, single_precision_kernels
from attention_limits.potts_mlm.descent.lbfgs import START
from attention_limits.potts_mlm.descent.minima import Fit, Settings, minimised, with_ridge


@dataclass(frozen=True)
class MixedFit(Fit):
    """A fit with Q^T K as `scores` (d + 1, d), the mask in the last row, d = max(C, L), and V as `values` (C, C)."""

    scores: np.ndarray
    values: np.ndarray


def fit(
    sequences, colors: int, rng: np.random.Generator, *, mixing: float, softmax: bool, ridge: float, settings: Settings
) -> MixedFit:
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
        The attention is the softmax of the scores; otherwise the scores themselves.
    ridge : float >= 0
    settings : minima.Settings

    Raises
    ------
    ValueError
        For a mixing outside of [0, 1].
    """
    if not 0.0 <= mixing <= 1.0:
        raise ValueError(f"mixing {mixing}: must be between 0 and 1")
    sequences = np.ascontiguousarray(sequences, dtype=np.int8)
    directions = max(colors, sequences.shape[1])
    split = (directions + 1) * directions
    start = START * rng.standard_normal(split + colors**2)
    found = minimised(
        functools.partial(objective, sequences=sequences, colors=colors, mixing=mixing, softmax=softmax, ridge=ridge), start,
        ridge, settings,
    )  # fmt: skip
    scores, transposed = _unpacked(found.descent.parameters, directions, colors)
    return MixedFit(found.loss, found.descent, scores, transposed.T.copy())


def objective(parameters, sequences, colors: int, mixing: float, softmax: bool, ridge: float, single: bool = False):
    """The regularised loss of `fit` and its gradient, in nats per site: float, array.

    `parameters` holds the scores ((d + 1) d entries) and V^T (C^2), flat; `sequences` (M, L) is int8 and not checked;
    `colors`, `mixing`, `softmax` and `ridge` are as in `fit`; `single` takes the loss in single precision.
    """
    directions = max(colors, sequences.shape[1])
    gradient = np.empty_like(parameters)
    kernel = single_precision_kernels.mixed if single else mixed_kernels.loss_and_gradient
    loss = kernel(
        *_unpacked(parameters, directions, colors), sequences, mixing, softmax, *_unpacked(gradient, directions, colors)
    )
    return with_ridge(loss, gradient, parameters, ridge)


def losses(scores, values, sequences, mixing: float, softmax: bool) -> np.ndarray:
    """-log p(s_i | s_-i) of sequences (n, L) at every site, each masked in turn, in nats: array (n, L).

    `scores` (d + 1, d) and `values` (C, C) as in `MixedFit`, `mixing` and `softmax` as in `fit`.
    """
    sequences = np.ascontiguousarray(sequences, dtype=np.int8)
    out = np.empty(sequences.shape)
    scores, transposed = np.ascontiguousarray(scores, dtype=float), np.ascontiguousarray(values.T, dtype=float)
    mixed_kernels.losses(scores, transposed, sequences, mixing, softmax, out)
    return out


def _unpacked(flat, directions, colors):
    split = (directions + 1) * directions
    return flat[:split].reshape(directions + 1, directions), flat[split:].reshape(colors, colors)
