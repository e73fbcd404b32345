"""Mean escape step of SGD of the feed-forward students at large d: noise at the start, then the flow (arXiv:2506.02651).

At the overlap m = d^(-1/2) the noise of SGD is as large as the overlap. Near the start x = sqrt(d) m is a Gaussian process,

    dx = g x dtau + sqrt(v) dW,   tau = t / d,   g = gamma (a - gamma (M + 1)),   v = gamma^2 (2 (M + 5) - 4 a),

with a = 2 / sqrt(pi). After a time of order 1 / g it is exp(g tau) (x_0 + sqrt(v / 2 g) Z), with Z standard normal, and the flow
follows. So the mean escape time differs from that of the flow by -E log|1 + s Z| / g, s = sqrt(v / 2 g) / x_0. This time does not
depend on d, and that of the flow grows like log(d) / 2 g: their ratio tends to 1 like 1 / log d. The untied student has M
independent overlaps m_l, each with g / M and v / M, and its overlap is the root of their mean square.
"""

import numpy as np
from scipy.integrate import quad
from scipy.special import digamma, hyp1f1
from scipy.stats import poisson

from attention_limits.sequence_single_index.large_dimension.fixed_students_flow import (
    FEED_FORWARD_SLOPE,
    feed_forward_escape,
)

# The threshold is this many times beyond start and noise, or the noise decides the whole path.
BEYOND = 5.0
# Up to this overlap the growth is linear; the terms left out are of relative order m^2.
LINEAR = 0.1
# Below this square of s the expansion in s is exact to 1e-12; above it the sum over the mixture has digits to 1e-8.
_SMALL = 1e-6


def start_noise(tokens, learning_rate):
    """v, the variance of sqrt(d) m of the tied student in unit time tau at m = 0; `tokens` is M, `learning_rate` gamma."""
    return learning_rate**2 * (2.0 * (tokens + 5.0) - 4.0 * FEED_FORWARD_SLOPE)


def mean_log(spread, components):
    """E log sqrt(mean_l (1 + s Z_l)^2) for s = `spread` >= 0 and k = `components` independent standard normal Z_l.

    The sum of the squares is s^2 times a noncentral chi-square variable, a Poisson mixture of central ones with E log chi^2_n =
    log 2 + digamma(n / 2).
    """
    if spread**2 < _SMALL:
        return 0.5 * spread**2 * (components - 2.0) / components
    half = 0.5 * components / spread**2
    number = np.arange(*poisson.interval(1.0 - 1e-14, half) + np.array([0.0, 1.0]))
    mixed = poisson.pmf(number, half) @ digamma(0.5 * components + number)
    return 0.5 * (np.log(2.0 * spread**2 / components) + mixed)


def first_passage(spread, ratio, components):
    """Mean time, times g, at which sqrt(mean_l x_l^2) of k = `components` independent processes dx_l = g x_l dtau + sqrt(v) dW_l
    that start at x_l = 1 first exceeds the `ratio`; s = `spread` = sqrt(v / 2 g) > 0.

    The backward equation of the radius has the solution int_1^ratio (y / s^2) 1F1(1; k/2 + 1; -k y^2 / (2 s^2)) dy.
    """

    def slope(y):
        return y / spread**2 * hyp1f1(1.0, 0.5 * components + 1.0, -0.5 * components * (y / spread) ** 2)

    return quad(slope, 1.0, ratio, epsrel=1e-8)[0]


def noisy_escape_step(tokens, learning_rate, dimension, start, threshold, untied=False):
    """Mean step at which SGD of the tied student, or of the `untied` one, first exceeds the `threshold` from the overlap `start`.

    `tokens` is M, `learning_rate` gamma, `dimension` d. Zero from a start beyond the threshold, infinite where the flow does not
    escape. Where the threshold is less than BEYOND times the start or the noise sqrt(v / 2 g d), the noise is not confined to the
    start: up to the threshold LINEAR the process is that of `first_passage`, beyond it the step is NaN.
    """
    tau = feed_forward_escape(tokens, learning_rate, start, threshold, untied)
    if tau == 0.0 or not np.isfinite(tau):
        return tau
    growth = learning_rate * (FEED_FORWARD_SLOPE - learning_rate * (tokens + 1.0))
    # At the bound of the learning rate a small start may shrink where the flow of a larger one grows.
    if growth <= 0.0:
        return np.nan
    noise = np.sqrt(0.5 * start_noise(tokens, learning_rate) / (growth * dimension))
    components = tokens if untied else 1
    if threshold >= BEYOND * max(start, noise):
        return dimension * (tau - components * mean_log(noise / start, components) / growth)
    if threshold > LINEAR:
        return np.nan
    return dimension * components * first_passage(noise / start, threshold / start, components) / growth
