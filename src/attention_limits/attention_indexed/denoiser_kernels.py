"""Ends of the bulks of the spectrum of Y, and the points of its support, by bracketed roots.

The equations are those of `denoiser`, which derives them for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit

# Halvings of a bracket in the logarithm: to rounding.
_HALVINGS = 60
# Largest steps of false position, and the relative change at which it ends.
_STEPS, _SETTLED = 60, 1e-14


@njit(error_model="numpy")
def sides(t, ratio, noise):
    """s + t and s - t at t, the latter without cancellation, for rho = `ratio` and D = `noise`."""
    r = np.sqrt(noise * t**2 + ratio)
    return t / r + t, t * (1.0 - ratio - noise * t**2) / (r * (1.0 + r))


@njit(error_model="numpy")
def transform_and_signal(t, total, difference, ratio):
    """h and xi at t, from s + t = `total` and s - t = `difference`, for rho = `ratio`; lambda = 2 D h + xi."""
    root = np.sqrt(ratio)
    return (ratio + total * difference) / (2.0 * root), ratio * root / t**2


@njit(error_model="numpy")
def _edge(of_sum, of_difference, of_root, low, high, ratio, noise):
    """The t between `low` and `high` where a combination of s + t, s - t and sqrt(rho), negative at `low`, changes sign."""
    first, last, root = math.log(low), math.log(high), math.sqrt(ratio)
    for _ in range(_HALVINGS):
        middle = 0.5 * (first + last)
        total, difference = sides(math.exp(middle), ratio, noise)
        if of_sum * total + of_difference * difference + of_root * root < 0.0:
            first = middle
        else:
            last = middle
    return math.exp(0.5 * (first + last))


@njit(error_model="numpy")
def bulk_ends(ratio, noises, low, high):
    """Writes the ends in t of the bulks at `ratio` rho and each D of `noises` (n,) into `low` and `high`.

    These are (n, 1) for rho >= 1, else (n, 2). The first bulk has the largest eigenvalues. For rho < 1 two merged bulks
    share an end, where the density is smallest.
    """
    root = math.sqrt(ratio)
    for k in range(noises.size):
        noise = noises[k]
        # The largest eigenvalue, g < sqrt(rho): s + t = sqrt(rho). The smallest, g < 0: t - s = sqrt(rho).
        first = _edge(1.0, 0.0, -1.0, 0.5 * ratio / (1.0 + root), root, ratio, noise)
        last = _edge(0.0, -1.0, -1.0, root, 1.01 * (root + 1.0 / math.sqrt(noise)), ratio, noise)
        if ratio >= 1.0:
            low[k, 0], high[k, 0] = first, last
            continue
        # In the gap g > sqrt(rho): s - t exceeds sqrt(rho), most at the neck.
        neck = math.sqrt((ratio ** (2.0 / 3.0) - ratio) / noise)
        neck = min(max(neck, first), last)
        left = right = neck
        if sides(neck, ratio, noise)[1] > root:
            left = _edge(0.0, 1.0, -1.0, first, neck, ratio, noise)
            right = _edge(0.0, -1.0, 1.0, neck, last, ratio, noise)
        low[k, 0], low[k, 1], high[k, 0], high[k, 1] = first, right, left, last


@njit(error_model="numpy")
def _excess(eigenvalue, log_t, ratio, noise):
    """`eigenvalue` - lambda(t), which rises with t."""
    t = math.exp(log_t)
    total, difference = sides(t, ratio, noise)
    h, xi = transform_and_signal(t, total, difference, ratio)
    return eigenvalue - (2.0 * noise * h + xi)


@njit(error_model="numpy")
def _place(eigenvalue, low, high, ratio, noise):
    """log t of an `eigenvalue` between those of `high` and `low`, logarithms of t: false position by the Illinois rule."""
    at_low, at_high = _excess(eigenvalue, low, ratio, noise), _excess(eigenvalue, high, ratio, noise)
    x = high
    for _ in range(_STEPS):
        slope = at_high - at_low if at_high > at_low else 1.0
        new = min(max(high - at_high * (high - low) / slope, low), high)
        if abs(new - x) <= _SETTLED * max(1.0, abs(new)):
            return new
        x = new
        value = _excess(eigenvalue, x, ratio, noise)
        # The end that stays counts half, so that it does not stay for ever.
        if value < 0.0:
            low, at_low, at_high = x, value, 0.5 * at_high
        else:
            high, at_high, at_low = x, value, 0.5 * at_low
    return x


@njit(error_model="numpy")
def places(eigenvalues, low, high, ratio, noise, t):
    """Writes the t of each of the `eigenvalues` (n,) into `t` (n,), moved to the nearest end of a bulk where it is in none.

    `low` and `high` (bulks,) are the ends in t, as of `bulk_ends`, at rho = `ratio` and D = `noise`.
    """
    bulks = low.size
    above, below = np.empty(bulks), np.empty(bulks)
    for bulk in range(bulks):
        above[bulk] = -_excess(0.0, math.log(low[bulk]), ratio, noise)
        below[bulk] = -_excess(0.0, math.log(high[bulk]), ratio, noise)
    for k in range(eigenvalues.size):
        nearest, wanted, distance = 0, 0.0, math.inf
        for bulk in range(bulks):
            inside = min(max(eigenvalues[k], below[bulk]), above[bulk])
            if abs(inside - eigenvalues[k]) < distance:
                nearest, wanted, distance = bulk, inside, abs(inside - eigenvalues[k])
        t[k] = math.exp(_place(wanted, math.log(low[nearest]), math.log(high[nearest]), ratio, noise))


@njit(error_model="numpy")
def transforms_outside(eigenvalues, sign, first, last, ratio, noise, transforms):
    """Writes g of `eigenvalues` (n,) outside of the support into `transforms` (n,), z = 1/g + D g + rho / (sqrt(rho) - g).

    `ratio` is rho, `noise` is D. g has the sign `sign`, and |g| is between `first` and `last` (n,), where z falls with g.
    """
    root = math.sqrt(ratio)
    for k in range(eigenvalues.size):
        low, high = math.log(first[k]), math.log(last[k])
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            g = sign * math.exp(middle)
            if sign * (eigenvalues[k] - (1.0 / g + noise * g + ratio / (root - g))) < 0.0:
                low = middle
            else:
                high = middle
        transforms[k] = sign * math.exp(0.5 * (low + high))
