"""Generalised approximate message passing for empirical risk minimisation, one data set of standard normal sequences.

With X_mu (M x D), omega_mu = X_mu W_hat^T / sqrt(D) - V g_mu,prev, and g of the proximal operator (`prox`),

    A = -1/D sum_mu sum_a dg_mu,aa,   b = sum_mu g_mu X_mu / sqrt(D) + A W_hat,   V = (lambda + A)^-1,   W_hat = V b.

(Derived from the fixed-point equations of `state_evolution`.) A fixed point is a stationary point of the training objective
for every A, because g = -dl/dz at z_hat = X W_hat^T / sqrt(D).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.sequence_multi_index.erm.losses import Loss, values
from attention_limits.sequence_multi_index.erm.prox import prox


class Settings(Protocol):
    """The settings that GAMP reads; the section `schema.erm.ErmGampSolver` has them.

    Attributes
    ----------
    damping : float
        Weight of the OLD W_hat and g, in [0, 1).
    tolerance : float
        Relative change of W_hat per iteration at convergence.
    max_iterations : int
        Largest number of iterations.
    """

    damping: float
    tolerance: float
    max_iterations: int


@dataclass(frozen=True)
class ErmGampRun:
    """Where GAMP ended.

    Attributes
    ----------
    weights : array (P, D)
        W_hat.
    variance : array (P, P)
        V.
    objective : float
        L / D at W_hat.
    residual : float
        Change of W_hat in the last iteration relative to its size, root mean squares.
    iterations : int
    converged : bool
        Whether the residual reached the tolerance.
    """

    weights: np.ndarray
    variance: np.ndarray
    objective: float
    residual: float
    iterations: int
    converged: bool


def run(loss: Loss, outputs, sequences, ridge, start, settings: Settings, anchors=None) -> ErmGampRun:
    """Run GAMP.

    Parameters
    ----------
    loss : Loss
    outputs : array (N, K)
    sequences : array (N, M, D)
    ridge : float
        lambda > 0.
    start : array (P, D)
    settings : Settings
    anchors : array (N, S, P M), optional
        Fields that fit the outputs, starts of the proximal operator.
    """
    count, tokens, dimension = sequences.shape
    flat = np.asarray(sequences, dtype=float).reshape(-1, dimension)
    anchors = np.zeros((count, 0, loss.fields)) if anchors is None else anchors
    weights, g = np.asarray(start, dtype=float), np.zeros((count, loss.rows, tokens))
    V = np.eye(loss.rows) / (1.0 + ridge)
    residual, iterations = np.inf, 0
    while iterations < settings.max_iterations and residual > settings.tolerance:
        fields = (flat @ weights.T / np.sqrt(dimension)).reshape(count, tokens, loss.rows).transpose(0, 2, 1)
        found = prox(loss, outputs, anchors, fields - np.einsum("pq,nqa->npa", V, g), V)
        kept = settings.damping if iterations else 0.0
        g = kept * g + (1.0 - kept) * found.slope
        A = -np.einsum("npaqa->pq", found.jacobian) / dimension
        pulled = g.transpose(1, 0, 2).reshape(loss.rows, -1) @ flat / np.sqrt(dimension) + A @ weights
        precision = ridge * np.eye(loss.rows) + 0.5 * (A + A.T)
        spectrum, vectors = np.linalg.eigh(precision)
        # Far from a fixed point of a loss with several wells, A may outweigh the ridge.
        V = (vectors / np.maximum(spectrum, 0.1 * ridge)) @ vectors.T
        new = kept * weights + (1.0 - kept) * V @ pulled
        size = np.sqrt(np.mean(new**2))
        residual = float(np.sqrt(np.mean((new - weights) ** 2)) / max(size, 1e-300))
        weights, iterations = new, iterations + 1
        if not np.isfinite(size):
            break
    fields = (flat @ weights.T / np.sqrt(dimension)).reshape(count, tokens, loss.rows).transpose(0, 2, 1)
    value = values(loss, outputs, np.ascontiguousarray(fields).reshape(count, -1))[0]
    objective = (value.sum() + 0.5 * ridge * np.sum(weights**2)) / dimension
    return ErmGampRun(weights, V, float(objective), residual, iterations, bool(residual <= settings.tolerance))
