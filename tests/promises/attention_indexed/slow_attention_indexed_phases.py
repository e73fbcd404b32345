"""Phases of one layer whose output reads one score off the diagonal, slow and independent: dense grids and trapezoids.

The mutual information of the score and y = f(h_12) + sqrt(spread) Z is the entropy of y on a grid, without any posterior mean.
Its derivative gives the information, F is alpha (i_out(1) - i_out(V)) - B, and the phases follow from F on a grid of D alone.
"""

import numpy as np
from scipy.interpolate import CubicSpline

# Points of the score, fewest of omega, of V, of D; steps of y in standard deviations of the noise, of omega in root V.
_SCORES, _FIELDS, _PLACES, _NOISES, _STEP, _FIELD_STEP = 2401, 61, 70, 8000, 0.5, 0.8


def output_information(output, spread, V, Q):
    """I(h; y | omega) of y = output(h) + sqrt(spread) Z at each V (n,), omega of variance Q - V."""
    h = np.linspace(-7.0, 7.0, _SCORES) * np.sqrt(Q)
    clean = output(h)
    y = np.arange(clean.min() - 7.0 * np.sqrt(spread), clean.max() + 7.0 * np.sqrt(spread), _STEP * np.sqrt(spread))
    kernel = np.exp(-0.5 * (y[:, None] - clean) ** 2 / spread) / np.sqrt(2.0 * np.pi * spread)
    found = []
    for variance in V:
        width = np.sqrt(max(Q - variance, 0.0))
        x = np.linspace(-6.5, 6.5, max(_FIELDS, int(13.0 * width / (_FIELD_STEP * np.sqrt(variance)))))
        weights = np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum()
        omega = width * x
        prior = np.exp(-0.5 * (h[:, None] - omega) ** 2 / variance)
        density = kernel @ (prior / prior.sum(axis=0))
        entropy = -np.sum(density * np.log(np.maximum(density, 1e-300)), axis=0) * (y[1] - y[0])
        found.append(weights @ entropy - 0.5 * np.log(2.0 * np.pi * np.e * spread))
    return np.array(found)


class Phases:
    """alpha and F over D of an output and a law of S; `mmse` is its error (n,) at D (n,), `Q` the prior variance."""

    def __init__(self, output, spread, mmse, Q):
        # The last V is that without data.
        places = np.linspace(np.log(3e-4), np.log(3e3), _PLACES)
        V = np.append(1.0 / (1.0 + np.exp(-places)), 1.0)
        information = output_information(output, spread, V, Q)
        self.information = CubicSpline(V, information)
        D = np.geomspace(1e5, 1e-5, _NOISES)
        self.V = mmse(D)
        steps = 0.25 * 0.5 * (1.0 / D[1:] + 1.0 / D[:-1]) * -np.diff(self.V)
        self.B = np.append(0.0, np.cumsum(steps))
        self.A = self.information(1.0) - self.information(self.V)
        self.alpha = 1.0 / (4.0 * D * self.information(self.V, 1))

    def best(self, alpha):
        """V of the largest F."""
        return self.V[np.argmax(alpha * self.A - self.B)]

    def reached(self, alpha):
        """V of the fixed point of the largest D."""
        return self.V[np.argmax(self.alpha >= alpha)]

    def thresholds(self, low, high):
        """alpha_IT and alpha_alg between two alphas: the ends of the range where `best` and `reached` differ by a tenth."""
        alphas = np.geomspace(low, high, 400)
        hard = [self.best(alpha) < 0.9 * self.reached(alpha) for alpha in alphas]
        if not any(hard):
            return None
        first, last = np.argmax(hard), len(hard) - 1 - np.argmax(hard[::-1])
        assert first > 0
        assert last < len(hard) - 1
        ends = []
        for inside, outside in ((alphas[first], alphas[first - 1]), (alphas[last], alphas[last + 1])):
            for _ in range(25):
                middle = 0.5 * (inside + outside)
                if self.best(middle) < 0.9 * self.reached(middle):
                    inside = middle
                else:
                    outside = middle
            ends.append(0.5 * (inside + outside))
        return tuple(ends)
