"""Rotationally invariant S with any law of its eigenvalues.

A symmetric S is observed as Y = S + sqrt(D) Z, Z of the Gaussian orthogonal ensemble. With g the transform of the law of S, the
eigenvalues of Y have the density v / (pi D) at lambda, where (Biane 1997)

    w = u + i v,    E 1 / |w - x|^2 = 1 / D,    lambda = w + D g(w) = u + D h,    g(w) = h - i v / D.

An eigenvector of Y with eigenvalue lambda overlaps with eigenvectors of S whose eigenvalues x have the density D / |w - x|^2. Its
mean xi = u - D h is the posterior mean, its variance is D - D^2 h^2 - v^2 (Bun, Allez, Bouchaud, Potters 2016). The mean of the
variance is mmse(D).

Eigenvalues are scaled so that their variance is one: the error is one without data, as for the Wishart law.
"""

import math

import numpy as np

from attention_limits.attention_indexed.priors.pieces import Pieces
from attention_limits.attention_indexed.priors.tabulated import Tabulated
from attention_limits.attention_indexed.priors.wishart import Symmetric

# Halvings of a bracket.
_STEPS = 50
# Excess over 1 / D, times D, up to which two merged bulks count as two.
_NEARLY = 10.0
# Gauss-Legendre nodes of a bulk, in the angle: of a law with one interval, with a few, and with more than `_FEW` gaps.
_NODES, _FEW = (48, 96, 24), 8


