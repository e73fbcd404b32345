"""State evolution of extensive-width attention: the Bayes-optimal error against alpha = n / d^2, and its limits.

With Q = E tr S^2 / d the fixed point is V = mmse(D), 1/D = alpha information(V, Q) (Boncoraglio, Troiani, Erba, Zdeborova 2025,
arXiv:2506.01582). Nothing is iterated: at each D the first equation gives V and the second alpha; a root finder inverts alpha(D).

Everywhere `channel` is a `channel.Channel`, `noise` is D, and `prior` is a `priors.Prior`, or rho for the Wishart law.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channel import Channel
from attention_limits.attention_indexed.priors import Prior, as_prior
from attention_limits.numerics.roots import false_position

# Where an output gives equations, errors of order D below this count as exact recovery.
SMALLEST_NOISE = 1e-11
# Other channels are followed down to this D.
_SMALLEST_FOLLOWED = 1e-30
# Beyond this D the error is 1 to rounding.
_LARGEST_NOISE = 1e20
# Values of D by decade at which alpha is bracketed before it is inverted.
_PER_DECADE = 20


@dataclass(frozen=True)
class Curve:
    """Points of a learning curve: alpha, error V = mmse and the noise D = 1 / q_hat on the observed S; arrays of one shape."""

    alpha: np.ndarray
    mmse: np.ndarray
    noise: np.ndarray


def curve(channel: Channel, prior: Prior | float, noise) -> Curve:
    """The curve at given D > 0 (...). Raises ValueError if rho or a D is out of its range."""
    noise = np.asarray(noise, dtype=float)
    prior = as_prior(prior)
    V = prior.mmse(noise)
    return Curve(1.0 / (noise * channel.information(V, prior.Q)), V, noise)


def solve(channel: Channel, prior: Prior | float, alpha) -> Curve:
    """The curve at given alpha >= 0 (n,), error 1 at alpha = 0 and 0 from exact recovery on.

    Raises
    ------
    ValueError
        If rho is out of its range, an alpha is negative, or, on a channel without exact recovery, lies beyond D = 1e-30.
    """
    alpha, prior = np.asarray(alpha, dtype=float), as_prior(prior)
    if np.any(~(alpha >= 0)):
        raise ValueError(f"need alpha >= 0, got {alpha[~(alpha >= 0)][0]}")
    V, D = np.ones_like(alpha), np.full_like(alpha, np.inf)
    # The information is smallest without data: D is at most that of V = 1.
    information = channel.information(1.0, prior.Q)
    unlearned = alpha * information < 1.0 / _LARGEST_NOISE
    D[(alpha > 0) & unlearned] = 1.0 / np.maximum(alpha[(alpha > 0) & unlearned] * information, np.finfo(float).tiny)
    if np.all(unlearned):
        return Curve(alpha, V, D)
    largest = 2.0 / (np.min(alpha[~unlearned]) * information)
    smallest = min(SMALLEST_NOISE, 1e-3 * largest)
    while (
        channel.equations is None
        and curve(channel, prior, smallest).alpha <= alpha.max()
        and smallest > _SMALLEST_FOLLOWED
    ):
        smallest *= 1e-3
    count = max(2, int(_PER_DECADE * np.log10(largest / smallest)))
    table = curve(channel, prior, np.geomspace(largest, smallest, count))
    beyond = alpha >= table.alpha[-1]
    if channel.equations is None and np.any(beyond):
        raise ValueError(f"alpha {alpha[beyond][0]:g}: the curve is followed up to {table.alpha[-1]:g}")
    V[beyond] = D[beyond] = 0.0
    inside = ~unlearned & ~beyond
    # alpha grows along the table. If it did not, this would be the first crossing, which the uninformed start reaches.
    index = np.array([np.argmax(table.alpha >= value) for value in alpha[inside]], dtype=int)
    if not np.any(inside):
        return Curve(alpha, V, D)
    wanted = np.log(alpha[inside])
    found = false_position(
        lambda log_noise: np.log(curve(channel, prior, np.exp(log_noise)).alpha) - wanted,
        np.log(table.noise[index - 1]),
        np.log(table.noise[index]),
    )
    D[inside] = np.exp(found)
    V[inside] = prior.mmse(D[inside])
    return Curve(alpha, V, D)


def trajectory(channel: Channel, prior: Prior | float, alpha: float, steps: int) -> np.ndarray:
    """Errors V_1, ..., V_steps of undamped message passing in the limit of large d: V_0 = 1, V_t+1 = mmse(1 / (alpha I(V_t))).

    `channel`, `prior` and `alpha` > 0 as above; `steps` is the number of errors. Errors that vanish stay zero.
    """
    errors, V, prior = np.zeros(steps), 1.0, as_prior(prior)
    for step in range(steps):
        noise = 1.0 / (alpha * channel.information(V, prior.Q))
        if noise < SMALLEST_NOISE:
            break
        V = errors[step] = float(prior.mmse(noise))
    return errors


def exact_recovery(channel: Channel, prior: Prior | float) -> float:
    """The alpha from which on the error is zero, 2 nu / K: as many equations as parameters; infinite for coarser outputs."""
    return np.inf if channel.equations is None else float(2.0 * as_prior(prior).effective_dimension / channel.equations)


def weak_recovery(channel: Channel) -> float:
    """The alpha / rho below which nothing is learned in the limit rho -> 0. At rho > 0 any alpha is enough to learn something."""
    return float(1.0 / channel.information(1.0, 1.0))


def small_width(channel: Channel, rescaled_alpha) -> np.ndarray:
    """Error in the limit rho -> 0 at alpha / rho = `rescaled_alpha` (n,).

    With D = t / rho, V = 1 - max(1 - t, 0)^2 and alpha / rho = 1 / (t information).

    Raises ValueError if a value is negative.
    """
    wanted = np.asarray(rescaled_alpha, dtype=float)
    if np.any(~(wanted >= 0)):
        raise ValueError(f"need alpha / rho >= 0, got {wanted[~(wanted >= 0)][0]}")
    if channel.equations is not None:
        return 1.0 - np.clip(channel.equations * wanted - 1.0, 0.0, 1.0) ** 2
    errors = np.ones_like(wanted)
    above = wanted > weak_recovery(channel)
    if np.any(above):
        target = np.log(wanted[above])

        def excess(log_t):
            t = np.exp(log_t)
            return -np.log(t * channel.information(t * (2.0 - t), 1.0)) - target

        t = np.exp(false_position(excess, np.zeros_like(target), np.full_like(target, np.log(SMALLEST_NOISE))))
        errors[above] = t * (2.0 - t)
    return errors


def error_bound(channel: Channel, compute, alpha, Q: float) -> np.ndarray:
    """Bound on the error of the learning curve compute(alpha) (n,): the effect of the uncertain information of the channel.

    An information larger by a factor has the effect of a number of samples larger by this factor. `Q` is the prior variance of
    the scores. The bound is NaN where that of the information is.
    """
    alpha = np.asarray(alpha, dtype=float)
    uncertainty = np.broadcast_to(channel.uncertainty(compute(alpha), Q), alpha.shape)
    if not np.any(uncertainty):
        return np.zeros_like(alpha)
    known = np.where(np.isnan(uncertainty), 0.0, uncertainty)
    bound = 0.5 * (compute(alpha * (1.0 - known)) - compute(alpha * (1.0 + known)))
    return np.where(np.isnan(uncertainty), np.nan, bound)


def tail(channel: Channel, prior: Prior | float, alpha) -> np.ndarray:
    """Leading error at large alpha (n,), (1 + rho) (2 nu / (f(0) alpha))^2, f(0) = `channel.ties`; NaN without ties or samples.

    For the hardmax of two tokens it is (1 + rho) pi nu^2 / (2 J^2 alpha^2), J = `hardmax.SIGN_INTEGRAL`.
    """
    alpha = np.asarray(alpha, dtype=float)
    found, seen = np.full_like(alpha, np.nan), alpha > 0
    if channel.ties is not None:
        prior = as_prior(prior)
        nu = prior.effective_dimension
        found[seen] = prior.Q * (2.0 * nu / (channel.ties * alpha[seen])) ** 2
    return found
