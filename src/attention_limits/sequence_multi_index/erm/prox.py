"""The proximal operator of many outputs, with the derivatives that state evolution and GAMP use (derived in this module)."""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_multi_index.erm.kernels import prox_kernels
from attention_limits.sequence_multi_index.erm.kernels.loss_kernels import hinge_prox
from attention_limits.sequence_multi_index.erm.losses import Loss, kernels

# The kinds of further starts, see `prox_kernels.prox`.
FURTHER = {
    "never": prox_kernels.NO_FURTHER, "where bent": prox_kernels.WHERE_BENT, "everywhere": prox_kernels.EVERYWHERE,
}  # fmt: skip
FEW_FIELDS = 4


@dataclass(frozen=True)
class Prox:
    """Global minima z_hat of 1/2 sum_a (z_a - omega_a)^T V^-1 (z_a - omega_a) + l(y, z), for N outputs.

    Attributes
    ----------
    point : array (N, P, M)
        z_hat.
    slope : array (N, P, M)
        g = V^-1 (z_hat - omega), minus the derivative of the minimum with respect to omega.
    jacobian : array (N, P, M, P, M)
        dg / domega = -H (1 + V H)^-1 with H the Hessian of l at z_hat.
    envelope, loss : array (N,)
        The minimum, and l(y, z_hat).
    ended : bool array (N,)
        Whether Newton's method ended.
    """

    point: np.ndarray
    slope: np.ndarray
    jacobian: np.ndarray
    envelope: np.ndarray
    loss: np.ndarray
    ended: np.ndarray


def prox(loss: Loss, outputs, anchors, omega, variance, further="") -> Prox:
    """Proximal operator of a loss.

    Parameters
    ----------
    loss : Loss
    outputs : array (N, K)
    anchors : array (N, S, P M)
        Starts beside omega, such as fields that fit the output exactly; S may be 0.
    omega : array (N, P, M)
    variance : array (P, P)
        V, positive.
    further : str
        Key of `FURTHER`: where the minimisation also starts on both sides of omega along every axis of V. The default is "where
        bent", and "everywhere" with more than `FEW_FIELDS` fields, where starts that agree more often miss the minimum.

    Raises
    ------
    ValueError
        If V is not positive.
    """
    if not np.all(np.linalg.eigvalsh(variance) > 0):
        raise ValueError(f"V must be positive, got {np.asarray(variance).tolist()}")
    further = further or ("where bent" if loss.fields <= FEW_FIELDS else "everywhere")
    count, shape = len(omega), (loss.rows, loss.tokens)
    flat = np.ascontiguousarray(omega, dtype=float).reshape(count, -1)
    if loss.kinked:
        found = hinge_prox(outputs, flat, float(variance[0, 0]))
    else:
        arrays = outputs, anchors, flat, np.linalg.cholesky(variance), np.linalg.inv(variance)
        found = kernels().prox(
            loss.function, *(np.require(array, float, "CW") for array in arrays), loss.signs, FURTHER[further],
            loss.parameters, loss.tokens, loss.table_rows,
        )  # fmt: skip
    point, slope, jacobian, envelope, plain, ended = found
    return Prox(
        point.reshape(count, *shape), slope.reshape(count, *shape), jacobian.reshape(count, *shape, *shape),
        envelope, plain, ended,
    )  # fmt: skip
