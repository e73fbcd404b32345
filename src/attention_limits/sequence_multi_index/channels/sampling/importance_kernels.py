"""Arithmetic of `sampling.importance`: fields at the nodes, and the weighted moments of the candidates.

F rows of M tokens are drawn from K proposals, S nodes each; N = K S, d = F M. The other R = P - F rows are those of C candidates.
The equations are those of `sampling.importance`; the channel is that of generalised AMP (Rangan 2011). The axis of the nodes is
the last one of every array of a loop, so that the compiler vectorises it.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp, log

# Log-weight of a missing candidate, and the difference of log-weights below which a weight is zero.
_MISSING, _NEGLIGIBLE = -1e300, -700.0


@njit(fastmath=FAST, error_model="numpy")
def _affine(nodes, centre, spread, out):
    """Write out = centre + spread x; nodes x and out are (d, S), spread (d, d) is lower triangular."""
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
def _subtract_squares(factor, rows, tokens, token, total, work):
    """Subtract 1/2 |factor x|^2 from total (S,), where x are the rows token, token + tokens, ... of `rows`; work is (S,)."""
    for j in range(factor.shape[0]):
        for s in range(work.size):
            work[s] = 0.0
        for k in range(j + 1):
            weight, row = factor[j, k], rows[k * tokens + token]
            if weight != 0.0:
                for s in range(work.size):
                    work[s] += weight * row[s]
        for s in range(work.size):
            total[s] -= 0.5 * work[s] * work[s]


@njit(fastmath=FAST, error_model="numpy")
def _compare(deviation, half_squares, which, centre, inverse, log_volume, log_ratio, work, moved, density):
    """Subtract from log_ratio (S,) the log-density of the mixture of K proposals, of nodes drawn from the proposal `which`."""
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
            _subtract_squares(inverse[other], moved, 1, 0, density, work)
            for s in range(work.size):
                mixture[s] += exp(density[s])
    for s in range(work.size):
        log_ratio[s] += math.log(several) - log(mixture[s])


@njit(error_model="numpy")
def draw(nodes, half_squares, centre, spread, inverse, log_volume, whitening, omega, deviation, log_ratio, fields):
    """The drawn rows of n outputs at the nodes of K proposals.

    Parameters
    ----------
    nodes, half_squares : arrays (d, S), (S,)
        Standard normal variables x, and |x|^2 / 2.
    centre, spread, inverse, log_volume : arrays (n, K, d), (n, K, d, d), (n, K, d, d), (n, K)
        Of the proposals, in deviations from omega; spread and its inverse are lower triangular.
    whitening : array (F, F)
        Inverse of the Cholesky factor of the prior covariance.
    omega : array (n, P, M)
    deviation : array (n, d, N), written
        h - omega.
    log_ratio : array (n, N), written
        log of prior over mixture.
    fields : array (n, N, F, M), written
        h.
    """
    d, count = nodes.shape
    free, tokens = len(whitening), omega.shape[2]
    work, density, moved = np.empty(count), np.empty(count), np.empty((d, count))
    log_determinant = 0.0
    for f in range(free):
        log_determinant += tokens * math.log(whitening[f, f])
    own, ratio = np.empty((d, count)), np.empty(count)
    for i in range(len(omega)):
        for which in range(centre.shape[1]):
            _affine(nodes, centre[i, which], spread[i, which], own)
            ratio[:] = log_determinant
            for token in range(tokens):
                _subtract_squares(whitening, own, tokens, token, ratio, work)
            _compare(own, half_squares, which, centre[i], inverse[i], log_volume[i], ratio, work, moved, density)
            first = which * count
            log_ratio[i, first : first + count] = ratio
            for f in range(free):
                for token in range(tokens):
                    row, shift = own[f * tokens + token], omega[i, f, token]
                    deviation[i, f * tokens + token, first : first + count] = row
                    for s in range(count):
                        fields[i, first + s, f, token] = shift + row[s]


@njit(fastmath=FAST, error_model="numpy")
def _log_weights(deviation, bound, regression, precision, tokens, log_weight, excess, work):
    """Subtract from log_weight (N,) the exponent of the density of the bound rows (R M, N) given the drawn ones (d, N)."""
    for token in range(tokens):
        for r in range(len(regression)):
            row, out = bound[r * tokens + token], excess[r * tokens + token]
            for s in range(out.size):
                out[s] = row[s]
            for f in range(regression.shape[1]):
                factor, drawn = regression[r, f], deviation[f * tokens + token]
                if factor != 0.0:
                    for s in range(out.size):
                        out[s] -= factor * drawn[s]
        _subtract_squares(precision, excess, tokens, token, log_weight, work)


@njit(fastmath=FAST, error_model="numpy")
def _largest(values):
    top = _MISSING
    for s in range(values.size):
        top = max(top, values[s])
    return top


@njit(fastmath=FAST, error_model="numpy")
def _exponentiate(log_weight, top, per_node):
    """Turn log-weights into weights exp(log_weight - top), which are also added to per_node (N,)."""
    for s in range(log_weight.size):
        difference = log_weight[s] - top
        weight = exp(difference) if difference > _NEGLIGIBLE else 0.0
        log_weight[s] = weight
        per_node[s] += weight


@njit(fastmath=FAST, error_model="numpy")
def _sum_and_squares(weights):
    total = squares = 0.0
    for s in range(weights.size):
        total += weights[s]
        squares += weights[s] * weights[s]
    return total, squares


@njit(fastmath=FAST, error_model="numpy")
def _weighted(weights, row, out):
    """Write weights times row into out, and return its sum."""
    total = 0.0
    for s in range(out.size):
        value = weights[s] * row[s]
        out[s] = value
        total += value
    return total


@njit(fastmath=FAST, error_model="numpy")
def _product(left, right):
    total = 0.0
    for s in range(left.size):
        total += left[s] * right[s]
    return total


@njit(error_model="numpy")
def _sums(deviation, bound, per_node, weights, work, mean, second):
    """Add the sums of first and second moments; the lower triangle of `second` (P M, P M)."""
    d = len(deviation)
    for j in range(d):
        mean[j] += _weighted(per_node, deviation[j], work)
        for k in range(j + 1):
            second[j, k] += _product(work, deviation[k])
    for c in range(len(bound)):
        rows = bound[c]
        for j in range(len(rows)):
            mean[d + j] += _weighted(weights[c], rows[j], work)
            for k in range(d):
                second[d + j, k] += _product(work, deviation[k])
            for k in range(j + 1):
                second[d + j, d + k] += _product(work, rows[k])


@njit(error_model="numpy")
def moments(deviation, log_ratio, candidates, log_weight, omega, regression, precision, found):
    """Moments of n outputs from the weights of all candidates at all nodes.

    Parameters
    ----------
    deviation, log_ratio : arrays (n, d, N), (n, N)
        As `draw` writes them.
    candidates, log_weight : arrays (n, N, C, R, M), (n, N, C)
        Of the link; -inf marks a missing candidate. Without bound rows R = 0 and C = 1.
    omega : array (n, P, M)
    regression, precision : arrays (R, F), (R, R)
        Of the bound rows on the drawn ones; inverse Cholesky factor of their covariance given these.
    found : log_z (n,), mean (n, P M), second (n, P M, P M), effective (n,), written
        The total weight is exp(log_z) N. An output that no candidate explains has log_z -inf and effective 0; one with a weight
        that is no number, or infinite, has log_z NaN. Their moments are not written.
    """
    n, nodes, several, bound_rows, tokens = candidates.shape
    log_z, mean, second, effective = found
    size = mean.shape[1]
    bound = np.empty((several, bound_rows * tokens, nodes))
    weights, excess = np.empty((several, nodes)), np.empty((bound_rows * tokens, nodes))
    per_node, work = np.empty(nodes), np.empty(nodes)
    constant = -0.5 * bound_rows * tokens * math.log(2.0 * math.pi)
    for r in range(bound_rows):
        constant += tokens * math.log(precision[r, r])
    for i in range(n):
        sound, top = True, _MISSING
        for c in range(several):
            for s in range(nodes):
                value = log_weight[i, s, c]
                sound &= value < np.inf
                there = value > _MISSING
                weights[c, s] = log_ratio[i, s] + value + constant if there else _MISSING
                for r in range(bound_rows):
                    for token in range(tokens):
                        place = candidates[i, s, c, r, token] - omega[i, size // tokens - bound_rows + r, token]
                        sound &= not there or abs(place) < np.inf
                        # A missing candidate must not spoil the sums.
                        bound[c, r * tokens + token, s] = place if there else 0.0
            _log_weights(deviation[i], bound[c], regression, precision, tokens, weights[c], excess, work)
            top = max(top, _largest(weights[c]))
        log_z[i], effective[i] = (-np.inf if sound else np.nan), 0.0
        if not sound or top <= 0.5 * _MISSING:
            continue
        per_node[:] = 0.0
        for c in range(several):
            _exponentiate(weights[c], top, per_node)
        total, squares = _sum_and_squares(per_node)
        mean[i] = 0.0
        second[i] = 0.0
        _sums(deviation[i], bound, per_node, weights, work, mean[i], second[i])
        for j in range(size):
            mean[i, j] /= total
            for k in range(j + 1):
                second[i, j, k] /= total
                second[i, k, j] = second[i, j, k]
        log_z[i] = math.log(total / nodes) + top
        effective[i] = total * total / squares
