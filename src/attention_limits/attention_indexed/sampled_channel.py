"""Channels whose posterior is sampled: the scores given an output, by importance sampling on Sobol nodes.

Given y, Z = (h - omega) / sqrt(V) has the prior N(0, 1 + delta_ab) times P(y | h). Two independent scramblings of nodes, in pairs
of opposite sign, give two estimates of its mean m, and G = m / (2 sqrt(V)). The product of both is an estimate of sum_ab G_ab^2
that the noise of the nodes does not bias. The nodes have the exact covariance of the prior: the mean of an output with little
information, which is linear in its likelihood, is then exact. Where few nodes carry an output, a normal proposal is fitted to the
weights and the output sampled again. The information at a given Q is a table over V. Each group of outputs has its own nodes, so
the scatter of the groups is the error of both averages, over outputs and over nodes.

Source of the model: Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

import numpy as np
from scipy.interpolate import PchipInterpolator

from attention_limits.attention_indexed.gradient import Gradient
from attention_limits.attention_indexed.model import over_last
from attention_limits.attention_indexed.output_channel import POSTERIOR, described_by
from attention_limits.attention_indexed.score_law import SYMMETRIC
from attention_limits.numerics.gaussian_nodes import gaussian_nodes

# Pairs of nodes of each of two scramblings; an output is resolved if this many effective nodes carry it in both.
PAIRS, FEWEST = 64, 20.0
# Rounds of the proposal, and its standard deviation over that of the weighted nodes.
_ROUNDS, _WIDENING = 12, 1.2
# Scores in one piece of the nodes, and outputs of the information: groups for its error, and outputs of a group.
_NUMBERS, _GROUPS, _OUTPUTS = 2**19, 8, 256
# V / Q at which the information is computed; below the last the curve is missing.
_TABLE = np.geomspace(1.0, 1e-4, 10)
# Scramblings and nodes of the distance of two outputs, and effective nodes below which it is missing.
_SCRAMBLINGS, _NODES, _FEWEST_NODES = 8, 1024, 20.0


class SampledChannel:
    """A `channel.Posterior` from a `model`, an `OutputChannel` or `GaussianNoise` with a likelihood or an exact posterior.

    `distance` of a provided channel may take the place of the sampled one.
    """

    law = SYMMETRIC
    equations = None
    ties = None
    scale_free = shift_free = False
    closed_form = False

    def __init__(self, model, distance=None):
        self.model, self.tokens = model, model.tokens
        self._distance, self._tables = distance, {}
        self._exact = described_by(model) == POSTERIOR
        first, second = np.triu_indices(self.tokens)
        self._entries, self._widths = (first, second), np.where(first == second, np.sqrt(2.0), 1.0)
        self._nodes = self._scramblings(1, 2)

    def output(self, h):
        """The mean output f(h) of scores h (..., T, T)."""
        return self.model.output(h)

    def observe(self, h, generator):
        """Outputs (n, ...) of scores h (n, T, T), random from the numpy `generator`."""
        return self.model.draw(h, generator)

    def variance(self, observed, omega):
        """None: outputs of any kind, `observed` (n, ...), have no distance to omega (n, T, T)."""
        return None

    def gradient(self, observed, omega, V):
        """G given outputs `observed` (n, ...), omega (n, T, T) and V > 0."""
        first, second, effective = self.deviations(observed, omega, V)
        G = (first + second) / (4.0 * np.sqrt(V))
        power = float(np.sum(first * second) / (4.0 * V * len(omega)))
        return Gradient(G, power, float(np.mean(effective >= FEWEST)))

    def deviations(self, observed, omega, V, nodes=None):
        """Two independent estimates of E[h - omega | y] / sqrt(V), (n, T, T), and the effective nodes of each output, (n,).

        `observed` holds the outputs y (n, ...), `nodes` two scramblings of the scores; None: always the same two. The effective
        number of nodes is the smaller one of both estimates; infinite for an exact posterior, zero where that is not finite.
        """
        if self._exact:
            mean = (self.model.posterior(observed, omega, V) - omega) / np.sqrt(V)
            return mean, mean, np.where(np.all(np.isfinite(mean), axis=(1, 2)), np.inf, 0.0)
        step = max(1, _NUMBERS // (2 * PAIRS * self.tokens**2))
        means, least = np.empty((2, *omega.shape)), np.full(len(omega), np.inf)
        for start in range(0, len(omega), step):
            part = slice(start, start + step)
            for mean, own in zip(means, self._nodes if nodes is None else nodes, strict=True):
                found, effective = self._sampled(observed[part], omega[part], np.sqrt(V), own)
                mean[part] = self._matrix(found)
                least[part] = np.minimum(least[part], effective)
        return *means, least

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q, from the table."""
        V = np.asarray(V, dtype=float)
        values, slope, _ = self._table(float(Q))
        x = np.log(V / Q)
        last = np.log(_TABLE[-1])
        return np.exp(values(np.clip(x, last, 0.0)) + slope * np.minimum(x - last, 0.0)) / V

    def uncertainty(self, V, Q):
        """Bound on the relative error of the information, two standard errors and the bias of the nodes.

        NaN outside of the table and where unresolved.
        """
        with np.errstate(divide="ignore"):
            x = np.log(np.asarray(V, dtype=float) / Q)
        return np.interp(-x, -np.log(_TABLE), self._table(float(Q))[2], right=np.nan)

    def distance(self, mixing, nodes):
        """E ||f(h) - f(h')||^2 of `mixing` (2, 2) as in `channel.Posterior`; sampled outputs have nodes of all T x T scores."""
        if self._distance is not None:
            return self._distance(mixing, nodes)
        means = []
        for seed in range(_SCRAMBLINGS):
            points = gaussian_nodes(2 * len(self._widths), _NODES, np.random.default_rng(seed), widening=1.0).points
            s, t = (self._matrix(half) for half in np.split(points, 2, axis=1))
            first, second = (self.output(row[0] * s + row[1] * t) for row in mixing)
            means.append(np.sum((first - second).reshape(_NODES, -1) ** 2, axis=1))
        values = np.array(means)
        if np.any(values) and values.sum() ** 2 < _FEWEST_NODES * np.sum(values**2):
            return np.nan, np.nan
        means = values.mean(axis=1)
        return float(means.mean()), float(means.std(ddof=1) / np.sqrt(_SCRAMBLINGS))

    def _scramblings(self, *seeds):
        """Nodes (2 PAIRS, entries) of the standard normal entries for each seed, of mean zero and covariance one exactly."""
        made = []
        for seed in seeds:
            points = gaussian_nodes(len(self._widths), PAIRS, np.random.default_rng(seed), widening=1.0).points
            points = np.linalg.solve(np.linalg.cholesky(points.T @ points / PAIRS), points.T).T
            made.append(np.concatenate([points, -points]))
        return made

    def _matrix(self, entries):
        """Symmetric (..., T, T) of standard normal `entries` (..., T (T + 1) / 2), variance 2 on the diagonal and 1 off it."""
        result = np.empty((*entries.shape[:-1], self.tokens, self.tokens))
        first, second = self._entries
        result[..., first, second] = result[..., second, first] = entries * self._widths
        return result

    def _sampled(self, observed, omega, scale, nodes):
        """Posterior mean (n, entries) of the standard normal entries, and effective number of nodes (n,)."""
        count, size = len(omega), nodes.shape[1]
        mean, factor = np.zeros((count, size)), np.broadcast_to(np.eye(size), (count, size, size)).copy()
        found, effective = np.zeros((count, size)), np.zeros(count)
        left, squares = np.arange(count), 0.5 * np.sum(nodes**2, axis=1)
        for attempt in range(_ROUNDS):
            # At first the nodes of the prior, the same for all outputs.
            z = mean[left, None] + nodes @ np.swapaxes(factor[left], 1, 2) if attempt else nodes[None]
            h = omega[left, None] + scale * self._matrix(z)
            with np.errstate(all="ignore"):
                logs = self.model.log_likelihood(observed[left], h)
            logs = logs + (squares - 0.5 * over_last(np.add, z**2))
            z = np.broadcast_to(z, (len(left), *nodes.shape))
            weights, number = _weights(logs, 1.0)
            better = number > effective[left]
            chosen = left[better]
            effective[chosen] = number[better]
            found[chosen] = np.einsum("ns,nsp->np", weights[better], z[better])
            few = number < 2.0 * FEWEST
            left, z, logs = left[few], z[few], logs[few]
            if not len(left):
                break
            fitted, _ = _weights(logs, _power(logs, 3.0 * size))
            mean[left] = np.einsum("ns,nsp->np", fitted, z)
            off = z - mean[left, None]
            spread = np.einsum("ns,nsp,nsq->npq", fitted, off, off) + 1e-9 * np.eye(size)
            factor[left] = _WIDENING * np.linalg.cholesky(spread)
        return found, effective

    def _table(self, Q):
        """log(V information) over log(V / Q), its power below the table, and its relative uncertainty."""
        if Q in self._tables:
            return self._tables[Q]
        groups, resolved, products, drawn = (np.empty((len(_TABLE), _GROUPS)) for _ in range(4))
        # An exact posterior costs no nodes.
        count = _OUTPUTS * (16 if self._exact else 1)
        for group in range(_GROUPS):
            generator = np.random.default_rng([3, group])
            points = gaussian_nodes(2 * len(self._widths), count, generator, widening=1.0).points
            s, t = (self._matrix(half) for half in np.split(points, 2, axis=1))
            nodes = self._scramblings([4, group], [5, group])
            state = generator.bit_generator.state
            for place, V in enumerate(Q * _TABLE):
                # The same noise at every V: the table is smooth.
                generator.bit_generator.state = state
                omega = np.sqrt(max(Q - V, 0.0)) * s
                observed = self.observe(omega + np.sqrt(V) * t, generator)
                first, second, effective = self.deviations(observed, omega, V, nodes)
                groups[place, group], resolved[place, group] = (
                    np.sum(first * second) / count,
                    np.mean(effective >= FEWEST),
                )
                few = effective < 1.5 * PAIRS
                products[place, group] = np.sum((first * second)[few]) / count
                drawn[place, group] = np.sum(((first + second) * t)[few]) / (2 * count)
        mean = groups.mean(axis=1)
        with np.errstate(all="ignore"):
            relative = (_two_errors(groups) + _bias(products, drawn)) / mean
        good = (mean > 0) & (relative < 0.5) & (resolved.mean(axis=1) >= 0.99)
        logs = np.log(np.where(mean > 0, mean, np.finfo(float).tiny))
        slope = (logs[-1] - logs[-2]) / np.log(_TABLE[-1] / _TABLE[-2])
        order = slice(None, None, -1)
        table = PchipInterpolator(np.log(_TABLE)[order], logs[order])
        self._tables[Q] = table, slope, np.where(good, relative, np.nan)
        return self._tables[Q]


