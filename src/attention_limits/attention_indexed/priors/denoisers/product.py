"""Denoising of S = Q K^T / sqrt(r d), Q and K independent, from Y = S + sqrt(D) Z; the entries of Z have the variance 1/d.

The laws of S and Z do not change under rotations from the left and from the right. The singular values of Y, with both signs,
have the law of a free sum, whose transform g = E 1 / (z - lambda) solves, at rho = r/d,

    z = 1/g + D g + rho g / (rho - g^2),    a quartic.

The last term is the R-transform of S: (1/d) log E exp(d t u^T S v) = -(rho/2) log(1 - t^2 / rho) for unit vectors u and v, with
the derivative rho t / (rho - t^2). Where the density mu is positive, g = h - i pi mu. The imaginary part of z is zero, and
everything is an explicit function of sigma = D |g|^2. With delta = rho D, eta = 1 - sigma, and sigma_0 the value at lambda = 0,
(1 - sigma_0)(sigma_0 + delta) = rho sigma_0,

    lambda^2 = c (sigma^2 + delta)^2 / (rho eta sigma^2 (sigma + delta)),    c = (sigma_0 - sigma)(sigma + delta / sigma_0),
    D (pi mu)^2 = sigma - (sigma + delta) c / (4 delta eta),    xi = lambda - 2 D h = lambda delta eta / (sigma^2 + delta).

sigma decreases with lambda > 0. xi is the posterior mean of a singular value: keeping the singular vectors and mapping lambda
-> xi is the Bayes-optimal denoiser (Troiani, Erba, Krzakala, Maillard, Zdeborova 2022, arXiv:2203.07752; the free sum: Benaych-
Georges 2009, arXiv:math/0507336). Singular vectors of Y with the singular value lambda overlap with
those of S whose singular values have the variance D eta, so

    mmse(D) = D int mu eta    ( = 1 - int mu xi^2 = D - (4 pi^2 / 3) D^2 int mu^3,    all over both signs ).

Everywhere `ratio` is rho, one number, and `noise` is D.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.priors.denoisers.wishart_kernels import quotient_sum
from attention_limits.numerics.solvers.roots import bisect, root_between

# Gauss-Legendre nodes per panel, in the angle theta of y = middle - half cos(theta): the square roots of the edges become smooth.
NODES = 64
_X, _W = np.polynomial.legendre.leggauss(NODES)
_ANGLE, _STEP = 0.5 * np.pi * (_X + 1.0), 0.5 * np.pi * _W
# Ends of brackets relative to their other end, far below every root: of sigma_0 - sigma, and of sigma.
_TINY, _SMALL = 1e-100, 1e-8


@dataclass(frozen=True)
class Spectrum:
    """The singular values of Y at points of their support; arrays of one shape.

    Attributes
    ----------
    value, transform, height, signal, remaining : array
        lambda > 0; h = Re g; pi mu, mu normalised over both signs; xi, the posterior mean of the singular value of S; eta.
    slope : array
        d xi / d lambda.
    change : array
        d lambda / d y, positive.
    """

    value: np.ndarray
    transform: np.ndarray
    height: np.ndarray
    signal: np.ndarray
    remaining: np.ndarray
    slope: np.ndarray
    change: np.ndarray


def spectrum(y, ratio: float, noise) -> Spectrum:
    """The spectrum at y = log(sigma_0 eta / (eta_0 sigma)) >= 0; `noise` broadcasts. Outside of the support pi mu is zero.

    At small D sigma changes by orders of magnitude, and in the limit of small width eta does.
    """
    delta = ratio * noise
    centre = _centre(ratio, delta)
    quotient = _quotient(y, ratio, delta, centre)
    eta = 1.0 / (1.0 + quotient)
    sigma, away = quotient * eta, -centre * eta * np.expm1(-y)
    c = away * (sigma + delta / centre)
    value = np.sqrt(c / (ratio * eta * (sigma + delta))) * (sigma + delta / sigma)
    factor = delta * eta / (sigma**2 + delta)
    transform = value * sigma * (sigma + delta) / (2.0 * noise * (sigma**2 + delta))
    # Minus d/dy of log lambda and of log factor; near zero the former is that of log sqrt(sigma_0 - sigma).
    growth = 0.5 * sigma * eta * (
        -1.0 / np.where(away > 0, away, np.inf) + 1.0 / (sigma + delta / centre) + 4.0 * sigma / (sigma**2 + delta)
        + 1.0 / eta - 2.0 / sigma - 1.0 / (sigma + delta)
    )  # fmt: skip
    change = -sigma * eta * (1.0 / eta + 2.0 * sigma / (sigma**2 + delta))
    height = np.sqrt(np.maximum(_excess(sigma, eta, c, ratio, delta), 0.0) / (4.0 * delta * eta * noise))
    return Spectrum(value, transform, height, factor * value, eta, factor * (1.0 + change / growth), -value * growth)


def _centre(ratio, delta):
    """sigma_0, the positive root of sigma^2 - (1 - rho - delta) sigma - delta."""
    half = 0.5 * (1.0 - ratio - delta)
    root = np.sqrt(half**2 + delta)
    return np.where(half > 0, half + root, delta / (root - np.minimum(half, 0.0)))


def _quotient(y, ratio, delta, centre):
    """sigma / eta at y."""
    return (centre + delta) / ratio * np.exp(-y)


def _centre_remaining(ratio, delta, centre):
    """1 - sigma_0 without cancellation."""
    return ratio * centre / (centre + delta)


def _excess(sigma, eta, c, ratio, delta):
    """4 delta eta D (pi mu)^2, a cubic in sigma, positive in the support; of two forms, the one with the smaller numbers."""
    first, second = 4.0 * delta * sigma * eta, ratio * sigma * (sigma + delta)
    return np.where(first < second, first - (sigma + delta) * c, second - (sigma - delta) ** 2 * eta)


def panels(ratio: float, noise) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends in y of the bulks of lambda > 0, from zero on: low and high, each (..., bulks), and whether there is a gap (...).

    For rho < 1 there are always two panels; without a gap they share an end, where the density is small, or the second is empty.
    Raises ValueError if rho <= 0 or a D <= 0.
    """
    noise = np.asarray(noise, dtype=float)
    if not (0 < ratio < np.inf) or not np.all((noise > 0) & (noise < np.inf)):
        raise ValueError(f"need rho > 0 and D > 0, both finite, got rho = {ratio} and D = {noise}")
    delta = ratio * noise
    centre = _centre(ratio, delta)
    inner = _centre_remaining(ratio, delta, centre)

    def excess(sigma, away):
        """At sigma = sigma_0 - away."""
        return _excess(sigma, inner + away, away * (sigma + delta / centre), ratio, delta)

    def inverse(away):
        """y at sigma = sigma_0 - away, accurate near zero."""
        return np.log1p(away / inner) - np.log1p(-np.minimum(away / centre, 1.0 - 1e-15))

    def inverse_far(sigma):
        """The same away from sigma_0."""
        return np.log(centre / sigma) + np.log(np.maximum(1.0 - sigma, inner) / inner)

    # The neck: the cubic is smallest at the smaller zero of its derivative d/d eta, a quadratic.
    b, square = 2.0 * (1.0 - delta) + ratio, (1.0 - delta) ** 2 + ratio * (2.0 + delta)
    spread = b**2 - 3.0 * square
    with_neck = (ratio < 1.0) & (delta < 1.0) & (spread > 0)
    neck = square / np.maximum(b + np.sqrt(np.maximum(spread, 0.0)), square) - inner
    with_neck &= (neck > 0) & (inner + neck < 1.0 - delta)
    neck = np.where(with_neck, neck, centre)
    gap = with_neck & (excess(centre - neck, neck) < 0)
    first = bisect(lambda away: -excess(centre - away, away), _TINY * centre, np.where(gap, neck, centre))
    end = np.minimum(delta, centre)
    smallest = bisect(lambda sigma: excess(sigma, centre - sigma), _SMALL * end, end)
    # At large D sigma hardly changes, at small D it changes by orders of magnitude.
    last = np.where(~gap & (first < 0.5 * centre), inverse(first), inverse_far(smallest))
    zero = np.zeros_like(last)
    if ratio >= 1.0:
        return zero[..., None], last[..., None], gap
    low, high = np.where(gap, delta, 0.5), np.where(gap, centre - neck, 0.5)
    second = inverse_far(bisect(lambda sigma: -excess(sigma, centre - sigma), low, high))
    shared = np.where(with_neck, np.minimum(inverse(neck), last), last)
    left, right = np.where(gap, inverse(first), shared), np.where(gap, second, shared)
    return np.stack([zero, right], axis=-1), np.stack([left, last], axis=-1), gap


