"""Hardmax of any number of tokens: posterior means by Gibbs sampling.

Given the data the entries of h are independent, and the largest entry of each row being where it is seen bounds each of them by
the others: a Gibbs sweep draws truncated normals. Two chains per output give squares of posterior means without bias.
Derived for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator

from attention_limits.attention_indexed.hardmax_kernels import gibbs_means
from attention_limits.attention_indexed.score import Score

# The information is sampled at so many values of log(1 + q/V) up to this; beyond, only outputs near a tie tell anything, and it
# goes like sqrt(V/q).
_LARGEST, _POINTS = np.log(3e3), 14


class SampledHardmax:
    """y_a = position of the largest entry of row a; a `channel.Channel` whose numbers have errors.

    Parameters
    ----------
    tokens : int
        T >= 2.
    generator : numpy.random.Generator
        Of all samples: independent generators give independent estimates, whose spread is their error.
    pairs : int
        Outputs drawn for the information at each posterior variance.
    sweeps : int
        Gibbs sweeps per chain, after as many for equilibration.

    Raises
    ------
    ValueError
        Without a generator.
    """

    equations = None
    scale_free = True

    def __init__(self, tokens: int, generator, pairs: int = 20000, sweeps: int = 50):
        if generator is None:
            raise ValueError(f"hardmax of {tokens} tokens is sampled and needs a generator")
        self.tokens, self._pairs, self._sweeps = tokens, pairs, sweeps
        self._for_information, self._for_scores = generator.spawn(2)

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q, interpolated between sampled values."""
        x = np.log1p((Q - V) / V)
        inside = np.minimum(x, _LARGEST)
        return np.exp(self._table(inside) - 0.5 * (x - inside)) / V

    def observe(self, h):
        """The positions (n, T) of the largest entries of the rows of scores h (n, T, T)."""
        return np.argmax(h, axis=2)

    def score(self, observed, omega, V):
        """G, an estimate, given the positions `observed` (n, T), omega (n, T, T) and V > 0."""
        return self._score(observed, omega, V, self._for_scores)

    def variance(self, observed, omega):
        """None: positions, `observed` (n, T), do not tell their distance to omega (n, T, T)."""
        return None

    def _score(self, observed, omega, V, generator):
        means = np.empty((2, *omega.shape))
        gibbs_means(observed, omega, float(V), self._sweeps, generator, means)
        G = means / (2.0 * V)
        return Score(G.mean(axis=0), float(np.sum(G[0] * G[1]) / len(omega)))

    @cached_property
    def _table(self):
        """log(V E[4 sum G^2]) against log(1 + q/V), from the same fields at all points, so that the curve is smooth."""
        shape = (2, self._pairs, self.tokens, self.tokens)
        fields = self._for_information.standard_normal(shape) / np.sqrt(2.0)
        fields = fields + fields.transpose(0, 1, 3, 2)
        seeds = self._for_information.bit_generator.seed_seq.spawn(1)[0]
        points, values = np.linspace(0.0, _LARGEST, _POINTS), []
        for x in points:
            omega = np.sqrt(np.expm1(x)) * fields[0]
            again = np.random.Generator(np.random.SFC64(seeds))
            power = self._score(self.observe(omega + fields[1]), omega, 1.0, again).power
            values.append(np.log(4.0 * power))
        return PchipInterpolator(points, values)
