"""Free entropy of one layer and mutual information of S and the data, per d^2 in nats, along the curve of state evolution.

With i_out(V) = I(h; y | omega) at posterior variance V, i_prior(q_hat) = I(S; S + sqrt(D) Z) / d^2, D = 1 / q_hat, and c = 1/4
(1/2 where attention is untied), the heat equation of P(y | omega) and the I-MMSE relation (Guo, Shamai, Verdu 2005) are

    d i_out / dV = c information(V),    d i_prior / d q_hat = c mmse(1 / q_hat).

c counts S: symmetric matrices have d^2 / 2 free entries and others d^2. The mutual information of S and n = alpha d^2 samples is
the least value over the fixed points of

    U(V) = alpha i_out(V) + i_prior(q_hat) - c q_hat V,    V = mmse(1 / q_hat)    (replica-symmetric formula),
    U'(V) = c information(V) (alpha - alpha(V)),            alpha(V) = 1 / (D information(V)).

The free entropy is counted from the estimate without data, F(V) = U(1) - U(V): the mean of log P(data) per d^2, minus alpha times
that of a single sample. It is finite also where outputs are continuous and U is not, and the Bayes-optimal fixed point has the
largest one:

    F(V) = alpha A(V) - B(V),    A = c int_V^1 information dv,    B = c int_V^1 dv / D.

Where an output gives K equations, information = K / V, F tends to +infinity at V = 0 for alpha > 2 nu / K, and to -infinity
for smaller alpha.

Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.channels.protocol import Channel
from attention_limits.attention_indexed.priors.prior import Prior
from attention_limits.attention_indexed.state_evolution.curve import Curve, law_of_small_errors

# Gauss-Legendre nodes between two nodes of a curve, in log V and in log D; steps of log V of the information of an output, and
# the smallest V / Q of their integral.
_NODES, _STEP, _SMALLEST = 4, 0.25, 1e-35
_PLACES, _WEIGHTS = np.polynomial.legendre.leggauss(_NODES)


@dataclass(frozen=True)
class Potential:
    """A and B along a curve in order of falling D; arrays (n,).

    Attributes
    ----------
    curve : Curve
        The nodes.
    output, prior : array
        A and B.
    doubt : array
        c int_V^1 u information dv, u the relative uncertainty of the information: a bound on the error of A. NaN where the
        information is not known down to V.
    """

    curve: Curve
    output: np.ndarray
    prior: np.ndarray
    doubt: np.ndarray


def constant(channel: Channel) -> float:
    """c of the module for the law of the scores of a `channel`."""
    return 0.25 if channel.law.symmetric else 0.5


def potential(channel: Channel, prior: Prior, curve: Curve) -> Potential:
    """The potential of a `channel` and a `prior` on the nodes of their `curve`, of `curve.followed`."""
    V, D = np.append(1.0, curve.mmse), np.append(np.inf, curve.noise)
    steps = changes(channel, prior, V[:-1], D[:-1], V[1:], D[1:])
    return Potential(curve, *(np.cumsum(step) for step in steps))


def changes(channel: Channel, prior: Prior, V, D, V_end, D_end) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Changes of A, B and the doubt from the points (`V`, `D`) of a curve to (`V_end`, `D_end`), of smaller D; arrays (n,).

    `channel` and `prior` are those of the curve. Points are near each other: a few Gauss-Legendre nodes lie between them.
    D = infinity is allowed if the end has a large D.
    """
    c = constant(channel)
    place, weight = _nodes(np.log(V_end), np.log(V))
    v = np.exp(place)
    explained = weight * v * channel.information(v, prior.Q)
    doubt = explained * relative_doubt(channel, v, prior.Q)
    # int dv / D by parts. From D = infinity on, V = 1 - O(1 / D), and int (V / D) d log D is its trapezium in 1 / D.
    far = np.isinf(D)
    place, weight = _nodes(np.log(D_end), np.log(np.where(far, D_end, D)))
    noise = np.exp(place)
    between = np.sum(weight * prior.mmse(noise) / noise, axis=-1) + np.where(far, 0.5 * (1.0 + V_end) / D_end, 0.0)
    return (
        c * np.sum(explained, axis=-1),
        c * (between + np.where(far, 0.0, V / D) - V_end / D_end),
        c * np.sum(doubt, axis=-1),
    )


def _nodes(low, high):
    """Gauss-Legendre nodes (n, nodes) between `low` and `high` (n,), and their weights."""
    half = 0.5 * (high - low)[:, None]
    return 0.5 * (high + low)[:, None] + half * _PLACES, half * _WEIGHTS


def relative_doubt(channel: Channel, V, Q: float) -> np.ndarray:
    """Bound (...) on the relative error of the information of a `channel` at `V` (...) > 0 and prior variance `Q`.

    Below the table of a sampled channel it is that of the law K / V, or one for a weaker law, whose part of A is small. NaN where
    the information is not known.
    """
    known = np.broadcast_to(channel.uncertainty(V, Q), np.shape(V))
    if channel.closed_form:
        return known
    equations, error = channel.small_errors(Q)
    below = 1.0 if equations == 0 else error
    return np.where(np.asarray(V) < channel.least(Q) * Q, below, known)


def output_information(channel: Channel, V, Q: float) -> tuple[np.ndarray, np.ndarray]:
    """I(h; y | omega) (n,) of a `channel` at posterior variances `V` (n,) and prior variance `Q`, in nats per sample, and a bound
    on its error.

    i_out(V) = c int_0^V information dv; infinite where an output gives equations, NaN where the law of the information at small V
    is not known. It is the derivative of the mutual information by alpha at the V of the Bayes-optimal solution.
    """
    V, (equations, _) = np.asarray(V, dtype=float), law_of_small_errors(channel, Q)
    if equations != 0:
        return np.where(V > 0, np.inf if equations > 0 else np.nan, 0.0), np.where(V > 0, np.nan, 0.0)
    ends = np.log(_SMALLEST * Q) + _STEP * np.arange(int(np.ceil(-np.log(_SMALLEST) / _STEP)) + 1)
    logs = np.log(np.maximum(V, _SMALLEST * Q))
    index = np.searchsorted(ends, logs, side="right") - 1

    def cumulated(low, high):
        place, weight = _nodes(low, high)
        # The last step may pass Q, and is not used.
        v = np.minimum(np.exp(place), Q)
        values = constant(channel) * weight * v * channel.information(v, Q)
        return np.sum(values, axis=-1), np.sum(values * relative_doubt(channel, v, Q), axis=-1)

    whole, last = cumulated(ends[:-1], ends[1:]), cumulated(ends[index], logs)
    found = [np.append(0.0, np.cumsum(part))[index] + rest for part, rest in zip(whole, last, strict=True)]
    return found[0], found[1]
