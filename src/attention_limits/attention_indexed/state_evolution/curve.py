"""State evolution of extensive-width attention: the errors of its fixed points against alpha = n / d^2, and their limits.

With Q = E tr S^2 / d the fixed point is V = mmse(D), 1/D = alpha information(V, Q) (Boncoraglio, Troiani, Erba, Zdeborova 2025,
arXiv:2506.01582). Nothing is iterated: at each D the first equation gives V and the second alpha; a root finder inverts alpha(D).

alpha(D) need not be monotone. Message passing maps D to D alpha(D) / alpha, and the information grows as V falls. So a fixed
point is stable if alpha(D) falls with D, and from no knowledge (D = infinity) the iteration ends at the crossing alpha(D) = alpha
of the largest D: the uninformed solution. From the teacher (D = 0) it ends at the crossing of the smallest D: the informed one.

    D = 0         is a stable fixed point from alpha = 2 nu / K on, if the information has the law K / V at small V;
    D = infinity  is one if information(1) = 0: an output that hides the sign of the scores, and S of mean zero. There
                  1 - V -> 1 / D, so alpha(D) tends to 1 over the slope of the information in 1 - V: it is stable up to there.

Everywhere `channel` is a `protocol.Channel`, `noise` is D, and `prior` is a `prior.Prior`, or rho for the Wishart law.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.priors.wishart import SmallWidth, as_prior
from attention_limits.numerics.solvers.roots import root_between

# Where an output gives equations, errors of order D below this count as exact recovery.
SMALLEST_NOISE = 1e-11
# Other channels are followed down to this D.
_SMALLEST_FOLLOWED = 1e-30
# Beyond this D the error is 1 to rounding.
_LARGEST_NOISE = 1e20
# The largest D of a curve that does not begin at alpha = 0: there 1 - V = 1 / D still has ten digits.
_LARGE_NOISE = 1e6
# Values of D by decade at which alpha is bracketed before it is inverted; relative changes of alpha below this are rounding.
_PER_DECADE, _ROUNDING = 20, 1e-9
# Two solutions that differ by less are one: the accuracy of mmse(D).
_SAME = 1e-6
# All alpha > 0 of the specifications, in steps that a turning curve is followed with.
ALPHAS = (1e-12, 1e3)
# Noises D between which the error passes any number that is not near zero or one, at every width of the specification.
_SEARCHED = (1e-3, 1e10)


@dataclass(frozen=True)
class Curve:
    """Points of a learning curve: alpha, error V = mmse and the noise D = 1 / q_hat on the observed S; arrays of one shape."""

    alpha: np.ndarray
    mmse: np.ndarray
    noise: np.ndarray


@dataclass(frozen=True)
class Solutions:
    """Both extreme fixed points at given alpha; arrays of one shape.

    Numbers are NaN where a solution is below all D that the curve is followed to.

    Attributes
    ----------
    alpha : array
    mmse, noise : array
        V and D of the uninformed fixed point, of the largest D: message passing ends there.
    informed, informed_noise : array
        V and D of the informed fixed point, of the smallest D.
    unique : array of bool
        Whether both are one. Then it is the Bayes-optimal error, if the channel is a posterior; `phases` compares several.
    """

    alpha: np.ndarray
    mmse: np.ndarray
    noise: np.ndarray
    informed: np.ndarray
    informed_noise: np.ndarray
    unique: np.ndarray


def curve(channel: Channel, prior: Prior | float, noise) -> Curve:
    """The curve at given D > 0 (...). Raises ValueError if rho or a D is out of its range."""
    noise = np.asarray(noise, dtype=float)
    prior = as_prior(prior)
    V = prior.mmse(noise)
    with np.errstate(divide="ignore"):
        return Curve(1.0 / (noise * channel.information(V, prior.Q)), V, noise)


def followed(channel: Channel, prior: Prior | float, smallest: float, largest: float) -> Curve:
    """The whole curve in order of falling D, with its turning points, for alpha > 0 from `smallest` to `largest`.

    Raises ValueError if rho is out of its range.
    """
    prior = as_prior(prior)
    information = float(channel.information(1.0, prior.Q))
    # The information is smallest without data: D is at most that of V = 1.
    first = 2.0 / (smallest * information) if information > 0 else _LARGE_NOISE
    last = min(SMALLEST_NOISE, 1e-3 * first)
    equations, _ = law_of_small_errors(channel, prior.Q)
    while equations == 0 and curve(channel, prior, last).alpha <= largest and last > _SMALLEST_FOLLOWED:
        last *= 1e-3
    # Nodes at fixed places: the brackets of a point, and so its last digits, do not depend on the other points.
    low, high = np.floor(_PER_DECADE * np.log10(last)), np.ceil(_PER_DECADE * np.log10(first))
    noise = 10.0 ** (np.arange(high, low - 1.0, -1.0) / _PER_DECADE)
    noise = np.unique(np.append(noise, _turns(channel, prior, noise)))
    return curve(channel, prior, noise[::-1])


def _turns(channel, prior, noise):
    """The D (...) at which alpha(D) has an extreme, between the nodes `noise` (n,). Both arrays fall."""

    def logarithm(log_noise):
        return float(np.log(curve(channel, prior, np.exp(log_noise)).alpha))

    logs, found = np.log(np.minimum(curve(channel, prior, noise).alpha, np.finfo(float).max)), []
    changes = np.diff(logs)
    rises = np.where(np.abs(changes) < _ROUNDING, 0.0, np.sign(changes))
    for place in np.flatnonzero(rises[1:] * rises[:-1] < 0):
        sign, bounds = -rises[place], np.log(noise[[place + 2, place]])
        best = minimize_scalar(
            lambda x, sign=sign: sign * logarithm(x), bounds=bounds, method="bounded", options={"xatol": 1e-9}
        )
        found.append(np.exp(best.x))
    return np.array(found)


def law_of_small_errors(channel: Channel, Q: float) -> tuple[float, float]:
    """K of the law information -> K / V at small V, at prior variance `Q`, and its relative uncertainty.

    K is 0 for a weaker law, and NaN where the table of a sampled channel decides for neither.
    """
    return (float(channel.equations or 0), 0.0) if channel.closed_form else channel.small_errors(Q)


def solve(channel: Channel, prior: Prior | float, alpha) -> Solutions:
    """Uninformed and informed solution at given alpha >= 0 (n,): error 1 at alpha = 0, and 0 where the recovery is exact.

    Raises ValueError if rho is out of its range, or an alpha is negative.
    """
    alpha, prior = np.asarray(alpha, dtype=float), as_prior(prior)
    if np.any(~(alpha >= 0)):
        raise ValueError(f"need alpha >= 0, got {alpha[~(alpha >= 0)][0]}")
    V, D = np.ones((2, *alpha.shape)), np.full((2, *alpha.shape), np.inf)
    information = float(channel.information(1.0, prior.Q))
    unlearned = (alpha == 0) | ((information > 0) & (alpha * information < 1.0 / _LARGEST_NOISE))
    some = unlearned & (alpha > 0)
    D[:, some] = 1.0 / np.maximum(alpha[some] * information, np.finfo(float).tiny)
    inside = ~unlearned
    if np.any(inside):
        wanted = alpha[inside]
        table = followed(channel, prior, wanted.min(), wanted.max())
        first, last = _crossings(channel, prior, table, wanted, information > 0)
        found = np.array(_between(channel, prior, table, wanted, first))
        V[:, inside], D[:, inside] = found
        other = last != first
        if np.any(other):
            found[:, other] = _between(channel, prior, table, wanted[other], last[other])
            V[1, inside], D[1, inside] = found
    unique = (D[0] == D[1]) | (np.abs(V[0] - V[1]) < _SAME)
    return Solutions(alpha, V[0], D[0], V[1], D[1], unique)


# Solutions that are not between two nodes: at D = infinity, at D = 0, and below all D that the curve is followed to.
_NOTHING, _EXACT, _BEYOND = -1, -2, -3


def _crossings(channel, prior, table, alpha, begins):
    """The nodes after the first and the last crossing of each alpha (n,) on the way to small D, or a name from above.

    `begins`: at D = infinity alpha is zero. Otherwise D = infinity is a solution, stable up to the alpha of the first node.
    """
    above = table.alpha >= alpha[:, None]
    equations, _ = law_of_small_errors(channel, prior.Q)
    # At the last node the error is zero to rounding.
    known = min(exact_recovery(channel, prior), table.alpha[-1]) if equations > 0 else np.inf
    recovered = alpha >= known
    end = np.where(recovered, _EXACT, _BEYOND)
    first = np.where(above.any(axis=1), above.argmax(axis=1), end)
    first = np.where(above[:, 0] & (not begins), _NOTHING, first)
    upwards = above[:, 1:] & ~above[:, :-1]
    last = np.where(upwards.any(axis=1), above.shape[1] - 1 - upwards[:, ::-1].argmax(axis=1), first)
    return first, np.where(recovered | ~above[:, -1], end, last)


def _between(channel, prior, table, alpha, places):
    """V and D of each alpha (n,), before the node of number `places` (n,) or as `places` names it."""
    names = [places == _NOTHING, places == _EXACT]
    V, D = np.select(names, [1.0, 0.0], np.nan), np.select(names, [np.inf, 0.0], np.nan)
    inside = places > 0
    if np.any(inside):
        D[inside] = noise_between(channel, prior, table, alpha[inside], places[inside])
        V[inside] = prior.mmse(D[inside])
    return V, D


def noise_between(channel: Channel, prior: Prior, table: Curve, alpha: np.ndarray, index: np.ndarray) -> np.ndarray:
    """D (n,) with alpha(D) = `alpha` (n,) between the nodes `index` - 1 and `index` (n,) of the `table`, which have it between
    their values."""
    return np.exp(
        root_between(
            lambda log_noise, wanted: np.log(curve(channel, prior, np.exp(log_noise)).alpha) - wanted,
            np.log(table.noise[index - 1]),
            np.log(table.noise[index]),
            np.log(alpha),
        )
    )


def several_solutions(channel: Channel, prior: Prior | float) -> tuple[float, float]:
    """The smallest and the largest alpha with more than one solution; both NaN where the solution is unique everywhere.

    The informed branch begins at the first one. The uninformed one ends at the second one: the threshold of message passing.
    """
    prior = as_prior(prior)
    table, recovery = followed(channel, prior, *ALPHAS), exact_recovery(channel, prior)
    slack = np.nan_to_num(np.broadcast_to(channel.uncertainty(table.mmse, prior.Q), table.alpha.shape))
    at_end = np.nan_to_num(law_of_small_errors(channel, prior.Q)[1])

    def extremes(alpha, later):
        """The largest number so far and the smallest one that follows."""
        return np.maximum.accumulate(alpha), np.minimum.accumulate(later[::-1])[::-1]

    tops, depths = extremes(table.alpha, np.append(table.alpha[1:], recovery))
    # A fall counts if the uncertain information cannot undo it.
    surely = extremes(
        table.alpha * (1.0 - slack), np.append((table.alpha * (1.0 + slack))[1:], recovery * (1.0 + at_end))
    )
    falls = surely[0] > surely[1] * (1.0 + _SAME)
    return (float(depths[falls].min()), float(tops[falls].max())) if np.any(falls) else (np.nan, np.nan)


def samples_of_error(channel: Channel, prior: Prior | float, error: float) -> float:
    """The alpha at which the uninformed error passes `error`, between 0 and 1, or jumps over it."""
    prior = as_prior(prior)
    noise = np.exp(root_between(lambda log_noise: prior.mmse(np.exp(log_noise)) - error, *np.log(_SEARCHED)))
    table = followed(channel, prior, *ALPHAS)
    before = table.alpha[table.noise >= noise]
    return float(max(np.max(before, initial=0.0), curve(channel, prior, noise).alpha))


def trajectory(channel: Channel, prior: Prior | float, alpha: float, steps: int) -> np.ndarray:
    """Errors V_1, ..., V_steps of undamped message passing in the limit of large d: V_0 = 1, V_t+1 = mmse(1 / (alpha I(V_t))).

    `channel`, `prior` and `alpha` > 0 as above; `steps` is the number of errors. Errors that vanish stay zero.
    """
    errors, V, prior = np.zeros(steps), 1.0, as_prior(prior)
    for step in range(steps):
        information = float(channel.information(V, prior.Q))
        noise = 1.0 / (alpha * information) if information > 0 else _LARGEST_NOISE
        if noise < SMALLEST_NOISE:
            break
        V = errors[step] = float(prior.mmse(noise))
    return errors


def exact_recovery(channel: Channel, prior: Prior | float) -> float:
    """The alpha above which the informed error is zero, 2 nu / K: as many equations as parameters.

    Infinite for coarser outputs; NaN where the law of the information at small V is not known.
    """
    prior = as_prior(prior)
    equations, _ = law_of_small_errors(channel, prior.Q)
    return np.inf if equations == 0 else float(2.0 * prior.effective_dimension / equations)


def weak_recovery(channel: Channel) -> float:
    """The alpha / rho below which nothing is learned in the limit rho -> 0; infinite where the output hides the sign of the
    scores. At rho > 0 any alpha is enough to learn something, unless the mean of S is zero."""
    information = float(channel.information(1.0, 1.0))
    return 1.0 / information if information > 0 else np.inf


def small_width(channel: Channel, rescaled_alpha) -> Solutions:
    """Errors in the limit rho -> 0 at alpha / rho = `rescaled_alpha` (n,), with D in units of 1 / rho.

    The equations are those of every width with V = 1 - max(1 - D, 0)^2 (`wishart.SmallWidth`). Raises ValueError if a value is
    negative.
    """
    wanted = np.asarray(rescaled_alpha, dtype=float)
    if np.any(~(wanted >= 0)):
        raise ValueError(f"need alpha / rho >= 0, got {wanted[~(wanted >= 0)][0]}")
    return solve(channel, SmallWidth(), wanted)


def tail(channel: Channel, prior: Prior | float, alpha) -> np.ndarray:
    """Leading error at large alpha (n,), (1 + rho) (2 nu / (f(0) alpha))^2, f(0) = `channel.ties`; NaN without ties or samples.

    For the hardmax of two tokens it is (1 + rho) pi nu^2 / (2 J^2 alpha^2), J = `limits.SIGN_INTEGRAL`.
    """
    alpha = np.asarray(alpha, dtype=float)
    found, seen = np.full_like(alpha, np.nan), alpha > 0
    if channel.ties is not None:
        prior = as_prior(prior)
        nu = prior.effective_dimension
        found[seen] = prior.Q * (2.0 * nu / (channel.ties * alpha[seen])) ** 2
    return found
