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

from attention_limits.attention_indexed.two_layers.sampled_fields_kernels import Given, empty_space, energy, last_layer
from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.copying_kernels import copy_matrix, copy_vector
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


@njit(error_model="numpy")
def _curvature(x, y, log_det, given, network, space, slopes, gradient, hessian):
    """Write the gradient of the energy at x and I + J^T J; y and log_det are the values at x, slopes (F + 1, D) a work space."""
    count, size, shifted = x.size, y.size, slopes[x.size]
    for i in range(count):
        old = x[i]
        x[i] = old + DIFFERENCE
        moved = last_layer(x, given, network, space, shifted)
        x[i] = old
        gradient[i] = old + (network.basis.shape[1] + 1) * (moved - log_det) / DIFFERENCE
        for k in range(size):
            slopes[i, k] = (shifted[k] - y[k]) / DIFFERENCE
            gradient[i] += y[k] * slopes[i, k]
    for i in range(count):
        for j in range(count):
            total = 1.0 if i == j else 0.0
            for k in range(size):
                total += slopes[i, k] * slopes[j, k]
            hessian[i, j] = total


@njit(error_model="numpy")
def _descend(x, given, network, space, factor):
    """Moves x to a minimum of the energy by damped Gauss-Newton steps; writes the Cholesky factor of I + J^T J at the minimum.

    Returns the energy; it is not finite where no factor is found.
    """
    count, size = x.size, network.basis.shape[0]
    y, slopes = np.empty(size), np.empty((count + 1, size))
    gradient, hessian, damped = np.empty(count), np.empty((count, count)), np.empty((count, count))
    step, trial = np.empty(count), np.empty(count)
    value, damping = energy(x, given, network, space, y), 1e-2
    for _ in range(STEPS):
        log_det = last_layer(x, given, network, space, y)
        if log_det == -np.inf:
            return np.inf
        _curvature(x, y, log_det, given, network, space, slopes, gradient, hessian)
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
            new = energy(trial, given, network, space, y)
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
def _modes(given, network, space, pilot):
    """The Gaussians of the distinct modes."""
    count, found = pilot.shape[1], 0
    x, factor, y = np.empty(count), np.empty((count, count)), np.empty(network.basis.shape[0])
    all_modes = Mixture(np.empty((STARTS, count)), np.empty((STARTS, count, count)), np.empty(STARTS))
    evidence = np.empty(STARTS)
    group = pilot.shape[0] // (STARTS - 1)
    for start in range(STARTS):
        x[:] = 0.0
        if start > 0:
            lowest = np.inf
            for node in range((start - 1) * group, start * group):
                value = energy(pilot[node], given, network, space, y)
                if value < lowest:
                    lowest = value
                    copy_vector(pilot[node], x)
        value = _descend(x, given, network, space, factor)
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
    """Write x = centre + WIDENING L^-T node of the Cholesky factor L."""
    count = x.size
    for i in range(count - 1, -1, -1):
        rest = WIDENING * nodes[i]
        for j in range(i + 1, count):
            rest -= factor[j, i] * (x[j] - centre[j])
        x[i] = centre[i] + rest / factor[i, i]


@njit(error_model="numpy")
def _log_mixture(x, mixture):
    """log of the density at x of the prior and the Gaussians in equal shares, without the factor (2 pi)^(-F / 2)."""
    count, parts = x.size, len(mixture.log_volumes) + 1
    square = 0.0
    for i in range(count):
        square += x[i] * x[i]
    largest, total = -0.5 * square, 1.0
    for mode in range(parts - 1):
        square = _distance(x, mixture.centres[mode], mixture.factors[mode]) / WIDENING**2
        term = mixture.log_volumes[mode] - count * math.log(WIDENING) - 0.5 * square
        if term > largest:
            total = total * math.exp(largest - term) + 1.0
            largest = term
        else:
            total += math.exp(term - largest)
    return largest + math.log(total / parts)


@njit(error_model="numpy")
def _sample(given, network, space, nodes, mixture, mean, squares):
    """Writes the posterior means (L, D) and mean squares (L,) of the deviations; returns log Z and the effective number of nodes.

    `nodes` (S, F) are standard normal; each part of the mixture moves all of them.
    """
    count, size = nodes.shape[1], network.basis.shape[0]
    modes = len(mixture.log_volumes)
    several = (modes + 1) * nodes.shape[0]
    logs, values = np.empty(several), np.empty((several, count + size))
    place = 0
    for part in range(modes + 1):
        for node in range(nodes.shape[0]):
            x, y = values[place, :count], values[place, count:]
            if part < modes:
                _draw(nodes[node], mixture.centres[part], mixture.factors[part], x)
            else:
                copy_vector(nodes[node], x)
            logs[place] = -energy(x, given, network, space, y) - _log_mixture(x, mixture)
            place += 1
    largest = logs.max()
    mean[:] = 0.0
    squares[:] = 0.0
    if not largest > -np.inf:
        return -np.inf, 0.0
    total = total_squares = 0.0
    for place in range(several):
        weight = math.exp(logs[place] - largest)
        if weight > 0.0:
            total += weight
            total_squares += weight * weight
            for k in range(count + size):
                layer, value = k // size, values[place, k]
                mean[layer, k % size] += weight * value
                squares[layer] += weight * value * value
    mean /= total
    squares /= total
    return largest + math.log(total / several), total * total / total_squares


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
        Independent sets of standard normal nodes, F = (L - 1) D: the first for the proposals, the others for the estimates.

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
    tokens = outputs.shape[1]
    log_z, effective = np.empty((2, count)), np.empty((2, count))
    mean, squares = np.empty((2, count, layers, size)), np.empty((2, count, layers))
    constant = 2.0 * (layers - 1) * math.log(network.skip + 1.0) - 0.5 * size * math.log(2.0 * math.pi * V[layers - 1])
    for k in range(count):
        given, space = Given(outputs[k], means[k], np.sqrt(V)), empty_space(tokens)
        mixture = _modes(given, network, space, pilot)
        for side in range(2):
            found = _sample(given, network, space, nodes[side], mixture, mean[side, k], squares[side, k])
            log_z[side, k], effective[side, k] = found[0] + constant, found[1]
    return log_z, mean, squares, effective
