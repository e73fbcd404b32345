"""Channels whose posterior is sampled: the scores given an output, by importance sampling on Sobol nodes.

Given y, Z = (h - omega) / sqrt(V) has the prior N(0, 1 + delta_ab) times P(y | h). Two independent scramblings of nodes, in pairs
of opposite sign, give two estimates of its mean m, and G = m / (2 sqrt(V)). The product of both is an estimate of sum_ab G_ab^2
that the noise of the nodes does not bias. The nodes have the exact covariance of the prior: the mean of an output with little
information, which is linear in its likelihood, is then exact. Where few nodes carry an output, a normal proposal is fitted to the
weights and the output sampled again. Each group of outputs has its own nodes, so the scatter of the groups is the error of both
averages, over outputs and over nodes. The information of an output of one score with Gaussian noise needs no samples:
`one_score`.

The information at a given Q is a table of J = V information over u = V / Q. J is smooth in log(u / (1 - u)) at both ends: at
small V it is a power of u, and at V near Q, where omega is small, it is J(1) + J' (1 - u). An output that hides the sign of the
scores has J(1) = 0.

Source of the model: Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

import functools
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit

from attention_limits.attention_indexed.channels.likelihood.compiled_likelihood import compiled_likelihood
from attention_limits.attention_indexed.channels.likelihood.sampled_kernels import (
    ENOUGH,
    ROUNDS,
    WIDENING,
    make_sample,
)
from attention_limits.attention_indexed.channels.one_score import share_explained
from attention_limits.attention_indexed.channels.output import POSTERIOR, GaussianNoise, described_by
from attention_limits.attention_indexed.channels.protocol import Gradient
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.model.scores import over_last
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.tracing.elementary import NODES

# Pairs of nodes of each of two scramblings; an output is resolved if this many effective nodes carry it in both.
PAIRS, FEWEST = NODES // 2, 20.0
# Scores in one piece of the nodes, and outputs of the information: groups for its error, and outputs of a group.
_NUMBERS, _GROUPS, _OUTPUTS = 2**19, 8, 256
# Share of the outputs that must be resolved at a node of the table.
_RESOLVED = 0.99
# V / Q at which the information is computed: 1, and equal steps of log(u / (1 - u)); below the last the curve is missing.
_SMALLEST, _NEAR = 1e-4, 1e-3
_PLACES = np.linspace(np.log((1.0 - _NEAR) / _NEAR), np.log(_SMALLEST / (1.0 - _SMALLEST)), 17)
_TABLE = np.concatenate([[1.0], expit(_PLACES)])
# A spline of half of the nodes has at least this many times the error.
_FINER = 8.0
# Nodes from small V at which the law of the information is read, information ~ V^-power. Powers below the first number are a
# weaker law than 1 / V: a discontinuity has 1/2, noise 0. Powers within the second of one are the law 1 / V.
_LAST, _WEAKER, _SAME_LAW = 3, 0.75, 0.02
# Scramblings and nodes of the distance of two outputs, and effective nodes below which it is missing.
_SCRAMBLINGS, _NODES, _FEWEST_NODES = 8, 1024, 20.0


@dataclass(frozen=True)
class Table:
    """J = V information at one prior variance.

    Attributes
    ----------
    logs : CubicSpline
        log J over log(u / (1 - u)), u = V / Q, between the first and last of the nodes below u = 1.
    slope : float
        Power of u below the last node.
    first, second : float
        J at u = 1 and at the next node.
    uncertainty : array (nodes,)
        Bound on the relative error at the nodes; NaN where unresolved.
    law : tuple of float
        As `SampledChannel.small_errors`.
    """

    logs: CubicSpline
    slope: float
    first: float
    second: float
    uncertainty: np.ndarray
    law: tuple[float, float]


class SampledChannel:
    """A `protocol.Posterior` from a `model`, an `OutputChannel` or `GaussianNoise` with a likelihood or an exact posterior.

    `distance` of a provided channel may take the place of the sampled one.
    """

    law = SYMMETRIC
    equations = None
    ties = None
    scale_free = shift_free = False
    closed_form = False

    def __init__(self, model, distance=None):
        self.model, self.tokens = model, model.tokens
        self._distance, self._tables, self._compiled = distance, {}, None
        self._exact = described_by(model) == POSTERIOR
        first, second = np.triu_indices(self.tokens)
        self._entries, self._widths = (first, second), np.where(first == second, np.sqrt(2.0), 1.0)
        self._nodes = self._scramblings(1, 2)

    def output(self, h):
        """The mean output f(h) of scores h (..., M, M)."""
        return self.model.output(h)

    def observe(self, h, generator):
        """Outputs (n, ...) of scores h (n, M, M), random from the numpy `generator`."""
        return self.model.draw(h, generator)

    def variance(self, observed, omega):
        """None: outputs of any kind, `observed` (n, ...), have no distance to omega (n, M, M)."""
        return None

    def gradient(self, observed, omega, V):
        """G given outputs `observed` (n, ...), omega (n, M, M) and V > 0."""
        first, second, effective = self.deviations(observed, omega, V)
        G = (first + second) / (4.0 * np.sqrt(V))
        power = float(np.sum(first * second) / (4.0 * V * len(omega)))
        return Gradient(G, power, float(np.mean(effective >= FEWEST)))

    def deviations(self, observed, omega, V, nodes=None):
        """Two independent estimates of E[h - omega | y] / sqrt(V), (n, M, M), and the effective nodes of each output, (n,).

        `observed` holds the outputs y (n, ...), `nodes` two scramblings of the scores; None: always the same two. The effective
        number of nodes is the smaller one of both estimates; infinite for an exact posterior, zero where that is not finite.
        """
        if self._exact:
            mean = (self.model.posterior(observed, omega, V) - omega) / np.sqrt(V)
            return mean, mean, np.where(np.all(np.isfinite(mean), axis=(1, 2)), np.inf, 0.0)
        means, least = np.empty((2, *omega.shape)), np.full(len(omega), np.inf)
        loop, _ = self.likelihood(observed)
        # In NumPy the arrays of all nodes of a piece of the outputs stay in the cache.
        step = len(omega) if loop else max(1, _NUMBERS // (2 * PAIRS * self.tokens**2))
        for start in range(0, len(omega), step):
            part = slice(start, start + step)
            for mean, own in zip(means, self._nodes if nodes is None else nodes, strict=True):
                arguments = observed[part], omega[part], np.sqrt(V), own
                found, effective = self._in_loop(loop, *arguments) if loop else self._sampled(*arguments)
                mean[part] = self._matrix(found)
                least[part] = np.minimum(least[part], effective)
        return *means, least

    def likelihood(self, observed):
        """The compiled log-likelihood for outputs like `observed` (n, ...), or None, with the reason: `compiled_likelihood`."""
        if self._compiled is None:
            self._compiled = compiled_likelihood(self.model, np.asarray(observed))
        return self._compiled

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q, from the table."""
        V = np.asarray(V, dtype=float)
        table, u = self._table(float(Q)), V / Q
        with np.errstate(divide="ignore"):
            place = np.log(u) - np.log1p(-np.minimum(u, 1.0))
            below = np.minimum(np.log(u) - np.log(_SMALLEST), 0.0)
        far = np.exp(table.logs(np.clip(place, _PLACES[-1], _PLACES[0])) + table.slope * below)
        # Linear in the small variance of omega.
        share = np.clip((1.0 - u) / _NEAR, 0.0, 1.0)
        return np.where(share < 1.0, table.first + share * (table.second - table.first), far) / V

    def uncertainty(self, V, Q):
        """Bound on the relative error of the information: two standard errors, the bias of the nodes, and that of the table.

        At V = 0 it is that of the law of small V, if the law is K / V. NaN elsewhere outside of the table, and where unresolved.
        """
        table, u = self._table(float(Q)), np.asarray(V, dtype=float) / Q
        inside = np.interp(-u, -_TABLE, table.uncertainty, right=np.nan)
        return np.where(u == 0, self.small_errors(Q)[1], inside)[()]

    def small_errors(self, Q):
        """K of the law information -> K / V at small V, and the bound on its relative error, at prior variance `Q`.

        (0, 0) for a weaker law, as Gaussian noise has, and (NaN, NaN) if the table decides for neither.
        """
        return self._table(float(Q)).law

    def resolved(self, low, high, Q):
        """Whether all nodes of the table from V = `low` (...) to V = `high` (...) are resolved, at prior variance `Q`.

        Below `least` the law of small V counts, if there is one.
        """
        unknown = _TABLE[np.isnan(self._table(float(Q)).uncertainty)]
        unknown = np.append(unknown[unknown > self.least(Q)], [0.0] * bool(np.isnan(self.small_errors(Q)[0]))) * Q
        low, high = np.asarray(low)[..., None], np.asarray(high)[..., None]
        return ~np.any((unknown >= low) & (unknown < high), axis=-1)

    def least(self, Q):
        """V / Q below which the information is extrapolated: the smallest resolved node, at prior variance `Q`."""
        known = _TABLE[np.isfinite(self._table(float(Q)).uncertainty)]
        return float(known.min(initial=1.0))

    def distance(self, mixing, nodes):
        """E ||f(h) - f(h')||^2 of `mixing` (2, 2) as in `protocol.Posterior`; sampled outputs have nodes of all M x M scores."""
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
        """Symmetric (..., M, M) of standard normal `entries` (..., M (M + 1) / 2), variance 2 on the diagonal and 1 off it."""
        result = np.empty((*entries.shape[:-1], self.tokens, self.tokens))
        first, second = self._entries
        result[..., first, second] = result[..., second, first] = entries * self._widths
        return result

    def _in_loop(self, loop, observed, omega, scale, nodes):
        """As `_sampled`, with the compiled likelihood `loop`."""
        found, effective = np.empty((len(omega), nodes.shape[1])), np.empty(len(omega))
        given = np.asarray(observed).reshape(len(omega), -1), omega
        _kernel()(loop, *(np.require(array, float, "CW") for array in given), float(scale),
                  np.ascontiguousarray(nodes.T), found, effective)  # fmt: skip
        return found, effective

    def _sampled(self, observed, omega, scale, nodes):
        """Posterior mean (n, entries) of the standard normal entries, and effective number of nodes (n,)."""
        count, size = len(omega), nodes.shape[1]
        mean, factor = np.zeros((count, size)), np.broadcast_to(np.eye(size), (count, size, size)).copy()
        found, effective = np.zeros((count, size)), np.zeros(count)
        left, squares = np.arange(count), 0.5 * np.sum(nodes**2, axis=1)
        for attempt in range(ROUNDS):
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
            few = number < ENOUGH
            left, z, logs = left[few], z[few], logs[few]
            if not len(left):
                break
            fitted, _ = _weights(logs, _power(logs, 3.0 * size))
            mean[left] = np.einsum("ns,nsp->np", fitted, z)
            off = z - mean[left, None]
            spread = np.einsum("ns,nsp,nsq->npq", fitted, off, off) + 1e-9 * np.eye(size)
            factor[left] = WIDENING * np.linalg.cholesky(spread)
        return found, effective

    def _table(self, Q):
        """The `Table` at prior variance Q."""
        if Q in self._tables:
            return self._tables[Q]
        noisy, known = isinstance(self.model, GaussianNoise), share_explained(self.model, Q * _TABLE, Q)
        if known is not None:
            self._tables[Q] = _tabulated(*known, noisy)
            return self._tables[Q]
        groups, resolved, products, drawn = (np.empty((len(_TABLE), _GROUPS)) for _ in range(4))
        # An exact posterior costs no nodes.
        count = _OUTPUTS * (64 if self._exact else 1)
        for group in range(_GROUPS):
            generator = np.random.default_rng([3, group])
            points = gaussian_nodes(2 * len(self._widths), count, generator, widening=1.0).points
            s, t = (self._matrix(half) for half in np.split(points, 2, axis=1))
            nodes = self._scramblings([4, group], [5, group])
            state = generator.bit_generator.state
            for place, V in enumerate(Q * _TABLE):
                # No further group can make this node resolved.
                if resolved[place, :group].sum() + _GROUPS - group < _RESOLVED * _GROUPS:
                    for values in (groups, resolved, products, drawn):
                        values[place, group] = values[place, :group].mean()
                    continue
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
        self._tables[Q] = _tabulated(*_mean(groups, _bias(products, drawn), resolved.mean(axis=1)), noisy)
        return self._tables[Q]