def _two_errors(groups):
    """Two standard errors (n,) of the means of `groups` (n, groups)."""
    return 2.0 * groups.std(axis=1, ddof=1) / np.sqrt(groups.shape[1])


def _bias(products, drawn):
    """Bias (n,) of E |A m|^2, the mean of `products` (n, groups), if nodes give A m instead of m; `drawn` are products m . A m.

    The scores that gave the output are one more draw from its posterior: their products with an estimate contain A once.
    """
    # E m . A m - E |A m|^2 is half of E |m|^2 - E |A m|^2 for A near one.
    return 2.0 * np.abs((drawn - products).mean(axis=1))


def _weights(logs, power):
    """Normalised weights of log weights `logs` (n, S) to a `power`, and their effective number (n,); zero if none is finite."""
    logs = np.where(np.isnan(logs), -np.inf, logs) * power
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0))
    total = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1.0)
    squares = np.sum(weights**2, axis=1)
    return np.where(total > 0, weights, 1.0 / logs.shape[1]), np.where(
        squares > 0, 1.0 / np.maximum(squares, 1e-300), 0.0
    )


def _power(logs, wanted):
    """The largest of 1, 1/2, 1/4, ... (n, 1) at which the weights have `wanted` effective nodes."""
    power = np.ones((len(logs), 1))
    for _ in range(24):
        _, number = _weights(logs, power)
        few = number < min(wanted, 0.5 * logs.shape[1])
        if not np.any(few):
            break
        power[few] *= 0.5
    return power
