"""Sums of the posterior of a softmax layer and a hardmax layer that read two tokens over sampled scores of the first layer.

Derived for this project, with the notation of `two_layers.hardmax`. Phi_2 of the four outputs differs in signs alone: with
a = kappa_1, b = kappa_2 of the output (+, +), c = sqrt(1 - r^2), and Owen's function T, even in its first argument and odd in its
second,

    Phi_2(s_1 a, s_2 b; s_1 s_2 r) = (Phi(s_1 a) + Phi(s_2 b) - [s_1 s_2 a b < 0]) / 2 - s_1 s_2 (T(a, k_a / a) + T(b, k_b / b)),
    k_a = (b - r a) / c,    k_b = (a - r b) / c.

T(h, k / h) is the integral of exp(-h^2 (1 + x^2) / 2) / (2 pi (1 + x^2)) from x = 0 to k / h. Gauss-Legendre nodes take it
where |k| <= |h|; elsewhere T(h, k / h) = (Phi(-h) + Phi(-k)) / 2 - Phi(-h) Phi(-k) - T(k, h / k), for h, k > 0.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import FAST, njit
from attention_limits.numerics.fast_math import exp

# The integrand is analytic up to x = +-i, where its ellipse around [0, 1] has the sum 4.6 of its half axes: an error below 1e-16.
_X, _W = np.polynomial.legendre.leggauss(14)
PLACES, WEIGHTS = 0.5 * (_X + 1.0), _W / (4.0 * math.pi)
# Means further out than this many standard deviations are moved to this distance: their outputs have probabilities below 1e-88.
FURTHEST = 20.0
# Smaller probabilities are rounding errors of Owen's T function; the ratio of their slopes to them would be without bound.
SMALLEST = 1e-13
# Largest |r|.
STRAIGHT = 1.0 - 1e-14
# Stands for zero in ratios of two zeros.
NEXT = 1e-150
# The outputs (s_1, s_2).
OUTPUTS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])

# Indices of the sums over nodes of one output: P, P^2, P x and P |x|^2 of the deviations x of layer 1; sum_i s_i c_i / |c_i| and
# sum_i kappa_i, each times the slope of P in kappa_i.
TOTAL, SQUARES, FIRST_1, FIRST_2, LENGTHS, LAST_1, LAST_2, RADIAL = range(8)
SUMS = 8


class Forms(NamedTuple):
    """Of S nodes x: `units` c_i / |c_i| (2, 2, S) of both rows i, `kappa` (2, S) of the output (+, +), and `r` (S,)."""

    units: np.ndarray
    kappa: np.ndarray
    r: np.ndarray


class Normal(NamedTuple):
    """Of S nodes: `owen`, T(a, k_a / a) + T(b, k_b / b) (S,); `below`, Phi of a, b, k_a and k_b (4, S)."""

    owen: np.ndarray
    below: np.ndarray


@njit(fastmath=FAST, error_model="numpy")
def fill_forms(mean, V, x, contrasts, skip, beta, forms):
    """Write the `forms` of nodes x (2, S) at one prior `mean` (2, 2); V, `contrasts`, `skip` and `beta` are those of `sums`."""
    units, kappa, r = forms
    (p_1, p_2), (q_1, q_2) = contrasts[0], contrasts[1]
    root, scale, root_2 = math.sqrt(V[0]), 1.0 / math.sqrt(V[1]), math.sqrt(2.0)
    m_1, m_2 = scale * mean[1, 0], scale * mean[1, 1]
    for i in range(r.size):
        r_1, r_2 = root_2 * (mean[0, 0] + root * x[0, i]), root_2 * (mean[0, 1] + root * x[1, i])
        s_1 = 1.0 / (1.0 + exp(-beta * (r_1 * p_1 + r_2 * p_2)))
        s_2 = 1.0 / (1.0 + exp(-beta * (r_1 * q_1 + r_2 * q_2)))
        # The factor e of both forms: its sign, because they are divided by their lengths.
        sign = 1.0 if skip + s_1 > 1.0 - s_2 else -1.0
        f_1, f_2 = (skip + s_1) * p_1 - (1.0 - s_1) * q_1, (skip + s_1) * p_2 - (1.0 - s_1) * q_2
        g_1, g_2 = (skip + s_2) * q_1 - (1.0 - s_2) * p_1, (skip + s_2) * q_2 - (1.0 - s_2) * p_2
        of_f, of_g = sign / math.sqrt(f_1 * f_1 + f_2 * f_2), sign / math.sqrt(g_1 * g_1 + g_2 * g_2)
        units[0, 0, i], units[0, 1, i], units[1, 0, i], units[1, 1, i] = of_f * f_1, of_f * f_2, of_g * g_1, of_g * g_2
        r[i] = min(max(of_f * of_g * (f_1 * g_1 + f_2 * g_2), -STRAIGHT), STRAIGHT)
        kappa[0, i] = min(max(of_f * (f_1 * m_1 + f_2 * m_2), -FURTHEST), FURTHEST)
        kappa[1, i] = min(max(of_g * (g_1 * m_1 + g_2 * m_2), -FURTHEST), FURTHEST)


@njit(fastmath=FAST, error_model="numpy", inline="always")
def _owen(h, k, below_h, below_k):
    """T(h, k / h), of h and k and their lower tails Phi; h is not zero."""
    u, v = abs(h), abs(k)
    large, small = max(u, v), min(u, v)
    ratio = small / large
    total = 0.0
    for place in range(PLACES.size):
        t = PLACES[place] * PLACES[place]
        total += WEIGHTS[place] * exp(-0.5 * (large * large + t * small * small)) / (1.0 + t * ratio * ratio)
    total *= ratio
    tail_h, tail_k = min(below_h, 1.0 - below_h), min(below_k, 1.0 - below_k)
    total = 0.5 * (tail_h + tail_k) - tail_h * tail_k - total if v > u else total
    return total if (h >= 0.0) == (k >= 0.0) else -total


@njit(error_model="numpy")
def _fill_tails(a, below):
    """Write Phi(a) of a (S,)."""
    for i in range(a.size):
        below[i] = 0.5 * math.erfc(-math.sqrt(0.5) * a[i])


@njit(fastmath=FAST, error_model="numpy")
def fill_normal(a, b, r, reach, normal):
    """Write `normal` of a, b and r (S,), with the work space `reach` (2, S) for k_a and k_b; zeros in a and b become NEXT."""
    owen, below = normal
    to_a, to_b = reach[0], reach[1]
    for i in range(r.size):
        a[i], b[i] = a[i] if a[i] != 0.0 else NEXT, b[i] if b[i] != 0.0 else NEXT
        c = 1.0 / math.sqrt((1.0 - r[i]) * (1.0 + r[i]))
        to_a[i], to_b[i] = c * (b[i] - r[i] * a[i]), c * (a[i] - r[i] * b[i])
    for k, some in enumerate((a, b, to_a, to_b)):
        _fill_tails(some, below[k])
    of_a, of_b, of_to_a, of_to_b = below[0], below[1], below[2], below[3]
    for i in range(r.size):
        owen[i] = _owen(a[i], to_a[i], of_a[i], of_to_a[i]) + _owen(b[i], to_b[i], of_b[i], of_to_b[i])


@njit(fastmath=FAST, error_model="numpy", inline="always")
def probability(s_1, s_2, a, b, owen, below_a, below_b):
    """Phi_2 of the output (s_1, s_2); zero below SMALLEST. `owen`, `below_a` = Phi(a) and `below_b` are those of a and b."""
    phi_a = below_a if s_1 > 0.0 else 1.0 - below_a
    phi_b = below_b if s_2 > 0.0 else 1.0 - below_b
    apart = s_1 * s_2 * (1.0 if a >= 0.0 else -1.0) * (1.0 if b >= 0.0 else -1.0) < 0.0
    P = 0.5 * (phi_a + phi_b) - s_1 * s_2 * owen - (0.5 if apart else 0.0)
    return P if P >= SMALLEST else 0.0


@njit(fastmath=FAST, error_model="numpy")
def _add(s_1, s_2, x, forms, normal, out):
    """Write the sums of the output (s_1, s_2) over nodes x (2, S) into `out` (SUMS,)."""
    units, kappa, _ = forms
    owen, below = normal
    x_1, x_2, f_1, f_2, g_1, g_2 = x[0], x[1], units[0, 0], units[0, 1], units[1, 0], units[1, 1]
    a, b, below_a, below_b, below_to_a, below_to_b = kappa[0], kappa[1], below[0], below[1], below[2], below[3]
    total = squares = first_1 = first_2 = lengths = last_1 = last_2 = radial = 0.0
    for i in range(a.size):
        P = probability(s_1, s_2, a[i], b[i], owen[i], below_a[i], below_b[i])
        known = 0.3989422804014327 if P > 0.0 else 0.0
        by_a = s_1 * known * exp(-0.5 * a[i] * a[i]) * (below_to_a[i] if s_2 > 0.0 else 1.0 - below_to_a[i])
        by_b = s_2 * known * exp(-0.5 * b[i] * b[i]) * (below_to_b[i] if s_1 > 0.0 else 1.0 - below_to_b[i])
        total += P
        squares += P * P
        first_1 += P * x_1[i]
        first_2 += P * x_2[i]
        lengths += P * (x_1[i] * x_1[i] + x_2[i] * x_2[i])
        last_1 += by_a * f_1[i] + by_b * g_1[i]
        last_2 += by_a * f_2[i] + by_b * g_2[i]
        radial += by_a * a[i] + by_b * b[i]
    out[TOTAL], out[SQUARES], out[FIRST_1], out[FIRST_2] = total, squares, first_1, first_2
    out[LENGTHS], out[LAST_1], out[LAST_2], out[RADIAL] = lengths, last_1, last_2, radial


@njit(error_model="numpy")
def sums(means, V, x, contrasts, skip, beta):
    """Sums over nodes of the four outputs, at each of n prior means.

    Parameters
    ----------
    means : array (n, 2, 2)
        Prior means of the contrasts (layer, contrast).
    V : array (2,)
        Prior variances of the layers.
    x : array (2, S)
        Standard normal nodes of the contrasts of layer 1.
    contrasts : array (2, 2)
        The vectors E_k11 - E_k12 and E_k22 - E_k12 of both contrasts k.
    skip, beta : float

    Returns
    -------
    array (n, 4, SUMS)
        Of the OUTPUTS.
    """
    size = x.shape[1]
    found = np.empty((len(means), len(OUTPUTS), SUMS))
    forms = Forms(np.empty((2, 2, size)), np.empty((2, size)), np.empty(size))
    normal, reach = Normal(np.empty(size), np.empty((4, size))), np.empty((2, size))
    for k in range(len(means)):
        fill_forms(means[k], V, x, contrasts, skip, beta, forms)
        fill_normal(forms.kappa[0], forms.kappa[1], forms.r, reach, normal)
        for output in range(len(OUTPUTS)):
            _add(OUTPUTS[output, 0], OUTPUTS[output, 1], x, forms, normal, found[k, output])
    return found
