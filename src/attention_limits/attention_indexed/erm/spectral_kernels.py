"""Moments of the spectrum of Y = S* + delta Z above and below a threshold eps, and the thresholds of weight decay.

The spectrum is explicit in t = |sqrt(rho) - g| (`wishart`): eigenvalues x fall with t, mu is the density and h = Re g. A
bulk is an interval of t, cut where x = eps. Gauss-Legendre in the angle of log t makes the square roots at the ends smooth.
Derived in this module, for the state evolution of Boncoraglio, Erba, Troiani, Krzakala, Zdeborova 2025, arXiv:2509.24914.
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit

# Order of the moments: rank, int (x - eps) mu, int (x - eps)^2 mu, int (x - eps) h mu and int h mu above eps; int x^2 mu below.
RANK, FIRST, SECOND, RESPONSE, TRANSFORM, BELOW, COUNT = range(7)
# Gauss-Legendre nodes of each side of a bulk.
NODES = 64
_X, _W = np.polynomial.legendre.leggauss(NODES)
_COS, _STEP = 1.0 - np.cos(0.5 * np.pi * (_X + 1.0)), 0.5 * np.pi * _W * np.sin(0.5 * np.pi * (_X + 1.0))
# Halvings of the logarithm of t; steps of the search for a threshold, and its relative accuracy.
_HALVINGS, _STEPS, _ACCURACY = 60, 100, 1e-13


@njit
def point(t, ratio, noise):
    """x, h, mu and -dx/dt at t, rho = `ratio` and D = `noise`."""
    root, r = math.sqrt(ratio), math.sqrt(noise * t * t + ratio)
    total, difference = t / r + t, t * (1.0 - ratio - noise * t * t) / (r * (1.0 + r))
    product = (total + root) * (total - root) * (root + difference) * (root - difference)
    h, signal = (ratio + total * difference) / (2.0 * root), ratio * root / (t * t)
    fall = 2.0 * t * noise / root * (1.0 - ratio / r**4) + 2.0 * signal / t
    return 2.0 * noise * h + signal, h, math.sqrt(max(product, 0.0)) / (2.0 * math.pi * root), fall


@njit
def cut(low, high, ratio, noise, threshold):
    """t of x = eps = `threshold` between `low` and `high`, or the nearest of both, at rho = `ratio` and D = `noise`."""
    low, high = math.log(low), math.log(high)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if point(math.exp(middle), ratio, noise)[0] > threshold:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


@njit
def side(low, high, ratio, noise, x, mass, transform):
    """Fill eigenvalues x, their `mass` mu dx and their `transform` h (NODES,), of t between `low` and `high`.

    rho = `ratio` and D = `noise`.
    """
    half = 0.5 * math.log(high / low)
    for i in range(NODES):
        t = low * math.exp(half * _COS[i])
        x[i], transform[i], mu, fall = point(t, ratio, noise)
        mass[i] = mu * fall * t * half * _STEP[i]


@njit
def moments_at(low, high, ratio, noise, threshold, sums):
    """Fill the moments `sums` (COUNT,) at rho = `ratio`, D = `noise` and eps = `threshold`.

    `low` and `high` (bulks,) are the ends of the bulks in t.
    """
    x, mass, transform = np.empty(NODES), np.empty(NODES), np.empty(NODES)
    sums[:] = 0.0
    for bulk in range(low.size):
        middle = cut(low[bulk], high[bulk], ratio, noise, threshold)
        side(low[bulk], middle, ratio, noise, x, mass, transform)
        for i in range(NODES):
            over = x[i] - threshold
            sums[RANK] += mass[i]
            sums[FIRST] += over * mass[i]
            sums[SECOND] += over * over * mass[i]
            sums[RESPONSE] += over * transform[i] * mass[i]
            sums[TRANSFORM] += transform[i] * mass[i]
        side(middle, high[bulk], ratio, noise, x, mass, transform)
        for i in range(NODES):
            sums[BELOW] += x[i] * x[i] * mass[i]


@njit
def moments(low, high, ratio, noise, threshold, sums):
    """As `moments_at` for D = `noise` (n,) and eps = `threshold` (n,) at one rho = `ratio`: fill `sums` (n, COUNT).

    `low` and `high` (n, bulks) are the ends of the bulks in t.
    """
    for k in range(noise.size):
        moments_at(low[k], high[k], ratio, noise[k], threshold[k], sums[k])


@njit
def _excess(low, high, ratio, noise, threshold, equations, decay, sums):
    """The function whose root is the threshold of lambda = `decay`; of the best lambda where `equations` is not positive."""
    moments_at(low, high, ratio, noise, threshold, sums)
    if equations <= 0.0:
        return threshold * sums[RANK] - 2.0 * noise * sums[TRANSFORM]
    free = equations - 2.0 * sums[RESPONSE]
    return threshold * free - 0.5 * decay if decay > 0.0 else free


@njit
def thresholds(low, high, ratio, noise, largest, equations, decay, found):
    """Fill `found` (n,) with eps at rho = `ratio` and D = `noise` (n,); `low` and `high` (n, bulks) are the ends of the bulks.

    lambda = `decay` (n,) > 0: 2 eps (alpha K - Theta) = lambda, alpha K = `equations` (n,). lambda = 0: Theta = alpha K, or 0
    where Theta(0) is smaller. `equations` of -1: the least error, eps rank = 2 D int_eps h mu. `largest` (n,) are the upper
    ends of the spectra. The search halves the function at an end of the bracket that stays (Illinois method).
    """
    sums = np.empty(COUNT)
    for k in range(noise.size):
        args = low[k], high[k], ratio, noise[k]
        top = largest[k]
        if equations[k] > 0.0 and 0.5 * decay[k] >= equations[k] * top:
            found[k] = 0.5 * decay[k] / equations[k]
            continue
        # At the end of the support the rank vanishes, and the slope of the error with it.
        a, b = 0.0, top if equations[k] > 0.0 else top * (1.0 - 1e-6)
        at_a, at_b = _excess(*args, a, equations[k], decay[k], sums), _excess(*args, b, equations[k], decay[k], sums)
        if at_a >= 0.0 or at_b <= 0.0:
            found[k] = a if at_a >= 0.0 else b
            continue
        last, new = top, top
        for _ in range(_STEPS):
            new = b - at_b * (b - a) / (at_b - at_a)
            if abs(new - last) <= _ACCURACY * abs(new):
                break
            last, value = new, _excess(*args, new, equations[k], decay[k], sums)
            if value < 0.0:
                a, at_a, at_b = new, value, 0.5 * at_b
            else:
                b, at_b, at_a = new, value, 0.5 * at_a
        found[k] = new