def integrate(function, ratio: float, noise):
    """int mu(lambda) function(Spectrum) d lambda over both signs of lambda, for each D (...); the function is even."""
    noise = np.asarray(noise, dtype=float)
    low, high, _ = panels(ratio, noise)
    half = 0.5 * (high - low)[..., None]
    y = low[..., None] + half * (1.0 - np.cos(_ANGLE))
    at = spectrum(y, ratio, noise[..., None, None])
    steps = half * np.sin(_ANGLE) * _STEP * at.change
    return np.sum(2.0 / np.pi * at.height * function(at) * steps, axis=(-2, -1))


def mmse(ratio: float, noise):
    """Error (1/d) E ||S - E[S | Y]||_F^2 at noise D (...): between 0 at D = 0 and 1 at D = infinity. Raises ValueError as
    `panels`."""
    return np.asarray(noise, dtype=float) * integrate(lambda at: at.remaining, ratio, noise)


def shrink(values, ratio: float, noise: float):
    """xi of each singular value of Y, `values` (n,), and d xi / d lambda.

    Outside of the support, where there is a gap, xi is its continuation lambda - 2 D g, at least zero: a finite teacher has
    singular values beyond the ends of its limit. Without a gap xi is that of the nearest end, because noise reaches further out
    than the signal that it hides. Raises ValueError as `panels`.
    """
    values = np.asarray(values, dtype=float)
    low, high, gap = panels(ratio, noise)
    below, above = (spectrum(end, ratio, noise).value for end in (low, high))
    inside = np.clip(values[:, None], below, above)
    bulk = np.argmin(np.abs(inside - values[:, None]), axis=1)
    wanted = np.take_along_axis(inside, bulk[:, None], axis=1)[:, 0]

    def y_at(place, low, high):
        return low + (high - low) * place

    # lambda^2 is smooth at zero, and the place in a bulk of order one.
    place = root_between(
        lambda place, wanted, *ends: spectrum(y_at(place, *ends), ratio, noise).value ** 2 - wanted**2,
        0.0,
        1.0,
        wanted,
        low[bulk],
        high[bulk],
    )
    found = spectrum(y_at(place, low[bulk], high[bulk]), ratio, noise)
    out = wanted != values
    xi, slope = found.signal, np.where(out, 0.0, found.slope)
    if gap and np.any(out):
        xi[out], slope[out] = _continued(values[out], ratio, noise, low, high)
    return xi, slope


