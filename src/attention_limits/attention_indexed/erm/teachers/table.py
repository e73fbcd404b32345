"""Spectral moments of the proximal denoiser for any law: of eigenvalues x of symmetric Y, or of singular values.

The law of Y = S* + delta Z is given on pieces of its support, each at Gauss-Legendre nodes of an angle theta in which x, the
mass mu dx / d theta and the transform h are smooth (the square roots of the edges become sines). A threshold eps cuts a piece:
the integrals on both sides take interpolated values. For singular values mu counts them per d, and

    h = x P int mu(y) / (x^2 - y^2) dy + |d_q - d_k| / (2 d x),    2 h = div / d^2 of the function with slope one at x alone,

so that Theta = 2 int_eps (x - eps) h mu and all moments are those of `spectral` (derived in this module; the divergence: Candes,
Sing-Long, Trzasko 2013, arXiv:1210.4139).
"""

import numpy as np
from scipy.interpolate import BarycentricInterpolator

from attention_limits.attention_indexed.erm.spectral import Moments
from attention_limits.attention_indexed.priors.pieces import Pieces

# Nodes of a side of a cut, halvings of a bracket of a threshold, and its relative accuracy.
_X, _W = np.polynomial.legendre.leggauss(64)
_HALVINGS, _STEPS, _ACCURACY = 50, 100, 1e-12


class _Cut:
    """Nodes (x, mu dx, h) of both sides of any eps."""

    def __init__(self, pieces: Pieces):
        self.pieces, self.largest = pieces, float(pieces.high.max())
        values = np.stack([pieces.value, pieces.mass, pieces.transform]).transpose(2, 0, 1)
        # Its weights are products in a random order, which decides the last bits.
        self._all = BarycentricInterpolator(pieces.angle, values, rng=0)

    def _place(self, piece, threshold):
        """theta of x = eps in a piece."""
        if threshold <= self.pieces.low[piece]:
            return 0.0
        if threshold >= self.pieces.high[piece]:
            return np.pi
        low, high = 0.0, np.pi
        values = self.pieces.value[piece]
        after = int(np.searchsorted(values, threshold))
        low = self.pieces.angle[after - 1] if after else low
        high = self.pieces.angle[after] if after < len(values) else high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._x(middle, piece) < threshold else (low, middle)
        return 0.5 * (low + high)

    def _x(self, angle, piece):
        """x at one theta, as `_all` computes it; its checks would take most of the time of the halvings."""
        distance = angle - self._all.xi
        if not distance.all():
            return self._all(angle)[0, piece]
        weights = self._all.wi / distance
        return (weights @ self._all.yi)[piece] / np.sum(weights)

    def above(self, threshold):
        """Above eps: array (3, n) of x, mu dx and h."""
        return self._between([(self._place(piece, threshold), np.pi) for piece in range(len(self.pieces.low))])

    def sides(self, threshold):
        """Above and below eps: arrays (3, n) of x, mu dx and h."""
        middles = [self._place(piece, threshold) for piece in range(len(self.pieces.low))]
        above, below = ([(middle, np.pi) for middle in middles], [(0.0, middle) for middle in middles])
        return self._between(above), self._between(below)

    def _between(self, ends):
        """Array (3, n) of x, mu dx and h between two theta of each piece."""
        parts = []
        for piece, (start, end) in enumerate(ends):
            if end - start > 1e-12:
                at = self._all(start + 0.5 * (end - start) * (_X + 1.0))[:, :, piece]
                at[:, 1] *= 0.5 * (end - start) * _W
                parts.append(at.T)
        return np.concatenate(parts, axis=1) if parts else np.zeros((3, 0))


