"""Arithmetic of `sampling.importance`: fields at the nodes, and the weighted moments of the candidates.

F rows of M tokens are drawn from K proposals, S nodes each; d = F M. The other R = P - F rows are those of C candidates. The
equations are those of `sampling.importance`; the channel is that of generalised AMP (Rangan 2011). The nodes come in tiles of
NODES, whose arrays lie in the first cache: tile t of proposal k holds the nodes k S + t NODES + (0, 1, ...). The axis of the
nodes is the last one of every array of a loop, so that the compiler vectorises it.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import types

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp, log
from attention_limits.numerics.tracing.elementary import LOOP, NODES

# Log-weight of a missing candidate, and the difference of log-weights below which a weight is zero.
_MISSING, _NEGLIGIBLE = -1e300, -700.0


class Nodes(NamedTuple):
    """S standard normal nodes of all outputs, in tiles; zeros fill the last one.

    drawn (tiles, d, NODES), half_squares (tiles, NODES) = |x|^2 / 2, angles (tiles, angles, NODES), count = S.
    """

    drawn: np.ndarray
    half_squares: np.ndarray
    angles: np.ndarray
    count: int


class Mixtures(NamedTuple):
    """K proposals of n outputs, in deviations from omega: `importance.Proposals`.

    centre (n, K, d), spread and its inverse (n, K, d, d), lower triangular, log_volume (n, K).
    """

    centre: np.ndarray
    spread: np.ndarray
    inverse: np.ndarray
    log_volume: np.ndarray


class Law(NamedTuple):
    """The prior of the fields of a token: whitening (F, F) and regression (R, F) of `importance.FieldPrior`.

    precision (R, R) is the inverse Cholesky factor of the covariance of the bound rows given the drawn ones.
    """

    whitening: np.ndarray
    regression: np.ndarray
    precision: np.ndarray


class Given(NamedTuple):
    """What a link said of the drawn fields: candidates (n, K S, C, R M) and log_weight (n, K S, C).

    -inf marks a missing candidate. Without bound rows R = 0 and C = 1.
    """

    candidates: np.ndarray
    log_weight: np.ndarray


class Found(NamedTuple):
    """Moments of n outputs: log_z (n,), mean (n, P M), second (n, P M, P M), effective (n,).

    The total weight is exp(log_z) K S. An output that no candidate explains has log_z -inf and effective 0; one with a weight
    that is no number, or infinite, has log_z NaN. Their moments are not written. (numba knows records of equal fields by their
    name: no other one may be called Found.)
    """

    log_z: np.ndarray
    mean: np.ndarray
    second: np.ndarray
    effective: np.ndarray


@njit(fastmath=FAST, error_model="numpy")
def _affine(nodes, centre, spread, out):
    """Write out = centre + spread x; nodes x and out are (d, NODES), spread (d, d) is lower triangular."""
    for j in range(nodes.shape[0]):
        row = out[j]
        moved = centre[j]
        for s in range(row.size):
            row[s] = moved
        for k in range(j + 1):
            factor, node = spread[j, k], nodes[k]
            if factor != 0.0:
                for s in range(row.size):
                    row[s] += factor * node[s]


@njit(fastmath=FAST, error_model="numpy")
def _subtract_squares(factor, rows, tokens, token, size, total, work):
    """Subtract 1/2 |factor x|^2 from total, of `size` nodes; x are the rows token, token + tokens, ... of `rows`."""
    for j in range(factor.shape[0]):
        for s in range(size):
            work[s] = 0.0
        for k in range(j + 1):
            weight, row = factor[j, k], rows[k * tokens + token]
            if weight != 0.0:
                for s in range(size):
                    work[s] += weight * row[s]
        for s in range(size):
            total[s] -= 0.5 * work[s] * work[s]


@njit(fastmath=FAST, error_model="numpy")
def _compare(deviation, half_squares, which, centre, inverse, log_volume, log_ratio, work, moved, density):
    """Subtract from log_ratio (NODES,) the log-density of the mixture of K proposals, of nodes of the proposal `which`."""
    several = len(centre)
    for s in range(work.size):
        log_ratio[s] += half_squares[s] + log_volume[which]
    if several == 1:
        return
    # Densities over that of the node's own proposal.
    mixture = np.ones(work.size)
    for other in range(several):
        if other != which:
            for j in range(len(deviation)):
                for s in range(work.size):
                    moved[j, s] = deviation[j, s] - centre[other, j]
            for s in range(work.size):
                density[s] = half_squares[s] + log_volume[which] - log_volume[other]
            _subtract_squares(inverse[other], moved, 1, 0, NODES, density, work)
            for s in range(work.size):
                mixture[s] += exp(density[s])
    for s in range(work.size):
        log_ratio[s] += math.log(several) - log(mixture[s])


@njit(error_model="numpy")
def draw(nodes, mixtures, omega, fields):
    """The drawn rows of n outputs at the Nodes `nodes` of the proposals `mixtures`; omega is (n, P, M).

    Written are fields (n, K S, F, M).
    """
    free, tokens = fields.shape[2:]
    deviation = np.empty(nodes.drawn.shape[1:])
    for i in range(len(omega)):
        for which in range(mixtures.centre.shape[1]):
            for tile in range(len(nodes.drawn)):
                _affine(nodes.drawn[tile], mixtures.centre[i, which], mixtures.spread[i, which], deviation)
                first = which * nodes.count + tile * NODES
                for f in range(free):
                    for token in range(tokens):
                        row, shift = deviation[f * tokens + token], omega[i, f, token]
                        for s in range(min(NODES, nodes.count - tile * NODES)):
                            fields[i, first + s, f, token] = shift + row[s]


@njit(error_model="numpy")
def _copy_given(candidates, log_weight, first, size, results):
    """Write candidates (K S, C, R M) and log-weights (K S, C) of a tile as a loop would: results (C R M + C, NODES)."""
    _, several, length = candidates.shape
    for c in range(several):
        weight = results[several * length + c]
        for s in range(size):
            weight[s] = log_weight[first + s, c]
        for j in range(length):
            row = results[c * length + j]
            for s in range(size):
                row[s] = candidates[first + s, c, j]


@njit(error_model="numpy")
def _take(results, omega, size, log_ratio, constant, bound, weights):
    """Candidates less omega (R M,) and log-weights of a tile, from `results` (C R M + C, NODES), to bound (C, R M, NODES) and
    weights (C, NODES). Returns whether all are numbers."""
    wrong = 0
    several, length = bound.shape[:2]
    for c in range(several):
        values, weight = results[several * length + c], weights[c]
        for s in range(size):
            value = values[s]
            wrong += not value < np.inf
            weight[s] = log_ratio[s] + value + constant if value > _MISSING else _MISSING
        for j in range(length):
            row, out, shift = results[c * length + j], bound[c, j], omega[j]
            for s in range(size):
                there = values[s] > _MISSING
                place = row[s] - shift
                wrong += there & (not abs(place) < np.inf)
                # A missing candidate must not spoil the sums.
                out[s] = place if there else 0.0
    return wrong == 0


@njit(fastmath=FAST, error_model="numpy")
def _log_weights(deviation, bound, law, tokens, size, log_weight, excess, work):
    """Subtract from log_weight the exponent of the density of the bound rows (R M, NODES) given the drawn ones (d, NODES)."""
    for token in range(tokens):
        for r in range(len(law.regression)):
            row, out = bound[r * tokens + token], excess[r]
            for s in range(size):
                out[s] = row[s]
            for f in range(law.regression.shape[1]):
                factor, drawn = law.regression[r, f], deviation[f * tokens + token]
                if factor != 0.0:
                    for s in range(size):
                        out[s] -= factor * drawn[s]
        _subtract_squares(law.precision, excess, 1, 0, size, log_weight, work)


@njit(fastmath=FAST, error_model="numpy")
def _largest(values, size):
    top = _MISSING
    for s in range(size):
        top = max(top, values[s])
    return top


@njit(fastmath=FAST, error_model="numpy")
def _exponentiate(log_weight, top, size, per_node):
    """Turn log-weights into weights exp(log_weight - top), which are also added to per_node."""
    for s in range(size):
        difference = log_weight[s] - top
        weight = exp(difference) if difference > _NEGLIGIBLE else 0.0
        log_weight[s] = weight
        per_node[s] += weight


@njit(fastmath=FAST, error_model="numpy")
def _sum_and_squares(weights, size):
    total = squares = 0.0
    for s in range(size):
        total += weights[s]
        squares += weights[s] * weights[s]
    return total, squares


@njit(fastmath=FAST, error_model="numpy")
def _weighted(weights, row, size, out):
    """Write weights times row into out, and return its sum."""
    total = 0.0
    for s in range(size):
        value = weights[s] * row[s]
        out[s] = value
        total += value
    return total


@njit(fastmath=FAST, error_model="numpy")
def _product(left, right, size):
    total = 0.0
    for s in range(size):
        total += left[s] * right[s]
    return total


@njit(error_model="numpy")
def _sums(deviation, bound, per_node, weights, size, work, mean, second):
    """Add the sums of first and second moments; the lower triangle of `second` (P M, P M)."""
    d = len(deviation)
    for j in range(d):
        mean[j] += _weighted(per_node, deviation[j], size, work)
        for k in range(j + 1):
            second[j, k] += _product(work, deviation[k], size)
    for c in range(len(bound)):
        rows = bound[c]
        for j in range(len(rows)):
            mean[d + j] += _weighted(weights[c], rows[j], size, work)
            for k in range(d):
                second[d + j, k] += _product(work, deviation[k], size)
            for k in range(j + 1):
                second[d + j, d + k] += _product(work, rows[k], size)


def accumulate_moments(computed, loop, several, observed, omega, nodes, mixtures, law, given, found):
    """Moments of n outputs from the weights of all candidates at all nodes.

    Parameters
    ----------
    computed : bool
        Whether `loop`, of the type LOOP, computes C R M candidates and C log-weights from the fields and angles of a
        tile; else they are `given`.
    loop : compiled function
        loop(observed (k,), x (d + angles, NODES), out (C R M + C, NODES)).
    several : int
        C.
    observed : array (n, k)
        What `loop` reads of the outputs.
    omega : array (n, P, M)
    nodes : Nodes
    mixtures : Mixtures
    law : Law
    given : Given
    found : Found, written
    """
    n, rows, tokens = omega.shape
    free = len(law.whitening)
    d, length = free * tokens, (rows - free) * tokens
    proposals = mixtures.centre.shape[1]
    x, results = np.zeros((d + nodes.angles.shape[1], NODES)), np.empty((several * (length + 1), NODES))
    deviation, moved = np.empty((d, NODES)), np.empty((d, NODES))
    bound, weights = np.empty((several, length, NODES)), np.empty((several, NODES))
    excess, work, density = np.empty((rows - free, NODES)), np.empty(NODES), np.empty(NODES)
    log_ratio, per_node = np.empty(NODES), np.empty(NODES)
    log_determinant, constant = 0.0, -0.5 * length * math.log(2.0 * math.pi)
    for f in range(free):
        log_determinant += tokens * math.log(law.whitening[f, f])
    for r in range(rows - free):
        constant += tokens * math.log(law.precision[r, r])
    for i in range(n):
        sound, top, total, squares = True, _MISSING, 0.0, 0.0
        mean, second = np.zeros(d + length), np.zeros((d + length, d + length))
        means = omega[i, free:].copy().reshape(length)
        for place in range(proposals * len(nodes.drawn)):
            which, tile = place // len(nodes.drawn), place % len(nodes.drawn)
            first, size = which * nodes.count + tile * NODES, min(NODES, nodes.count - tile * NODES)
            _affine(nodes.drawn[tile], mixtures.centre[i, which], mixtures.spread[i, which], deviation)
            log_ratio[:] = log_determinant
            for token in range(tokens):
                _subtract_squares(law.whitening, deviation, tokens, token, NODES, log_ratio, work)
            _compare(
                deviation, nodes.half_squares[tile], which, mixtures.centre[i], mixtures.inverse[i], mixtures.log_volume[i],
                log_ratio, work, moved, density,
            )  # fmt: skip
            if computed:
                for j in range(d):
                    x[j] = omega[i, j // tokens, j % tokens] + deviation[j]
                x[d:] = nodes.angles[tile]
                loop(observed[i], x, results)
            else:
                _copy_given(given.candidates[i], given.log_weight[i], first, size, results)
            sound &= _take(results, means, size, log_ratio, constant, bound, weights)
            best = _MISSING
            for c in range(several):
                _log_weights(deviation, bound[c], law, tokens, size, weights[c], excess, work)
                best = max(best, _largest(weights[c], size))
            if best > top:
                # The sums are those of the weights over exp(top).
                scale = math.exp(max(top - best, _NEGLIGIBLE))
                total, squares, top = total * scale, squares * scale * scale, best
                mean *= scale
                second *= scale
            if top <= 0.5 * _MISSING:
                continue
            per_node[:] = 0.0
            for c in range(several):
                _exponentiate(weights[c], top, size, per_node)
            more, more_squares = _sum_and_squares(per_node, size)
            total, squares = total + more, squares + more_squares
            _sums(deviation, bound, per_node, weights, size, work, mean, second)
        found.log_z[i], found.effective[i] = (-np.inf if sound else np.nan), 0.0
        if sound and total > 0.0:
            for j in range(d + length):
                found.mean[i, j] = mean[j] / total
                for k in range(j + 1):
                    found.second[i, j, k] = found.second[i, k, j] = second[j, k] / total
            found.log_z[i] = math.log(total / (proposals * nodes.count)) + top
            found.effective[i] = total * total / squares


_ONE, _TWO, _THREE, _FOUR = (types.Array(types.float64, axes, "C") for axes in range(1, 5))


def make_moments():
    """`accumulate_moments`, compiled once for all functions of the type LOOP: it calls them by their address."""
    return njit(
        signature_or_function=types.void(
            types.boolean, types.FunctionType(LOOP), types.intp, _TWO, _THREE,
            types.NamedTuple([_THREE, _TWO, _THREE, types.intp], Nodes), types.NamedTuple([_THREE, _FOUR, _FOUR, _TWO], Mixtures),
            types.NamedUniTuple(_TWO, 3, Law), types.NamedTuple([_FOUR, _THREE], Given),
            types.NamedTuple([_ONE, _TWO, _THREE, _ONE], Found),
        ),
        error_model="numpy", nogil=True,
    )(accumulate_moments)  # fmt: skip
