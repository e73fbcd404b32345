"""Replica theory of masked Gaussian sequences: ridge regression of one site on the others (Rende et al. 2024).

x ~ N(0, K^-1), K = -J = gamma + W with W from the Gaussian orthogonal ensemble (off-diagonal variance 1/L, edges +-2), hence
gamma > 2. The masked site is y = theta . x_-i + noise of variance D = 1/gamma; alpha = M / (L - 1) samples estimate it by
v = (X^T X + ridge (L - 1))^-1 X^T y. The equations and their closed form are derived in this module. Everywhere gamma > 2, ridge
>= 0 and alpha > 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from attention_limits.potts_mlm.replica.theory_kernels import root


@dataclass(frozen=True)
class Errors:
    """Order parameters and errors; arrays of one shape.

    Attributes
    ----------
    generalization : mean squared error of the masked site on a fresh sequence
    training : mean squared error on the training sequences
    overlap : m = v . Sigma theta
    norm : q = v . Sigma v
    variance : V, response of the estimator; infinite without ridge below alpha = 1
    """

    generalization: np.ndarray
    training: np.ndarray
    overlap: np.ndarray
    norm: np.ndarray
    variance: np.ndarray


def resolvent(x):
    """g(x) = 2 / (x + sqrt(x^2 - 4)): the resolvent of the semicircle law on [-2, 2] at x > 2."""
    return 2.0 / (x + np.sqrt(x - 2.0) * np.sqrt(x + 2.0))


def _checked(gamma, ridge, alpha):
    gamma, ridge, alpha = (np.asarray(value, dtype=float) for value in (gamma, ridge, alpha))
    if not np.all(gamma > 2.0):
        raise ValueError(f"gamma {gamma.min():g}: must be above 2, the edge of the spectrum of W")
    if not np.all(ridge >= 0.0):
        raise ValueError(f"ridge {ridge.min():g}: must be at least 0")
    if not np.all(alpha > 0.0):
        raise ValueError(f"alpha {alpha.min():g}: must be above 0")
    return gamma, ridge, alpha


def closed_form(gamma, ridge, alpha) -> Errors:
    """Errors and order parameters for W from the GOE at any ridge >= 0; arguments broadcast.

    With z from ridge z + z g(gamma + z) = alpha, r = g(gamma + z), tau = r / (gamma (gamma - r)), derivatives in z:

        e_g = (D + tau + z tau') / (1 + z^2 r' / alpha),   m = rho - tau,   V = r / ridge,   q = e_g - rho - D + 2 m,
        e_train = e_g / (1 + V)^2,   D = 1 / gamma,   rho = g(gamma) - D.

    The code avoids differences of close numbers: it evaluates 1 + z^2 r' / alpha and m as products, and q as the sum of its two
    terms in the saddle point. Without ridge e_g = D alpha / (alpha - 1) for alpha > 1; it diverges at alpha = 1.
    Raises ValueError for gamma <= 2, ridge < 0 or alpha <= 0.
    """
    gamma, ridge, alpha = np.broadcast_arrays(*_checked(gamma, ridge, alpha))
    z = root(gamma, ridge, alpha)
    bounded = np.isfinite(z)
    z = np.where(bounded, z, 0.0)
    noise, g, rho = 1.0 / gamma, resolvent(gamma), resolvent(gamma) ** 2 / gamma
    r, width, tau, decay = _derivatives(gamma, z)
    edge = np.sqrt(gamma - 2.0) * np.sqrt(gamma + 2.0)
    left, spread = _response(gamma, ridge, z, r, width)
    # 1 - g r, with 1 - g(x) = (x - 2 + w) / (x + w).
    apart = (gamma - 2.0 + edge) / (gamma + edge) + g * ((gamma - 2.0) + z + width) / (gamma + z + width)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        error = np.where(bounded, (noise + tau - decay) / left, noise * alpha / (alpha - 1.0))
        variance = np.where(bounded, r / ridge, 1.0 / (alpha - 1.0))
        overlap = np.where(bounded, z * g * g * (r / (apart * (gamma - r))), rho)
        norm = np.where(bounded, overlap - decay + spread * error, error - rho - noise + 2.0 * overlap)
        # An infinite response fits the data exactly; at alpha = 1 without ridge the error diverges as well.
        training = np.where(np.isinf(variance), 0.0, error / (1.0 + variance) / (1.0 + variance))
    return Errors(error, training, overlap, norm, variance)


def _excess(gamma, ridge, alpha):
    """e_g - D at ridge > 0, as one sum; at many samples it is D / alpha."""
    z = root(gamma, ridge, alpha)
    r, width, tau, decay = _derivatives(gamma, z)
    left, spread = _response(gamma, ridge, z, r, width)
    return (tau - decay + spread / gamma) / left


def _response(gamma, ridge, z, r, width):
    """1 + z^2 r' / alpha with alpha = z (ridge + r), and one minus this."""
    square = (gamma - 2.0) * (gamma + 2.0)
    slope = r * (square / width + 2.0 * gamma * (z / width)) / (width + z)
    return (ridge + slope) / (ridge + r), (z / width) * (r / (ridge + r))


