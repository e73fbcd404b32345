"""The spectrum of Y: ends of its bulks, points of its support by bracketed roots, the posterior means of its eigenvalues.

The equations are those of `wishart`, which derives them for the model of Boncoraglio et al. 2025 (arXiv:2506.01582).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import REORDERED, njit

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
        # The value at the end that stays is halved, otherwise this end might stay for ever.
        if value < 0.0:
            low, at_low, at_high = x, value, 0.5 * at_high
        else:
            high, at_high, at_low = x, value, 0.5 * at_low
    return x


@njit(error_model="numpy")
def places(eigenvalues, low, high, ratio, noise, t):
    """Writes the t of each of the `eigenvalues` (n,) into `t` (n,); outside of the bulks, the t of the nearest end of a bulk.

    `low` and `high` (bulks,) are the ends in t, as in `bulk_ends`, at rho = `ratio` and D = `noise`.
    """
    below, above = _support(low, high, ratio, noise)
    for k in range(eigenvalues.size):
        wanted, bulk = _nearest(eigenvalues[k], below, above)
        t[k] = math.exp(_place(wanted, math.log(low[bulk]), math.log(high[bulk]), ratio, noise))


@njit(error_model="numpy")
def _support(low, high, ratio, noise):
    """The smallest and the largest eigenvalue of each bulk with the ends `low` and `high` (bulks,) in t."""
    below, above = np.empty(low.size), np.empty(low.size)
    for bulk in range(low.size):
        below[bulk] = -_excess(0.0, math.log(high[bulk]), ratio, noise)
        above[bulk] = -_excess(0.0, math.log(low[bulk]), ratio, noise)
    return below, above


@njit(error_model="numpy")
def _nearest(eigenvalue, below, above):
    """The point of the support nearest to an `eigenvalue`, and its bulk."""
    bulk, wanted, distance = 0, 0.0, math.inf
    for k in range(below.size):
        inside = min(max(eigenvalue, below[k]), above[k])
        if abs(inside - eigenvalue) < distance:
            bulk, wanted, distance = k, inside, abs(inside - eigenvalue)
    return wanted, bulk


@njit(error_model="numpy")
def outside(eigenvalue, low, high, below, above, ratio, noise):
    """g of an `eigenvalue` outside of the support: z = 1/g + D g + rho / (sqrt(rho) - g), rho = `ratio`, D = `noise`.

    The arguments `low`, `high`, `below` and `above` (bulks,) are the ends of the bulks in t and in lambda. |g| is bracketed where
    z falls with g.
    """
    root, sign, last = math.sqrt(ratio), 1.0, below.size - 1
    if eigenvalue > above[0]:
        first, end = 1.0 / (eigenvalue - below[last]), root - low[0]
    elif eigenvalue < below[last]:
        sign, first, end = -1.0, 1.0 / (above[0] - eigenvalue), high[last] - root
    else:
        first, end = root + high[0], root + low[1]
    first, end = math.log(first), math.log(end)
    for _ in range(_HALVINGS):
        middle = 0.5 * (first + end)
        g = sign * math.exp(middle)
        if sign * (eigenvalue - (1.0 / g + noise * g + ratio / (root - g))) < 0.0:
            first = middle
        else:
            end = middle
    return sign * math.exp(0.5 * (first + end))


@njit(error_model="numpy")
def transforms(eigenvalues, low, high, ratio, noise, g):
    """Replaces the entries of `g` (n,) of those `eigenvalues` (n,) that are outside of the support by g = `outside`.

    `low`, `high`, `ratio` and `noise` as in `places`.
    """
    below, above = _support(low, high, ratio, noise)
    for k in range(eigenvalues.size):
        if _nearest(eigenvalues[k], below, above)[0] != eigenvalues[k]:
            g[k] = outside(eigenvalues[k], low, high, below, above, ratio, noise)


@njit(error_model="numpy")
def slope_of_place(t, ratio, noise):
    """d lambda / d t at t, negative in the support; rho = `ratio`, D = `noise`."""
    root, square = math.sqrt(ratio), noise * t**2 + ratio
    return 2.0 * t * noise / root * (ratio / square**2 - 1.0) - 2.0 * ratio * root / t**3


@njit(error_model="numpy")
def shrink(eigenvalues, low, high, ratio, noise, continued, xi, slope):
    """Writes xi and d xi / d lambda of the `eigenvalues` (n,) into `xi` and `slope` (n,), as in `wishart.shrink`.

    `continued`: whether xi has its continuation outside of the support. `low`, `high`, `ratio` and `noise` as in `places`.
    """
    below, above = _support(low, high, ratio, noise)
    for k in range(eigenvalues.size):
        value = eigenvalues[k]
        wanted, bulk = _nearest(value, below, above)
        if wanted != value and continued:
            g = outside(value, low, high, below, above, ratio, noise)
            # z'(g) is zero at the ends, where the slope is infinite.
            turning = min(noise - 1.0 / g**2 + ratio / (math.sqrt(ratio) - g) ** 2, -0.1 * noise)
            xi[k] = max(value - 2.0 * noise * g, 0.0)
            slope[k] = 1.0 - 2.0 * noise / turning if xi[k] > 0.0 else 0.0
            continue
        t = math.exp(_place(wanted, math.log(low[bulk]), math.log(high[bulk]), ratio, noise))
        xi[k] = ratio * math.sqrt(ratio) / t**2
        slope[k] = 0.0 if wanted != value else -2.0 * xi[k] / (t * slope_of_place(t, ratio, noise))


@njit(error_model="numpy")
def errors(low, high, ratio, noises, angles, steps, error):
    """Writes D int mu xi / (xi + sqrt(rho) D) d lambda at each D of `noises` (n,) into `error` (n,).

    `low` and `high` (n, bulks) as in `bulk_ends` at rho = `ratio`; `angles` and `steps` (nodes,) are the Gauss-Legendre nodes and
    weights in the angle of `wishart`.
    """
    root = math.sqrt(ratio)
    for k in range(noises.size):
        noise, total = noises[k], 0.0
        for bulk in range(low.shape[1]):
            half = 0.5 * math.log(high[k, bulk] / low[k, bulk])
            for j in range(angles.size):
                t = low[k, bulk] * math.exp(half * (1.0 - math.cos(angles[j])))
                larger, smaller = sides(t, ratio, noise)
                square = (larger + root) * (larger - root) * (root + smaller) * (root - smaller)
                if square > 0.0:
                    signal = ratio * root / t**2
                    width = -half * math.sin(angles[j]) * steps[j] * t * slope_of_place(t, ratio, noise)
                    total += math.sqrt(square) / (2.0 * root * math.pi) * width * signal / (signal + root * noise)
        error[k] = noise * total


@njit(fastmath=REORDERED, error_model="numpy")
def quotient_sum(values, xi, slope):
    """Sum over all k and l of (xi_k - xi_l) / (lambda_k - lambda_l), of `values` lambda, `xi` and `slope`; all (d,).

    The quotient is the mean of the slopes where the values agree to 1e-6 of their range, also at k = l.
    """
    near, total = 1e-6 * (values.max() - values.min()), 0.0
    for k in range(values.size):
        for j in range(k):
            difference = values[k] - values[j]
            close = abs(difference) <= near
            quotient = (xi[k] - xi[j]) / (1.0 if close else difference)
            total += 0.5 * (slope[k] + slope[j]) if close else quotient
    return 2.0 * total + slope.sum()
