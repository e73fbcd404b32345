"""Denoising of S = W W^T / sqrt(r d) from Y = S + sqrt(D) Z, Z of the Gaussian orthogonal ensemble (off-diagonal variance 1/d).

The Stieltjes transform g = E 1 / (z - lambda) of the spectrum of Y in the limit d -> infinity, rho = r/d, solves

    z = 1/g + D g + rho / (sqrt(rho) - g),    a cubic,

and where the density mu is positive, g = h - i pi mu. The imaginary part of z is zero, so 1/|g|^2 = D + rho / |sqrt(rho) - g|^2.
With s = |g| and t = |sqrt(rho) - g| everything is an explicit function of t alone:

    s = t / sqrt(D t^2 + rho),    h = (rho + s^2 - t^2) / (2 sqrt(rho)),    lambda = 2 D h + xi,    xi = rho^(3/2) / t^2,

and pi mu is the height over the side sqrt(rho) of the triangle with sides s, t, sqrt(rho). No cubic is solved, nothing cancels,
and the support is where the triangle exists. xi = lambda - 2 D h is the posterior mean of an eigenvalue: keeping the eigenvectors
and mapping lambda -> xi is the Bayes-optimal denoiser (Bun, Allez, Bouchaud, Potters 2016; Boncoraglio, Troiani, Erba, Zdeborova
2025, arXiv:2506.01582). It increases with lambda, so t decreases.

An eigenvector of Y with eigenvalue lambda overlaps with eigenvectors of S whose eigenvalues have the variance D (1 - D |g|^2):
the second moment under the overlaps D / |lambda - D g - x|^2 of Bun et al. minus xi^2. The mean of this variance is the error per
d, in which nothing cancels:

    mmse(D) = D int mu xi / (xi + sqrt(rho) D)    ( = 1 - int mu (xi - sqrt(rho))^2 = D - (4 pi^2 / 3) D^2 int mu^3 ).

Everywhere `ratio` is rho, one number, `noise` is D, and `eigenvalues` are lambda, those of Y.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from attention_limits.attention_indexed.priors.denoisers import wishart_kernels

# Gauss-Legendre nodes per panel, in the angle theta of log t = middle - half cos(theta): at the edges mu vanishes like a square
# root, which this makes smooth.
NODES = 64
_X, _W = np.polynomial.legendre.leggauss(NODES)
# Below this fraction of the merging point the noise does not change the bulk of the eigenvalues that are not zero.
_SEPARATE = 1e-11
_ANGLE, _STEP = 0.5 * np.pi * (_X + 1.0), 0.5 * np.pi * _W


def merging_point(ratio):
    """The noise D at which the two bulks of rho < 1 become one, (rho^(-1/3) - 1)^3; zero for rho >= 1, which has one bulk."""
    return np.maximum(np.asarray(ratio, dtype=float) ** (-1.0 / 3.0) - 1.0, 0.0) ** 3


def effective_dimension(ratio):
    """nu = rho - rho^2 / 2 for rho < 1, else 1/2: free parameters of S per d^2; mmse(D) -> 2 nu D for D -> 0."""
    ratio = np.asarray(ratio, dtype=float)
    return np.where(ratio < 1.0, ratio - 0.5 * ratio**2, 0.5)


@dataclass(frozen=True)
class Spectrum:
    """The spectrum of Y at points t of its support; arrays of one shape.

    Attributes
    ----------
    eigenvalue, transform, height, signal : array
        lambda; h = Re g; pi mu; xi, the posterior mean of the eigenvalue of S.
    """

    eigenvalue: np.ndarray
    transform: np.ndarray
    height: np.ndarray
    signal: np.ndarray


def spectrum(t, ratio, noise) -> Spectrum:
    """lambda, h, pi mu and xi at t = |sqrt(rho) - g|; arguments broadcast. Outside of the support pi mu is zero."""
    root = np.sqrt(ratio)
    total, difference = wishart_kernels.sides.py_func(t, ratio, noise)
    product = (total + root) * (total - root) * (root + difference) * (root - difference)
    h, signal = wishart_kernels.transform_and_signal.py_func(t, total, difference, ratio)
    return Spectrum(2.0 * noise * h + signal, h, np.sqrt(np.maximum(product, 0.0)) / (2.0 * root), signal)


def panels(ratio: float, noise) -> tuple[np.ndarray, np.ndarray]:
    """Ends in t of the bulks of the spectrum, from the largest eigenvalues on: low and high, each (..., bulks), for D (...).

    For rho < 1 there are always two panels; above `merging_point` they share an end, where the density is smallest.
    Raises ValueError if rho <= 0 or a D <= 0.
    """
    noise = np.asarray(noise, dtype=float)
    if not (0 < ratio < np.inf) or not np.all((noise > 0) & (noise < np.inf)):
        raise ValueError(f"need rho > 0 and D > 0, both finite, got rho = {ratio} and D = {noise}")
    low, high = _panels(ratio, noise) if noise.ndim else _panels_of_one(ratio, float(noise))
    return low.copy(), high.copy()


# `shrink` and `mmse` of one iteration of message passing need the same ends.
@lru_cache(maxsize=8)
def _panels_of_one(ratio, noise):
    return _panels(ratio, np.asarray(noise))


def _panels(ratio, noise):
    noises = noise.ravel()
    low, high = np.empty((2, len(noises), 1 if ratio >= 1.0 else 2))
    wishart_kernels.bulk_ends(float(ratio), noises, low, high)
    shape = (*noise.shape, -1)
    return low.reshape(shape), high.reshape(shape)


def _quadrature(ratio, noise):
    """Spectrum at the nodes and weights of d lambda, each (..., nodes)."""
    low, high = panels(ratio, noise)
    half = 0.5 * np.log(high / low)[..., None]
    t = low[..., None] * np.exp(half * (1.0 - np.cos(_ANGLE)))
    noise = np.asarray(noise, dtype=float)[..., None, None]
    steps = half * np.sin(_ANGLE) * _STEP * t * -wishart_kernels.slope_of_place.py_func(t, ratio, noise)
    shape = (*t.shape[:-2], -1)
    found = spectrum(t, ratio, noise)
    return Spectrum(*(getattr(found, name).reshape(shape) for name in Spectrum.__dataclass_fields__)), steps.reshape(
        shape
    )


def stieltjes(eigenvalues, ratio: float, noise: float):
    """g = h - i pi mu (complex, as `eigenvalues`) at real lambda, the limit from above; real outside of the support.

    Raises ValueError as `panels`.
    """
    values = np.asarray(eigenvalues, dtype=float)
    low, high = panels(ratio, noise)
    t = np.empty(values.size)
    wishart_kernels.places(values.ravel(), low, high, float(ratio), float(noise), t)
    found = spectrum(t, ratio, noise)
    result = found.transform - 1j * found.height
    wishart_kernels.transforms(values.ravel(), low, high, float(ratio), float(noise), result)
    return result.reshape(values.shape)


def density(eigenvalues, ratio: float, noise: float):
    """mu at real lambda. Raises ValueError as `panels`."""
    return -stieltjes(eigenvalues, ratio, noise).imag / np.pi


def shrink(eigenvalues, ratio: float, noise: float):
    """xi of each eigenvalue of Y, and d xi / d lambda.

    Outside of the support, below the merging point, xi is its continuation lambda - 2 D g, at least zero: a finite teacher has
    eigenvalues beyond the ends of its limit, and in the gap xi would jump. Above the merging point, and at rho >= 1, noise
    reaches further out than the signal that it hides, and xi is that of the nearest end of a bulk.

    Raises ValueError as `panels`.
    """
    values, (low, high) = np.asarray(eigenvalues, dtype=float), panels(ratio, noise)
    xi, slope = np.empty((2, values.size))
    continued = bool(noise < merging_point(ratio))
    wishart_kernels.shrink(values.ravel(), low, high, float(ratio), float(noise), continued, xi, slope)
    return xi.reshape(values.shape), slope.reshape(values.shape)


def response(eigenvalues, xi, slope):
    """Mean over the directions of a symmetric matrix of the derivative of its denoiser, from `eigenvalues` (d,), `xi` and
    `slope` of `shrink`.

    (1/d^2) sum_kl (1 + delta_kl) (xi_k - xi_l) / (lambda_k - lambda_l). Times D it has the limit mmse(D) (Stein's lemma).
    """
    return (wishart_kernels.quotient_sum(eigenvalues, xi, slope) + float(slope.sum())) / len(eigenvalues) ** 2


def integrate(function, ratio: float, noise):
    """int mu(lambda) function(Spectrum) d lambda over the support, for each D (...)."""
    found, steps = _quadrature(ratio, noise)
    return np.sum(found.height / np.pi * function(found) * steps, axis=-1)


def mmse(ratio: float, noise):
    """Error (1/d) E ||S - E[S | Y]||_F^2 at noise D (...): between 0 at D = 0 and 1 at D = infinity.

    Relative error below 1e-9 for 1e-9 <= rho <= 100 and every D. Far below the merging point the bulk around zero has the width
    sqrt(rho D) in log t and loses its digits; the limit 2 nu D has a relative error D / `merging_point` at this point.
    Raises ValueError as `panels`.
    """
    noise, (low, high) = np.asarray(noise, dtype=float), panels(ratio, noise)
    error, bulks = np.empty(noise.size), low.shape[-1]
    ends = low.reshape(-1, bulks), high.reshape(-1, bulks)
    wishart_kernels.errors(*ends, float(ratio), noise.ravel(), _ANGLE, _STEP, error)
    error = error.reshape(noise.shape)
    return np.where(noise < _SEPARATE * merging_point(ratio), 2.0 * effective_dimension(ratio) * noise, error)