def _derivatives(gamma, z):
    """r = g(x), w = sqrt(x^2 - 4) at x = gamma + z, tau = r / (gamma (gamma - r)), and -z tau' = z r / (w (gamma - r)^2)."""
    # (gamma - 2) + z keeps the digits that x - 2 loses.
    width = np.sqrt((gamma - 2.0) + z) * np.sqrt(gamma + z + 2.0)
    r = 2.0 / (gamma + z + width)
    return r, width, r / (gamma * (gamma - r)), (z / width) * r / (gamma - r) ** 2


def optimal_ridge(gamma: float, alpha: float) -> float:
    """The ridge with the smallest generalisation error at one gamma and alpha, to a relative 1e-3.

    The part of the error that depends on the ridge is of order alpha for few samples and of order 1 / alpha^2 for many. The
    search minimises that part alone. Raises ValueError for gamma <= 2 or alpha <= 0.
    """

    def error(log_ridge):
        ridge = np.exp(log_ridge)
        found = closed_form(gamma, ridge, alpha)
        if alpha < 1.0:
            return float(found.norm - 2.0 * found.overlap) / alpha
        return float(_excess(gamma, ridge, alpha)) * alpha

    limits = np.log([np.sqrt(gamma**2 - 4.0) / 10.0, 10.0 * gamma**3 / (gamma**2 - 1.0)])
    return float(np.exp(minimize_scalar(error, bounds=limits, method="bounded", options={"xatol": 1e-7}).x))


@dataclass(frozen=True)
class Spectrum:
    """Spectral measures of the covariance Sigma of the inputs, for the general saddle point.

    Attributes
    ----------
    values, weights : arrays (n,)
        Of the normalised trace: sum of weights times f(values) = tr f(Sigma) / (L - 1).
    teacher_values, teacher_weights : arrays (k,)
        At the teacher theta: sum of weights times f(values) = theta^T f(Sigma) theta.
    noise : float
        Variance of the masked site given the others.
    """

    values: np.ndarray
    weights: np.ndarray
    teacher_values: np.ndarray
    teacher_weights: np.ndarray
    noise: float

    @classmethod
    def of_ensemble(cls, gamma: float, nodes: int = 400) -> "Spectrum":
        """The limit of large L for W from the GOE, by Gauss quadrature of the semicircle law with `nodes` nodes.

        The precision of the other sites is gamma + W' - k k^T / gamma with |k| = 1: a spike along the teacher theta = -k / gamma,
        which does not change the trace.
        """
        angles = np.pi * np.arange(1, nodes + 1) / (nodes + 1)
        bulk, weights = gamma + 2.0 * np.cos(angles), 2.0 / (nodes + 1) * np.sin(angles) ** 2
        k = np.sqrt(weights)
        values, vectors = np.linalg.eigh(np.diag(bulk) - np.outer(k, k) / gamma)
        return cls(1.0 / bulk, weights, 1.0 / values, (vectors.T @ k / gamma) ** 2, 1.0 / gamma)


def saddle_point(spectrum: Spectrum, ridge: float, alpha: float) -> Errors:
    """Solve the saddle-point equations for any spectrum at one ridge > 0 and alpha > 0:

        V^ = m^ = alpha / (1 + V),   q^ = alpha (rho + D - 2 m + q) / (1 + V)^2,   V = tr Sigma (ridge + V^ Sigma)^-1,
        m = m^ theta Sigma (ridge + V^ Sigma)^-1 Sigma theta,
        q = q^ tr Sigma^2 (ridge + V^ Sigma)^-2 + m^2 theta Sigma^3 (ridge + V^ Sigma)^-2 theta    (m^2: of the hatted m).

    Raises ValueError for ridge <= 0 or alpha <= 0.
    """
    if not (ridge > 0.0 and alpha > 0.0):
        raise ValueError(f"ridge {ridge} and alpha {alpha}: both must be above 0")
    values, weights = spectrum.values, spectrum.weights
    aligned, power = spectrum.teacher_values, spectrum.teacher_weights

    def excess(V):
        return V - float(weights @ (values / (ridge + alpha / (1.0 + V) * values)))

    V = brentq(excess, 0.0, float(weights @ values) / ridge, xtol=1e-300, rtol=1e-15)
    V_hat = alpha / (1.0 + V)
    rho, noise = float(power @ aligned), spectrum.noise
    m = V_hat * float(power @ (aligned**2 / (ridge + V_hat * aligned)))
    spread = float(weights @ (values / (ridge + V_hat * values)) ** 2) * alpha / (1.0 + V) ** 2
    signal = V_hat**2 * float(power @ (aligned**3 / (ridge + V_hat * aligned) ** 2))
    q = (signal + spread * (rho + noise - 2.0 * m)) / (1.0 - spread)
    error = rho + noise - 2.0 * m + q
    return Errors(*map(np.asarray, (error, error / (1.0 + V) ** 2, m, q, V)))