@functools.cache
def _kernel():
    """The one kernel of all channels."""
    return make_sample()


def _mean(groups, bias, resolved):
    """J (nodes,), the mean of `groups` (nodes, groups), and the bound on its relative error, with its `bias` (nodes,); NaN where
    the share of resolved outputs `resolved` (nodes,) is too small."""
    mean = groups.mean(axis=1)
    # Outputs without information at V = Q have J = 0 in every group.
    nothing = np.all(groups == 0, axis=1)
    with np.errstate(all="ignore"):
        relative = np.where(nothing, 0.0, (_two_errors(groups) + bias) / mean)
    return mean, np.where(resolved >= _RESOLVED, relative, np.nan)


def _tabulated(mean, relative, noisy):
    """The `Table` of J = `mean` (nodes,) with bounds `relative` (nodes,) on its relative errors.

    `noisy`: the output has Gaussian noise, so the law at small V is weaker than K / V.
    """
    good = ((mean > 0) | (relative == 0)) & (relative < 0.5)
    known = mean[1:] > 0
    if np.sum(known) < 3:
        # No node is resolved, so nothing is shown: any finite curve serves.
        known, mean = np.ones_like(known), np.ones_like(mean)
    order = slice(None, None, -1)
    places, logs = _PLACES[known][order], np.log(mean[1:][known])[order]
    spline, half = CubicSpline(places, logs), CubicSpline(places[::2], logs[::2])
    between = np.abs(half(_PLACES) - spline(_PLACES)) / _FINER
    # The error of the table stands at the left-out nodes; their neighbours have the same.
    between = np.maximum(between, np.maximum(np.append(between[1:], 0.0), np.append(0.0, between[:-1])))
    relative = relative + np.append(between[0], between)
    relative = np.where(good, relative, np.nan)
    law = (0.0, 0.0) if noisy else _law(np.exp(spline(_PLACES)), relative[1:])
    slope = 0.0 if law[0] > 0 else float((logs[1] - logs[0]) / (places[1] - places[0]))
    return Table(spline, slope, float(mean[0]), float(np.exp(spline(_PLACES[0]))), relative, law)


def _law(J, bounds):
    """K of the law J -> K at small V and its relative bound, from J and `bounds` (nodes,) at `_PLACES`, as `small_errors`."""
    ends = [-_LAST, -1]
    u, J, bounds = _TABLE[ends], J[ends], bounds[ends]
    decades = np.log(u[0] / u[1])
    power, error = 1.0 + np.log(J[1] / J[0]) / decades, np.sum(bounds) / decades
    if power + error < _WEAKER:
        return 0.0, 0.0
    if abs(power - 1.0) <= error + _SAME_LAW:
        return float(J[1]), float(bounds[1] + abs(J[1] / J[0] - 1.0))
    return np.nan, np.nan


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
