"""Posterior of the scores of several softmax layers by importance sampling, with the equations derived in
`sampled_fields_kernels`.

The proposal of an output is a mixture in equal shares: the prior N(0, I), and a Gaussian at each mode that descents from several
starts find, with the precision I + J^T J of the Gauss-Newton approximation of the energy, J = dy/dx. As V_l -> 0 the posterior
is such a Gaussian; the prior in the mixture bounds the weights. One set of nodes chooses the proposals. Two further sets,
independent of it and of each other, give two estimates of the posterior means. Their product estimates the squares without the
bias of the noise.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.attention_indexed.two_layers.sampled_fields_kernels import (
    SINGULAR,
    Given,
    empty_space,
    energy,
    half_squares,
    last_layer,
)
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.copying_kernels import copy_matrix, copy_vector
from attention_limits.numerics.simd.float64_lanes import WIDTH, exp, full, less, load, maximum, store, where
from attention_limits.numerics.solvers.cholesky_kernels import cholesky, solve_factored

# Starts of the descents: the prior mean, and the best node of each of the other groups of nodes.
STARTS = 5
# Steps of a descent at most; it ends where a step lowers the quadratic approximation of the energy by less.
STEPS, SMALLEST_GAIN = 30, 1e-3
# Difference that gives J, in prior standard deviations.
DIFFERENCE = 1e-6
# Modes closer than this, in standard deviations of the first per dimension, are one. A mode is left out where its approximate
# weight is below exp(-FAINT) of the largest.
APART, FAINT = 1.0, 12.0
# Standard deviation of a proposal over that of the Gauss-Newton approximation.
WIDENING = 1.2


class Mixture(NamedTuple):
    """Gaussians beside the prior: `centres` (K, F), Cholesky `factors` L (K, F, F) of the precisions, log det L `log_volumes`."""

    centres: np.ndarray
    factors: np.ndarray
    log_volumes: np.ndarray


class Local(NamedTuple):
    """Neighbourhood of a point x: P blocks of WIDTH points `x` (P, F, WIDTH), the point itself and its shifts in each direction;
    their `y` (P, D, WIDTH) and `log_dets`, log det B_L (P, WIDTH)."""

    x: np.ndarray
    y: np.ndarray
    log_dets: np.ndarray


@njit(error_model="numpy")
def _look(x, given, network, space, local):
    """Write the neighbourhood `local` of x (F,); returns the energy of x."""
    for point in range(local.x.shape[0] * WIDTH):
        block, lane = point // WIDTH, point % WIDTH
        for i in range(x.size):
            local.x[block, i, lane] = x[i] + (DIFFERENCE if point == i + 1 else 0.0)
    for block in range(local.x.shape[0]):
        det = last_layer(local.x[block], given, network, space, local.y[block])
        store(local.log_dets, block, where(less(det, SINGULAR), -math.inf, math.log(maximum(det, SINGULAR))))
    if local.log_dets[0, 0] == -np.inf:
        return np.inf
    total = (network.basis.shape[1] + 1) * local.log_dets[0, 0]
    for i in range(x.size):
        total += 0.5 * x[i] * x[i]
    for k in range(local.y.shape[1]):
        total += 0.5 * local.y[0, k, 0] * local.y[0, k, 0]
    return total


@njit(error_model="numpy")
def _curvature(local, tokens, slopes, gradient, hessian):
    """Write the gradient of the energy in a neighbourhood and I + J^T J; slopes J (F, D) is a work space."""
    y, log_dets = local.y, local.log_dets
    count, size = gradient.size, y.shape[1]
    for i in range(count):
        block, lane = (i + 1) // WIDTH, (i + 1) % WIDTH
        gradient[i] = local.x[0, i, 0] + (tokens + 1) * (log_dets[block, lane] - log_dets[0, 0]) / DIFFERENCE
        for k in range(size):
            slopes[i, k] = (y[block, k, lane] - y[0, k, 0]) / DIFFERENCE
            gradient[i] += y[0, k, 0] * slopes[i, k]
        for j in range(i + 1):
            total = 1.0 if i == j else 0.0
            for k in range(size):
                total += slopes[i, k] * slopes[j, k]
            hessian[i, j] = hessian[j, i] = total


@njit(error_model="numpy")
def _descend(x, given, network, space, local, factor):
    """Moves x to a minimum of the energy by damped Gauss-Newton steps; writes the Cholesky factor of I + J^T J at the minimum.

    Returns the energy; it is not finite where no factor is found. `local` is a work space.
    """
    count = x.size
    gradient, hessian, damped = np.empty(count), np.empty((count, count)), np.empty((count, count))
    step, trial, slopes = np.empty(count), np.empty(count), np.empty((count, local.y.shape[1]))
    value, damping = _look(x, given, network, space, local), 1e-2
    for _ in range(STEPS):
        if not np.isfinite(value):
            return np.inf
        _curvature(local, network.basis.shape[1], slopes, gradient, hessian)
        lowered, gain = False, 0.0
        while not lowered and damping < 1e8:
            copy_matrix(hessian, damped)
            for i in range(count):
                damped[i, i] *= 1.0 + damping
            if not cholesky(damped, 0.0, 0.0, 1e-14, factor):
                damping *= 8.0
                continue
            solve_factored(factor, gradient, step)
            gain = 0.0
            for i in range(count):
                trial[i] = x[i] - step[i]
                gain += 0.5 * step[i] * gradient[i]
            new = _look(trial, given, network, space, local)
            lowered = new < value
            damping = max(1e-6, 0.2 * damping) if lowered else 8.0 * damping
            if gain < SMALLEST_GAIN:
                break
        if lowered:
            copy_vector(trial, x)
            value = new
        if gain < SMALLEST_GAIN or not lowered:
            break
    return value if cholesky(hessian, 0.0, 0.0, 1e-14, factor) else np.inf


@njit(error_model="numpy")
def _log_volume(factor):
    """log det of a Cholesky factor."""
    total = 0.0
    for i in range(factor.shape[0]):
        total += math.log(factor[i, i])
    return total


@njit(error_model="numpy")
def _distance(x, centre, factor):
    """|L^T (x - centre)|^2 of the Cholesky factor L."""
    count, total = x.size, 0.0
    for i in range(count):
        white = 0.0
        for j in range(i, count):
            white += factor[j, i] * (x[j] - centre[j])
        total += white * white
    return total


@njit(error_model="numpy")
def _modes(given, network, space, local, pilot):
    """The Gaussians of the distinct modes; `pilot` (S / WIDTH, F, WIDTH), `local` is a work space."""
    count, found = pilot.shape[1], 0
    x, factor, y = np.empty(count), np.empty((count, count)), np.empty((network.basis.shape[0], WIDTH))
    all_modes = Mixture(np.empty((STARTS, count)), np.empty((STARTS, count, count)), np.empty(STARTS))
    evidence, values = np.empty(STARTS), np.empty((1, WIDTH))
    group = pilot.shape[0] // (STARTS - 1)
    for start in range(STARTS):
        x[:] = 0.0
        if start > 0:
            lowest = np.inf
            for block in range((start - 1) * group, start * group):
                store(values, 0, energy(pilot[block], given, network, space, y))
                for lane in range(WIDTH):
                    if values[0, lane] < lowest:
                        lowest = values[0, lane]
                        x[:] = pilot[block, :, lane]
        value = _descend(x, given, network, space, local, factor)
        new = np.isfinite(value)
        for other in range(found):
            new = new and _distance(x, all_modes.centres[other], all_modes.factors[other]) > APART * count
        if new:
            copy_vector(x, all_modes.centres[found])
            copy_matrix(factor, all_modes.factors[found])
            all_modes.log_volumes[found] = _log_volume(factor)
            evidence[found] = -value - all_modes.log_volumes[found]
            found += 1
    kept = 0
    for mode in range(found):
        if evidence[mode] > evidence[:found].max() - FAINT:
            copy_vector(all_modes.centres[mode], all_modes.centres[kept])
            copy_matrix(all_modes.factors[mode], all_modes.factors[kept])
            all_modes.log_volumes[kept] = all_modes.log_volumes[mode]
            kept += 1
    return Mixture(all_modes.centres[:kept], all_modes.factors[:kept], all_modes.log_volumes[:kept])


@njit(error_model="numpy")
def _draw(nodes, centre, factor, x):
    """Write x = centre + WIDENING L^-T node, (F, WIDTH), of the Cholesky factor L."""
    count = x.shape[0]
    for i in range(count - 1, -1, -1):
        rest = WIDENING * load(nodes, i)
        for j in range(i + 1, count):
            rest = rest - factor[j, i] * (load(x, j) - centre[j])
        store(x, i, centre[i] + rest / factor[i, i])


@njit(error_model="numpy")
def _mixture_terms(x, mixture):
    """(largest, total) with the density of the prior and the Gaussians in equal shares at x (F, WIDTH),
    exp(largest) total / number, without the factor (2 pi)^(-F / 2); lanes."""
    count = x.shape[0]
    largest, total = -1.0 * half_squares(x), full(1.0)
    for mode in range(len(mixture.log_volumes)):
        centre, factor = mixture.centres[mode], mixture.factors[mode]
        square = full(0.0)
        for i in range(count):
            white = full(0.0)
            for j in range(i, count):
                white = white + factor[j, i] * (load(x, j) - centre[j])
            square = square + white * white
        term = mixture.log_volumes[mode] - count * math.log(WIDENING) - (0.5 / WIDENING**2) * square
        higher = maximum(largest, term)
        total = total * exp(largest - higher) + exp(term - higher)
        largest = higher
    return largest, total


@njit(error_model="numpy")
def _sample(given, network, space, nodes, mixture, samples, mean, squares):
    """Writes the posterior means (L, D) and mean squares (L,) of the deviations; returns log Z and the effective number of nodes.

    `nodes` (S / WIDTH, F, WIDTH) are standard normal; each part of the mixture moves all of them. `samples` are a work space:
    their log-weights (n, WIDTH) and values (n, F + D, WIDTH).
    """
    count, size = nodes.shape[1], network.basis.shape[0]
    logs, values = samples
    modes, blocks = len(mixture.log_volumes), nodes.shape[0]
    several = (modes + 1) * blocks
    for place in range(several):
        part, block = place // blocks, place % blocks
        x, y = values[place, :count], values[place, count:]
        if part < modes:
            _draw(nodes[block], mixture.centres[part], mixture.factors[part], x)
        else:
            copy_matrix(nodes[block], x)
        det = last_layer(x, given, network, space, y)
        largest, total = _mixture_terms(x, mixture)
        # One logarithm of both factors.
        safe = maximum(det, SINGULAR)
        volume = total / (modes + 1.0)
        for _ in range(network.basis.shape[1] + 1):
            volume = volume * safe
        log_weight = -1.0 * (half_squares(x) + half_squares(y) + largest + math.log(volume))
        store(logs, place, where(less(det, SINGULAR), -math.inf, log_weight))
    highest = logs[:several].max()
    mean[:] = 0.0
    squares[:] = 0.0
    if not highest > -np.inf:
        return -np.inf, 0.0
    for place in range(several):
        store(logs, place, exp(load(logs, place) - highest))
    total, total_squares = 0.0, 0.0
    for place in range(several):
        for lane in range(WIDTH):
            total += logs[place, lane]
            total_squares += logs[place, lane] ** 2
    rows = np.empty((2, WIDTH))
    for k in range(count + size):
        first, second = full(0.0), full(0.0)
        for place in range(several):
            weighted = load(logs, place) * load(values[place], k)
            first = first + weighted
            second = second + weighted * load(values[place], k)
        store(rows, 0, first)
        store(rows, 1, second)
        mean[k // size, k % size] = rows[0].sum() / total
        squares[k // size] += rows[1].sum() / total
    return highest + math.log(total / (several * WIDTH)), total * total / total_squares


@njit
def _in_lanes(nodes):
    """Nodes (S, F) as (S / WIDTH, F, WIDTH)."""
    found = np.empty((nodes.shape[0] // WIDTH, nodes.shape[1], WIDTH))
    for node in range(len(found) * WIDTH):
        found[node // WIDTH, :, node % WIDTH] = nodes[node]
    return found


@njit(error_model="numpy")
def posteriors(outputs, means, V, network, pilot, nodes):
    """Posteriors of n outputs.

    Parameters
    ----------
    outputs : array (n, M, M)
        Scores of layer L up to a constant.
    means : array (n, L, D)
        Prior means of the contrasts.
    V : array (L,)
        Their prior variances, > 0.
    network : Network
    pilot, nodes : array (S, F), array (2, S, F)
        Independent sets of standard normal nodes, F = (L - 1) D: the first for the proposals, the others for the estimates. S is
        a multiple of 4 WIDTH.

    Returns
    -------
    log_z : array (2, n)
        log of the density of the output in its contrasts.
    mean : array (2, n, L, D)
        Posterior means of the deviations from the prior means, in prior standard deviations.
    squares : array (2, n, L)
        Posterior means of the squares of these deviations, summed over the contrasts of a layer.
    effective : array (2, n)
        Effective number of nodes, (sum of weights)^2 / sum of squares; zero where no node explains the output.
    """
    count, layers, size = means.shape
    tokens, free = outputs.shape[1], pilot.shape[1]
    log_z, effective = np.empty((2, count)), np.empty((2, count))
    mean, squares = np.empty((2, count, layers, size)), np.empty((2, count, layers))
    constant = 2.0 * (layers - 1) * math.log(network.skip + 1.0) - 0.5 * size * math.log(2.0 * math.pi * V[layers - 1])
    first, sides = _in_lanes(pilot), (_in_lanes(nodes[0]), _in_lanes(nodes[1]))
    space, around = empty_space(tokens), -(-(free + 1) // WIDTH)
    local = Local(np.empty((around, free, WIDTH)), np.empty((around, size, WIDTH)), np.empty((around, WIDTH)))
    several = (STARTS + 1) * len(sides[0])
    samples = np.empty((several, WIDTH)), np.empty((several, free + size, WIDTH))
    for k in range(count):
        given = Given(outputs[k], means[k], np.sqrt(V))
        mixture = _modes(given, network, space, local, first)
        for side in range(2):
            found = _sample(given, network, space, sides[side], mixture, samples, mean[side, k], squares[side, k])
            log_z[side, k], effective[side, k] = found[0] + constant, found[1]
    return log_z, mean, squares, effective
