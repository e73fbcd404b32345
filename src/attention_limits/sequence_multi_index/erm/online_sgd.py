"""One pass of stochastic gradient descent over one data set, on the objective of empirical risk minimisation.

    W <- (1 - eta lambda / N) W - eta grad_W l(y_mu, W x_mu / sqrt(D)),    mu = 1 ... N

The samples come one at a time, each of them once. The steps of a pass add up to eta times the gradient of

    L(W) = sum_mu l(y_mu, h_mu) + lambda / 2 |W|^2,

if W stands still. With N = alpha D samples and eta of order one, overlaps change by order one in a pass (Saad and Solla 1995,
Phys. Rev. Lett. 74, 4337).
"""

import numpy as np

from attention_limits.sequence_multi_index.erm.losses import Loss, values
from attention_limits.sequence_multi_index.erm.minimisation import Minimum, objective_and_gradient, relative_gradient

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