def _continued(values, ratio, noise, low, high):
    """xi and its slope above the support and in its gap, where g is real: z in units of sqrt(D) is a function of sqrt(D) g."""
    delta = ratio * noise
    quotient = _quotient(np.stack([low[1], high[1], high[0]]), ratio, delta, _centre(ratio, delta))
    ends = np.sqrt(quotient / (1.0 + quotient))
    z = values / np.sqrt(noise)

    def transform(root):
        return 1.0 / root + root + ratio * root / (delta - root**2)

    top = z > transform(ends[1])
    # z decreases with the root: from the edge of the top to zero, and through the gap.
    root = bisect(lambda root: z - transform(root), np.where(top, 0.5 / z, ends[0]), np.where(top, ends[1], ends[2]))
    continued = values - 2.0 * np.sqrt(noise) * root
    # The derivative of the transform is zero at the ends, where the slope is infinite.
    turning = np.minimum(1.0 - root**-2 + ratio * (delta + root**2) / (delta - root**2) ** 2, -0.1)
    return np.maximum(continued, 0.0), np.where(continued > 0.0, 1.0 - 2.0 / turning, 0.0)


def response(values, xi, slope, shape):
    """Mean derivative of the denoiser over the entries of a matrix of `shape` (d_q, d_k), d^2 = d_q d_k.

    `values`, `xi` and `slope` (min(d_q, d_k),) are those of `shrink`.

    (1/d^2) [sum_k xi_k' + sum_{k != l} (lambda_k xi_k - lambda_l xi_l) / (lambda_k^2 - lambda_l^2) + |d_q - d_k| sum_k xi_k /
    lambda_k], the divergence of a function of the singular values (Candes, Sing-Long, Trzasko 2013, arXiv:1210.4139). Times D it
    has the limit mmse(D) (Stein's lemma).
    """
    # The quotient is the mean of those of differences and of sums.
    total = np.maximum(np.add.outer(values, values), np.finfo(float).tiny)
    sums = np.add.outer(xi, xi) / total
    pairs = quotient_sum(values, xi, slope) + sums.sum() - slope.sum() - np.trace(sums)
    longer = abs(shape[0] - shape[1])
    rest = longer * np.sum(xi / values) if longer else 0.0
    return float((0.5 * pairs + slope.sum() + rest) / (shape[0] * shape[1]))
