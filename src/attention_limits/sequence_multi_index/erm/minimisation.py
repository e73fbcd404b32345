"""Minimisation of the training objective on one data set, by L-BFGS or by one pass of stochastic gradient descent.

    L(W) = sum_mu l(y_mu, W x_mu / sqrt(D)) + lambda / 2 |W|^2
    W <- (1 - eta lambda / N) W - eta grad_W l(y_mu, W x_mu / sqrt(D)),    mu = 1 ... N

The gradient is derived by the chain rule. The compiled losses have exact gradients (`loss_kernels`), so that minimisation,
GAMP and state evolution share one loss; an iteration is two products with the matrix of all tokens. In a pass the samples come
one at a time, each of them once. With N = alpha D samples and eta of order one, overlaps change by order one in a pass (Saad and
Solla 1995, Phys. Rev. Lett. 74, 4337).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from attention_limits.sequence_multi_index.erm.losses import Loss, values

# Corrections that L-BFGS remembers.
MEMORY = 20


class Settings(Protocol):
    """The settings that L-BFGS reads; the section `schema.erm.MinimisationSolver` has them.

    Attributes
    ----------
    tolerance : float
        See `Minimum.residual`.
    max_iterations : int
        Largest number of iterations.
    """

    tolerance: float
    max_iterations: int


@dataclass(frozen=True)
class Minimum:
    """Where the minimisation of a data set, or one pass over it, ended.

    Attributes
    ----------
    weights : array (P, D)
    objective : float
        L / D.
    residual : float
        Norm of the gradient of L relative to that of lambda W.
    iterations : int
    converged : bool
        Whether the residual reached the tolerance.
    """

    weights: np.ndarray
    objective: float
    residual: float
    iterations: int
    converged: bool


def objective_and_gradient(loss: Loss, outputs, tokens, ridge, weights):
    """L / D and its gradient (P, D).

    `loss` of `outputs` (N, K), at tokens (N M, D) (those of a sequence after each other), ridge lambda and weights W (P, D).
    """
    dimension = weights.shape[1]
    count = len(outputs)
    fields = (tokens @ weights.T / np.sqrt(dimension)).reshape(count, loss.tokens, loss.rows).transpose(0, 2, 1)
    value, slope = values(loss, outputs, np.ascontiguousarray(fields).reshape(count, -1))
    turned = slope.reshape(count, loss.rows, loss.tokens).transpose(1, 0, 2).reshape(loss.rows, -1)
    gradient = turned @ tokens / np.sqrt(dimension) + ridge * weights
    return (value.sum() + 0.5 * ridge * np.sum(weights**2)) / dimension, gradient / dimension


def relative_gradient(gradient, weights, ridge) -> float:
    """Norm of the `gradient` (P, D) of L / D relative to that of its part lambda W / D, at the weights W and lambda = `ridge`."""
    dimension = weights.shape[1]
    return float(np.linalg.norm(gradient) * dimension / max(ridge * np.linalg.norm(weights), 1e-300))


def minimise(loss: Loss, outputs, sequences, ridge, start, settings: Settings, held=None) -> Minimum:
    """The minimum that L-BFGS reaches from a start.

    Parameters
    ----------
    loss : Loss
        Differentiable: not the hinge.
    outputs : array (N, K)
    sequences : array (N, M, D)
    ridge : float
        lambda > 0.
    start : array (P, D)
    settings : Settings
    held : array (P, D), optional
        A direction of norm one along which the weights stay at their start.

    Raises
    ------
    ValueError
        If the loss has a kink.
    """
    if loss.kinked:
        raise ValueError("L-BFGS needs a differentiable loss, which the hinge is not; erm_gamp minimises it")
    tokens = np.asarray(sequences, dtype=float).reshape(-1, sequences.shape[2])
    shape, tolerance, most = start.shape, settings.tolerance, settings.max_iterations

    def function(flat):
        value, gradient = objective_and_gradient(loss, outputs, tokens, ridge, flat.reshape(shape))
        if held is not None:
            gradient -= np.sum(gradient * held) * held
        return value, gradient.ravel()

    # L-BFGS-B stops by the largest entry of the gradient, relative to lambda W / D at entries of W of the size of the target's.
    largest = tolerance * ridge / shape[1]
    found = minimize(
        function, np.asarray(start, dtype=float).ravel(), jac=True, method="L-BFGS-B",
        options={"maxcor": MEMORY, "maxiter": most, "maxfun": 2 * most, "ftol": 0.0, "gtol": largest},
    )  # fmt: skip
    weights = found.x.reshape(shape)
    residual = relative_gradient(found.jac, weights, ridge)
    # The trivial minimum W = 0 has no relative residual.
    settled = residual <= 10.0 * tolerance or np.linalg.norm(found.jac) * shape[1] <= tolerance * ridge
    return Minimum(weights, float(found.fun), residual, int(found.nit), bool(settled))


# The overlap is held by this much closer to zero, in units of the prior variance of a weight of the target.
HELD = 0.1
# An overlap is determined if the objective then rises by at least this fraction.
FLAT = 0.01


def objective_rise(minimum: Minimum, loss: Loss, outputs, sequences, ridge, teacher, settings: Settings) -> np.ndarray:
    """Relative rise of the objective where the overlap of one row with its target is held `HELD` closer to zero, (P,).

        e(|m| - HELD) / e(|m|) - 1,    e(m) = min {L(W) / D : w_l . w*_l / D = m}

    Where this profile e is flat, data sets of one law have minima of almost one objective at different overlaps. The other
    directions and rows are minimised from the `minimum`: where this does not converge, the rise is an upper bound.

    Parameters
    ----------
    minimum : Minimum
        Of the same objective.
    loss : Loss
        Differentiable.
    outputs : array (N, K)
    sequences : array (N, M, D)
    ridge : float
        lambda > 0.
    teacher : array (P, D)
        Weights W* of the target.
    settings : Settings

    Raises
    ------
    ValueError
        If the loss has a kink.
    """
    rise = np.empty(len(teacher))
    for row, target in enumerate(teacher):
        norm = np.linalg.norm(target)
        held = np.zeros_like(teacher)
        held[row] = target / norm
        closer = HELD * len(target) / norm * np.sign(minimum.weights[row] @ target)
        found = minimise(loss, outputs, sequences, ridge, minimum.weights - closer * held, settings, held)
        rise[row] = found.objective / minimum.objective - 1.0
    return rise


# Beyond this field the weights have diverged.
LARGEST_FIELD = 1e8


def one_pass(loss: Loss, outputs, sequences, ridge, start, learning_rate) -> Minimum:
    """The weights after one pass; `converged` is false where they have diverged, which ends the pass.

    Parameters
    ----------
    loss : Loss
    outputs : array (N, K)
    sequences : array (N, M, D)
    ridge : float
        lambda > 0.
    start : array (P, D)
    learning_rate : float
        eta > 0.
    """
    tokens, weights = np.asarray(sequences, dtype=float), np.array(start, dtype=float)
    count, _, dimension = tokens.shape
    kept, rate = 1.0 - learning_rate * ridge / count, learning_rate / np.sqrt(dimension)
    steps = 0
    for output, sequence in zip(outputs, tokens, strict=True):
        fields = weights @ sequence.T / np.sqrt(dimension)
        if not np.all(np.abs(fields) < LARGEST_FIELD):
            break
        slope = values(loss, output[None], fields.reshape(1, -1))[1].reshape(fields.shape)
        weights *= kept
        weights -= rate * slope @ sequence
        steps += 1
    value, gradient = objective_and_gradient(loss, outputs, tokens.reshape(-1, dimension), ridge, weights)
    residual = relative_gradient(gradient, weights, ridge)
    return Minimum(weights, float(value), residual, steps, steps == count)