class Invariant(Tabulated, Symmetric):
    """S with Haar eigenvectors and eigenvalues of a `law`, scaled to variance one: a `Prior`.

    The law has the attributes and functions of `spectra.Law`: mean, variance, support, point_masses, scaled, transform,
    inverse_squares, values. Raises ValueError where its variance is not positive.
    """

    per_decade = 8

    def __init__(self, law):
        if not law.variance > 0:
            raise ValueError(f"the eigenvalues of S must have a positive variance, got {law.variance:g}")
        self.law = law.scaled(1.0 / math.sqrt(law.variance))
        self.mean = self.law.mean
        self.Q = 1.0 + self.mean**2
        self.effective_dimension = 0.5 * (1.0 - float(np.sum(self.law.point_masses**2)))

    def realised(self, size):
        """The law itself: a file gives it for rho, not for r/d of `size`."""
        return self

    def draw(self, size, generator):
        """S with the quantiles of the law and Haar eigenvectors, d of `size`, from the numpy.random.Generator `generator`."""
        normal = generator.standard_normal((size.dimension, size.dimension))
        vectors, triangle = np.linalg.qr(normal)
        vectors *= np.sign(np.diag(triangle))
        return (vectors * self.law.values(size.dimension)) @ vectors.T

    def traces(self, size):
        """Those of every draw: the quantiles of the law are not random. d of `size`."""
        values = self.law.values(size.dimension)
        return float(np.mean(values)), float(np.mean(values**2))

    def exact_mmse(self, noise: float) -> float:
        """The error at one D = `noise` > 0 by quadrature over the bulks."""
        _, _, h, v, steps = self._spectrum(noise)
        return float(np.sum(v / (np.pi * noise) * (noise - noise**2 * h**2 - v**2) * steps))

    def shrink(self, eigenvalues, noise):
        """xi of `eigenvalues` (d,) at D = `noise`, linear between the nodes of the bulks, and its slope.

        Beyond the bulks both are those of the nearest end.
        """
        value, u, h, _, _ = self._spectrum(noise)
        order = np.argsort(value)
        value, xi = value[order], (u - noise * h)[order]
        xi = np.maximum.accumulate(xi)
        middle, slope = 0.5 * (value[1:] + value[:-1]), np.diff(xi) / np.maximum(np.diff(value), 1e-300)
        outside = (eigenvalues < value[0]) | (eigenvalues > value[-1])
        return np.interp(eigenvalues, value, xi), np.where(outside, 0.0, np.interp(eigenvalues, middle, slope))

    def pieces(self, noise: float) -> Pieces:
        """The law of the eigenvalues of Y at D = `noise`, on its bulks."""
        low, high = self._bulks(noise)
        half = 0.5 * (high - low)[:, None]
        x, _ = np.polynomial.legendre.leggauss(_NODES[1])
        angle = 0.5 * np.pi * (x + 1.0)
        u = 0.5 * (high + low)[:, None] - half * np.cos(angle)
        ends = [end + noise * self.law.transform(end + 1e-12j)[0].real for end in (low, high)]
        v = self._height(u.ravel(), noise)
        g, slope = self.law.transform(u.ravel() + 1j * v)
        c = 1.0 + noise * slope
        mass = v / (np.pi * noise) * np.abs(c) ** 2 / c.real
        value, mass, h = (part.reshape(u.shape) for part in (u.ravel() + noise * g.real, mass, g.real))
        return Pieces(angle, value, mass * half * np.sin(angle), h, *ends)

    def _spectrum(self, noise):
        """lambda, u, h, v and the weights of d lambda at the nodes of all bulks, arrays of one shape."""
        low, high = self._bulks(noise)
        half = 0.5 * (high - low)[:, None]
        gaps = len(self.law.support) - 1
        x, weights = np.polynomial.legendre.leggauss(_NODES[(gaps > 0) + (gaps > _FEW)])
        angle = 0.5 * np.pi * (x + 1.0)
        u = (0.5 * (high + low)[:, None] - half * np.cos(angle)).ravel()
        v = self._height(u, noise)
        g, slope = self.law.transform(u + 1j * v)
        c = 1.0 + noise * slope
        steps = (half * np.sin(angle) * 0.5 * np.pi * weights).ravel() * np.abs(c) ** 2 / c.real
        return u + noise * g.real, u, g.real, v, steps

    def _height(self, u, noise):
        """v > 0 with E 1 / |w - x|^2 = 1 / D, by bisection of log v."""
        low, high = np.full_like(u, np.log(1e-14)), np.full_like(u, 0.5 * np.log(noise))
        for _ in range(_STEPS):
            middle = 0.5 * (low + high)
            above = self.law.inverse_squares(u, np.exp(middle)) > 1.0 / noise
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.exp(0.5 * (low + high))

    def _bulks(self, noise):
        """Ends in u of the intervals with v > 0: low and high, each (bulks,)."""
        support = self.law.support

        def excess(u):
            return self.law.inverse_squares(u, np.full_like(u, 1e-12)) - 1.0 / noise

        def edge(inner, outer):
            """Where the excess changes sign between the support and a point where it is negative."""
            for _ in range(_STEPS):
                middle = 0.5 * (inner + outer)
                inside = excess(middle) > 0
                inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
            return inner

        reach = 1.001 * math.sqrt(noise)
        first, last = edge(support[:1, 0], support[:1, 0] - reach), edge(support[-1:, 1], support[-1:, 1] + reach)
        left, right = support[:-1, 1], support[1:, 0]
        # The excess is convex in a gap: golden section for its minimum.
        a, b, golden = left.copy(), right.copy(), 0.5 * (math.sqrt(5.0) - 1.0)
        for _ in range(_STEPS):
            c, e = b - golden * (b - a), a + golden * (b - a)
            lower = excess(c) < excess(e)
            a, b = np.where(lower, a, c), np.where(lower, e, b)
        neck = 0.5 * (a + b)
        depth = excess(neck) * noise if len(neck) else np.zeros(0)
        # Merged bulks still end at the neck, where the density is nearly singular. With many gaps only shallow necks count.
        counted = depth < (np.inf if len(neck) <= _FEW else _NEARLY)
        ends, starts = (np.where(depth < 0, edge(side, neck), neck)[counted] for side in (left, right))
        return np.concatenate([first, starts]), np.concatenate([ends, last])
