"""Denoising of S = Q K^T / sqrt(r d), Q (d_q x r) and K (d_k x r) independent, from Y = S + sqrt(D) Z, d = sqrt(d_q d_k).

The entries of Z have the variance 1/d; rho = r/d and s = sqrt(d_q / d_k) + sqrt(d_k / d_q) > 2; square matrices, s = 2, are in
`product`. With the transforms g_q = (1/d_q) tr z / (z^2 - Y Y^T) and g_k alike, p = g_q g_k solves

    (rho - p)^2 (1 - z^2 p) + s p (rho - p) f + p^2 f^2 = 0,    f = rho (1 + D) - D p,    a quartic,

that is z^2 p = 1 + s u + u^2 with u = p f / (rho - p) = sqrt(d_q / d_k) (z g_q - 1), and the same for g_k with the inverse root.
(z = 1/g_q + (d_k / d) g_k [D + rho / (rho - p)]: the last term is the sum over the r columns of S, each of rank one; for s = 2 it
is that of `product`.) On the support, lambda > 0, one pair of roots is complex, and

    (1/d) sum_i f(lambda_i) = int nu f d lambda,    nu = -(2 / pi) Im u / lambda,    xi = lambda - (D / lambda) (s + 2 Re u),
    mmse(D) = D - int nu (lambda - xi)^2 d lambda = 1 - int nu xi^2 d lambda.

Keeping the singular vectors and mapping lambda -> xi is the Bayes-optimal denoiser of a law without preferred directions
(Troiani, Erba, Krzakala, Maillard, Zdeborova 2022, arXiv:2203.07752); the transforms are derived for the model of this family.

Everywhere x = lambda^2.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

# Gauss-Legendre nodes of a bulk, in the angle theta of log lambda = middle - half cos(theta).
_X, _W = np.polynomial.legendre.leggauss(160)
_ANGLE, _STEP = 0.5 * np.pi * (_X + 1.0), 0.5 * np.pi * _W
# Critical points this close to the double pole p = rho, relative to it, are rounding errors; so are imaginary parts.
_POLE, _REAL = 1e-6, 1e-9


@dataclass(frozen=True)
class RectangularLaw:
    """The singular values of Y at one noise.

    Attributes
    ----------
    ratio, excess, noise : float
        rho, s and D.

    Raises
    ------
    ValueError
        If rho or D is not positive and finite, or s is not above two.
    """

    ratio: float
    excess: float
    noise: float

    def __post_init__(self):
        if not (0 < self.ratio < np.inf and 0 < self.noise < np.inf and 2 < self.excess < np.inf):
            raise ValueError(f"need rho > 0, D > 0 and s > 2, got {self.ratio}, {self.noise} and {self.excess}")

    @cached_property
    def _polynomials(self):
        """N and M of the quartic N(p) = x M(p)."""
        p = np.polynomial.Polynomial([0.0, 1.0])
        f, rest = self.ratio * (1.0 + self.noise) - self.noise * p, self.ratio - p
        return rest**2 + self.excess * p * rest * f + p**2 * f**2, p * rest**2

    def _progress(self, p):
        """u at p."""
        return p * (self.ratio * (1.0 + self.noise) - self.noise * p) / (self.ratio - p)

    def _places(self, x):
        """p with the smallest imaginary part of u at each x (n,), complex (n,); real where x is not in the support."""
        upper, lower = self._polynomials
        rows = upper.coef - x[:, None] * np.pad(lower.coef, (0, 1))
        companion = np.zeros((len(rows), 4, 4))
        companion[:, 1:, :-1] = np.eye(3)
        companion[:, :, -1] = -rows[:, :4] / rows[:, 4:]
        roots = np.linalg.eigvals(companion).astype(complex)
        best = np.argmin(self._progress(roots).imag, axis=1)
        return np.take_along_axis(roots, best[:, None], axis=1)[:, 0]

    @cached_property
    def _critical(self):
        """The critical points of x(p) without the double pole, complex."""
        upper, lower = self._polynomials
        p = (upper.deriv() * lower - upper * lower.deriv()).roots()
        return p[np.abs(p - self.ratio) > _POLE * self.ratio]

    @cached_property
    def bulks(self) -> np.ndarray:
        """Ends in lambda of the intervals of the support, (bulks, 2): x(p) is critical there."""
        upper, lower = self._polynomials
        p = self._critical[np.abs(self._critical.imag) < _REAL * np.abs(self._critical)].real
        x = upper(p) / lower(p)
        x = np.sort(x[x > 0])
        inside = self._progress(self._places(np.sqrt(x[1:] * x[:-1]))).imag < 0
        return np.sqrt(np.stack([x[:-1], x[1:]], axis=1)[inside])

    @cached_property
    def pieces(self) -> np.ndarray:
        """The bulks, (pieces, 2), cut at their necks: where two bulks have just merged, a complex critical x is near the
        axis, and the density nearly has an end."""
        upper, lower = self._polynomials
        p = self._critical[self._critical.imag > _REAL * np.abs(self._critical)]
        necks = np.sqrt(np.maximum((upper(p) / lower(p)).real, 0.0))
        pieces = []
        for low, high in self.bulks:
            ends = np.sort([low, *necks[(necks > low) & (necks < high)], high])
            pieces += pairwise(ends)
        return np.array(pieces)

    def denoised(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """xi, d xi / d lambda and nu of singular `values` (n,) in the support; arrays (n,)."""
        x = values**2
        p = self._places(x)
        upper, lower = self._polynomials
        change = lower(p) / (upper.deriv()(p) - x * lower.deriv()(p))
        u = self._progress(p)
        rise = (self.ratio * (1.0 + self.noise) - 2.0 * self.noise * p + u) / (self.ratio - p)
        pull = self.noise * (self.excess + 2.0 * u.real)
        slope = 1.0 + pull / x - 4.0 * self.noise * (rise * change).real
        return values - pull / values, slope, -2.0 / np.pi * u.imag / values

    def integrate(self, function) -> float:
        """int nu function(lambda, xi) d lambda over the support; of the function one it is min(d_q, d_k) / d."""
        low, high = np.log(self.pieces).T
        half = 0.5 * (high - low)[:, None]
        values = np.exp(low[:, None] + half * (1.0 - np.cos(_ANGLE))).ravel()
        steps = (half * np.sin(_ANGLE) * _STEP).ravel() * values
        xi, _, density = self.denoised(values)
        return float(np.sum(density * function(values, xi) * steps))

    def mmse(self) -> float:
        """The error at D, from the one of two forms with less cancellation."""
        if self.noise < 1.0:
            return self.noise - self.integrate(lambda value, xi: (value - xi) ** 2)
        return 1.0 - self.integrate(lambda value, xi: xi**2)

    def shrink(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """xi of singular `values` (n,) and d xi / d lambda; outside of the support that of the nearest end, and zero."""
        low, high = self.bulks.T
        inside = np.clip(values[:, None], low * (1.0 + _REAL), high * (1.0 - _REAL))
        nearest = np.argmin(np.abs(inside - values[:, None]), axis=1)
        wanted = np.take_along_axis(inside, nearest[:, None], axis=1)[:, 0]
        xi, slope, _ = self.denoised(wanted)
        return xi, np.where(wanted == values, slope, 0.0)