class TableLaw:
    """The law of Y at `delta` (n,) > 0, with the functions of `spectral.Law`.

    Parameters
    ----------
    pieces_of : callable
        pieces_of(delta) -> Pieces of one delta.
    delta : array (n,)
    symmetric : bool
        Whether x are eigenvalues; else they are singular values.
    longer : float
        |d_q - d_k| / d.
    """

    def __init__(self, pieces_of, delta, symmetric: bool, longer: float = 0.0):
        self.delta, self.symmetric, self.longer = np.atleast_1d(np.asarray(delta, dtype=float)), symmetric, longer
        self.noise = self.delta**2
        self._cuts = [_Cut(pieces_of(float(one))) for one in self.delta]
        self.largest = np.array([cut.largest for cut in self._cuts])

    def moments(self, threshold) -> Moments:
        """All moments at eps = `threshold` (n,) >= 0."""
        rows = [self._moments(k, float(eps)) for k, eps in enumerate(np.broadcast_to(threshold, self.delta.shape))]
        rank, A, J, theta, error, transform = np.array(rows).T
        return Moments(rank, A, J, theta, error, transform)

    def _moments(self, k, threshold):
        (x, mass, h), (y, rest, _) = self._cuts[k].sides(threshold)
        over, noise = x - threshold, self.noise[k]
        rank, theta = mass.sum(), 2.0 * np.sum(over * h * mass)
        error = threshold**2 * rank + np.sum(y**2 * rest) + (2.0 * theta - 1.0) * noise
        return rank, np.sum(over * mass), np.sum(over**2 * mass), theta, error, np.sum(h * mass)

    def decay_threshold(self, equations, decay):
        """As `spectral.Law.decay_threshold`, for alpha K = `equations` (n,) and lambda = `decay` (n,)."""
        equations, decay = (np.broadcast_to(np.asarray(x, float), self.delta.shape) for x in (equations, decay))
        return np.array([self._threshold(k, *pair) for k, pair in enumerate(zip(equations, decay, strict=True))])

    def best_threshold(self):
        """eps (n,) of the smallest error: eps rank = 2 delta^2 int_eps h mu."""
        return np.array([self._threshold(k, None, 0.0) for k in range(len(self.delta))])

    def _threshold(self, k, equations, decay):
        """eps by the Illinois method, as `spectral_kernels.thresholds`."""
        top = self.largest[k]
        if equations is not None and 0.5 * decay >= equations * top:
            return 0.5 * decay / equations

        def excess(threshold):
            x, mass, h = self._cuts[k].above(threshold)
            if equations is None:
                return threshold * mass.sum() - 2.0 * self.noise[k] * np.sum(h * mass)
            free = equations - 2.0 * np.sum((x - threshold) * h * mass)
            return threshold * free - 0.5 * decay if decay > 0.0 else free

        # At the end of the support the rank vanishes, and the slope of the error with it.
        a, b = 0.0, top if equations is not None else top * (1.0 - 1e-6)
        at_a, at_b = excess(a), excess(b)
        if at_a >= 0.0 or at_b <= 0.0:
            return a if at_a >= 0.0 else b
        last = new = top
        for _ in range(_STEPS):
            new = b - at_b * (b - a) / (at_b - at_a)
            if abs(new - last) <= _ACCURACY * abs(new):
                break
            last, value = new, excess(new)
            if value < 0.0:
                a, at_a, at_b = new, value, 0.5 * at_b
            else:
                b, at_b, at_a = new, value, 0.5 * at_a
        return new

    def squared_response(self, threshold: float) -> float:
        """The mean square of the entries of the derivative of f at one eps = `threshold`, of a law of one delta.

        Symmetric: int int ((f(x) - f(y)) / (x - y))^2 mu mu. Else half of this and of the same with sums for differences, and
        |d_q - d_k| / d int (f / x)^2 mu.
        """
        (x, mass, _), (y, rest, _) = self._cuts[0].sides(threshold)
        f = x - threshold
        quotient = np.clip(f[:, None] / np.maximum(x[:, None] - y, 1e-300), 0.0, 1.0)
        differences = mass.sum() ** 2 + 2.0 * mass @ quotient**2 @ rest
        if self.symmetric:
            return float(differences)
        sums = mass @ (np.add.outer(f, f) / np.add.outer(x, x)) ** 2 @ mass
        sums += 2.0 * mass @ (f[:, None] / (x[:, None] + y)) ** 2 @ rest
        return float(0.5 * (differences + sums) + self.longer * np.sum((f / x) ** 2 * mass))

    def density(self, threshold: float, count: int):
        """x - eps and mu at `count` points above eps = `threshold` of the two largest pieces, each (2, count).

        They are uniform in theta, from the largest one on.
        """
        shown, cut = np.full((2, 2, count), np.nan), self._cuts[0]
        for row, piece in enumerate(np.argsort(-cut.pieces.high)[:2]):
            start = cut._place(piece, threshold)
            if np.pi - start > 1e-9:
                angle = np.linspace(np.pi, start, count)
                at = cut._all(angle)[:, :, piece]
                change = np.abs(np.gradient(at[:, 0], angle))
                shown[:, row] = at[:, 0] - threshold, at[:, 1] / np.maximum(change, 1e-300)
        return shown[0], shown[1]
