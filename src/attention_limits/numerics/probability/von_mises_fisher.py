"""The von Mises-Fisher law: a unit vector e in p dimensions with the density exp(x e_1) on the sphere.

Its normalisation and mean are Bessel functions of the order nu = p / 2 - 1 (Mardia and Jupp 2000, section 9.3). The functions
here stay exact for any order and any concentration x, where I_nu(x) itself would overflow or underflow.
"""

import math

from attention_limits.numerics.compiled import njit

# Terms of a series below this share of the largest are left out.
SMALL = 1e-18
# From this argument on, and from twice the squared order on, the asymptotic series is exact to rounding.
LARGE = 30.0


@njit
def _hankel(order, x):
    """sqrt(2 pi x) exp(-x) I_order(x) for large x."""
    total, term = 1.0, 1.0
    for k in range(1, 200):
        step = -(4.0 * order * order - (2.0 * k - 1.0) ** 2) / (8.0 * k * x)
        if abs(step) >= 1.0:
            break
        term *= step
        total += term
        if abs(term) < SMALL * total:
            break
    return total


@njit
def direction(order, x):
    """Normalisation and mean of a von Mises-Fisher law of concentration x on the sphere in 2 order + 2 dimensions.

    Returns log(Gamma(order + 1) (2 / x)^order I_order(x)), which is the logarithm of the mean of exp(x e_1) over the sphere, and
    I_(order + 1)(x) / (x I_order(x)), which is E[e_1] / x.
    """
    if x >= max(LARGE, 2.0 * (order + 1.0) ** 2):
        here, above = _hankel(order, x), _hankel(order + 1.0, x)
        log_mean = math.lgamma(order + 1.0) + order * math.log(2.0 / x) + x - 0.5 * math.log(2.0 * math.pi * x)
        return log_mean + math.log(here), above / (here * x)
    # sum_k q^k / (k! (b)_k) around its largest term: no order and no x overflows.
    b, q = order + 1.0, 0.25 * x * x
    largest = int(0.5 * (math.sqrt(order * order + x * x) - order))
    total, slope = 1.0, 1.0 / (b + largest)
    term, k = 1.0, largest
    while term > SMALL:
        term *= q / ((k + 1.0) * (b + k))
        k += 1
        total += term
        slope += term / (b + k)
    term, k = 1.0, largest
    while k > 0 and term > SMALL:
        term *= k * (b + k - 1.0) / q
        k -= 1
        total += term
        slope += term / (b + k)
    log_mean = math.log(total)
    if largest > 0:
        log_mean += largest * math.log(q) - math.lgamma(largest + 1.0) - math.lgamma(b + largest) + math.lgamma(b)
    return log_mean, 0.5 * slope / total
