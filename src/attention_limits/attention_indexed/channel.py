"""Channels: the information of an output y on its scores h, which have the mean omega and the variance V. y is one of

    linear: h itself;    softmax: softmax of beta h by rows;    hardmax: the position of the largest entry of each row.

Entries of symmetric h are independent given the data, of variance 2 V on the diagonal and V off it; `untied_channel` has the
channels of untied attention. A channel gives the gradient

    G = E[h - omega | y] / (2 V),    a symmetric T x T matrix,

and the precision gained per sample and d^2, E[4 sum_ab G_ab^2] = information(V, Q), Q the prior variance off the diagonal. (G
is the derivative of log P(y) with respect to omega, halved off the diagonal, whose entries count twice.) Source: Boncoraglio,
Troiani, Erba, Zdeborova 2025, arXiv:2506.01582.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.attention_indexed import hardmax
from attention_limits.attention_indexed.generalization import softmax_distance
from attention_limits.attention_indexed.gradient import Gradient
from attention_limits.attention_indexed.hardmax_many import ManyHardmax, tie_information
from attention_limits.attention_indexed.hardmax_rows import hardmax_distance
from attention_limits.attention_indexed.model import MOST_TOKENS, attention, log_attention
from attention_limits.attention_indexed.residuals import centred, squares
from attention_limits.attention_indexed.score_law import SYMMETRIC, ScoreLaw

CHANNELS = ("linear", "softmax", "hardmax", "hardmax_published")


class Channel(Protocol):
    """A channel of T = `tokens` tokens, as the state evolution needs it.

    `law` is that of its scores. A sample gives K = `equations` equations, information(V, Q) = K / V, or None where an output is
    coarser. `ties` is the limit of information sqrt(V Q) at small V, or None where the information has another law.
    `closed_form`: the posterior is a formula, and is not sampled.
    """

    tokens: int
    law: ScoreLaw
    equations: int | None
    ties: float | None
    closed_form: bool

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q: q_hat = alpha information."""

    def uncertainty(self, V, Q):
        """Bound on the relative error of the information, a number or an array (...); NaN where it is not known."""


class Posterior(Channel, Protocol):
    """A channel with a posterior mean, as message passing needs it.

    `scale_free`: h and c h, c > 0, have the same output. `shift_free`: h_ab and h_ab + c have; the sum of all G_ab is zero then.
    """

    scale_free: bool
    shift_free: bool

    def output(self, h: np.ndarray) -> np.ndarray:
        """The output f(h) of scores h (n, T, T): array of the same shape."""

    def distance(self, mixing: np.ndarray, nodes) -> tuple[float, float]:
        """E ||f(h) - f(h')||_F^2 of the pair of rows of `generalization`, M = `mixing` (2, 2), and its uncertainty.

        `nodes` are those of `generalization.row_nodes`.
        """

    def observe(self, h: np.ndarray, generator) -> np.ndarray:
        """The outputs of scores h (n, T, T) as `gradient` reads them; the numpy `generator` draws random ones."""

    def gradient(self, observed: np.ndarray, omega: np.ndarray, V: float) -> Gradient:
        """G given outputs `observed` (n, ...), as in `observe`, and omega (n, T, T)."""

    def variance(self, observed: np.ndarray, omega: np.ndarray) -> float | None:
        """V from the distance of the outputs `observed` (n, ...) to omega (n, T, T), or None where they do not determine it."""


@dataclass(frozen=True)
class Linear:
    """y = h, of T = `tokens` tokens: a `Posterior`."""

    tokens: int
    law = SYMMETRIC
    scale_free = False
    shift_free = False
    ties = None
    closed_form = True

    @property
    def equations(self) -> int:
        """K = T (T + 1): each of the T (T + 1) / 2 entries counts twice."""
        return self.tokens * (self.tokens + 1)

    def information(self, V, Q):
        """K / V at posterior variance V (...), for every prior variance Q."""
        return self.equations / V

    def uncertainty(self, V, Q):
        """Zero, at every V and Q: the information is exact."""
        return 0.0

    def output(self, h):
        """h itself."""
        return h

    def distance(self, mixing, nodes):
        """T (T - 1 + v) |M_1 - M_2|^2 for the rows of M = `mixing` (2, 2), v the variance of the diagonal. `nodes` are not
        used."""
        entries = self.tokens * (self.tokens - 1 + int(self.law.diagonal))
        return entries * float(np.sum((mixing[0] - mixing[1]) ** 2)), 0.0

    def observe(self, h, generator=None):
        """The outputs of scores h (n, T, T): array of the same shape. Nothing is random, `generator` is not used."""
        return h

    def gradient(self, observed, omega, V):
        """G = (h - omega) / (2 V) given outputs `observed` and omega, both (n, T, T)."""
        G = self._residual(observed, omega)
        G /= 2.0 * V
        return Gradient(G, squares(G) / len(G))

    def variance(self, observed, omega):
        """V from the distance of the outputs `observed` to omega, both (n, T, T): sum (h - omega)^2 / (K n)."""
        return squares(self._residual(observed, omega)) / (self.equations * len(omega))

    def _residual(self, observed, omega):
        return observed - omega


@dataclass(frozen=True)
class NoisyLinear(Linear):
    """y = h + sqrt(noise) Z, of T = `tokens` tokens, noise > 0, Z standard normal and not symmetric: a `Posterior`.

    The mean of y_ab and y_ba has the noise of variance noise / 2: V + noise / 2 takes the place of V.
    """

    noise: float = 1.0

    @property
    def equations(self) -> None:
        """None: no number of samples makes the error zero."""
        return None

    def information(self, V, Q):
        """T (T + 1) / (V + noise / 2) at posterior variance V (...), for every prior variance Q."""
        return self.tokens * (self.tokens + 1) / (V + 0.5 * self.noise)

    def observe(self, h, generator):
        """y of scores h (n, T, T), array of the same shape, with noise from the numpy.random.Generator `generator`."""
        return h + np.sqrt(self.noise) * generator.standard_normal(h.shape)

    def gradient(self, observed, omega, V):
        """G = (y + y^T - 2 omega) / (4 V + 2 noise) given outputs `observed` y and omega, both (n, T, T)."""
        return super().gradient(observed, omega, V + 0.5 * self.noise)

    def variance(self, observed, omega):
        """None: the residual of `observed` and omega, both (n, T, T), is mostly noise."""
        return None

    def _residual(self, observed, omega):
        return 0.5 * (observed + observed.transpose(0, 2, 1)) - omega


@dataclass(frozen=True)
class Softmax(Linear):
    """y = softmax(beta h) by rows, beta > 0: h up to one constant, for every beta. Observed is h from log y: y itself rounds to
    zero where beta times a difference of scores exceeds 745."""

    beta: float = 1.0
    shift_free = True

    @property
    def equations(self) -> int:
        """K = T^2 + T - 2: the output does not determine the constant."""
        return self.tokens**2 + self.tokens - 2

    def output(self, h):
        """softmax(beta h) by rows of scores h (n, T, T)."""
        return attention(h, self.beta)

    def distance(self, mixing, nodes):
        """As in `Posterior`, a mean over `nodes` of `generalization.row_nodes`; M = `mixing` (2, 2)."""
        return softmax_distance(self.tokens, self.beta, mixing, nodes)

    def observe(self, h, generator=None):
        """h up to a constant, from log y of scores h (n, T, T): array of the same shape. Nothing is random, `generator` is not
        used."""
        logs = log_attention(h, self.beta)
        # log y = beta h up to a constant by row; the symmetry of h determines the differences of the constants.
        logs += np.mean(logs.transpose(0, 2, 1) - logs, axis=2, keepdims=True)
        return 0.5 * (logs + logs.transpose(0, 2, 1)) / self.beta

    def _residual(self, observed, omega):
        return centred(observed, omega)


@dataclass(frozen=True)
class Hardmax:
    """y_a = position of the largest entry of row a of two tokens, exact: a `Posterior`."""

    tokens = 2
    law = SYMMETRIC
    equations = None
    scale_free = shift_free = True
    closed_form = True

    @property
    def ties(self) -> float:
        """The limit of information sqrt(V Q) at small V."""
        return tie_information(2)

    def information(self, V, Q):
        """E 4 sum_ab G_ab^2 at posterior variance V (...) and prior variance Q."""
        return hardmax.information((Q - V) / V) / V

    def uncertainty(self, V, Q):
        """Zero, at every V and Q: the information has a relative error below 1e-9."""
        return 0.0

    def output(self, h):
        """One-hot rows of scores h (n, 2, 2)."""
        return attention(h, np.inf)

    def distance(self, mixing, nodes):
        """As in `Posterior`, in closed form; M = `mixing` (2, 2). `nodes` are not used."""
        return hardmax_distance(2, mixing, self.law.diagonal)

    def observe(self, h, generator=None):
        """The positions (n, 2) of the largest entries of the rows of scores h (n, 2, 2); `generator` is not used."""
        return np.argmax(h, axis=2)

    def gradient(self, observed, omega, V):
        """G given the positions `observed` (n, 2) and omega (n, 2, 2)."""
        return Gradient(*hardmax.gradient(observed, omega, V))

    def variance(self, observed, omega):
        """None: signs, `observed` (n, 2), have no distance to omega (n, 2, 2)."""
        return None


@dataclass(frozen=True)
class PublishedHardmax:
    """The hardmax of two tokens in the published code (see `hardmax`): a `Channel` without posterior mean."""

    tokens = 2
    law = SYMMETRIC
    equations = None
    ties = None
    closed_form = True

    def uncertainty(self, V, Q):
        """Zero, at every V and Q."""
        return 0.0

    def information(self, V, Q):
        """The published code's E 4 sum_ab G_ab^2 at variance V (...) and prior variance Q."""
        return hardmax.information((Q - V) / V, published=True) / V


def make_channel(name: str, tokens: int, beta: float = 1.0) -> Channel:
    """The channel of this name.

    Parameters
    ----------
    tokens : int
        T >= 2.
    beta : float
        Inverse temperature of the softmax, > 0.

    Raises
    ------
    ValueError
        If the name is unknown, T < 2, beta <= 0, or T exceeds the `MOST_TOKENS` of the channel.
    """
    if name not in CHANNELS:
        raise ValueError(f"channel {name!r}: allowed: {', '.join(CHANNELS)}")
    if tokens < 2 or not 0 < beta < np.inf:
        raise ValueError(f"need T >= 2 and 0 < beta < infinity, got {tokens} and {beta}")
    if tokens > MOST_TOKENS.get(name, tokens):
        raise ValueError(f"{name} has up to {MOST_TOKENS[name]} tokens, got {tokens}")
    if name == "linear":
        return Linear(tokens)
    if name == "softmax":
        return Softmax(tokens, beta)
    if name == "hardmax_published":
        return PublishedHardmax()
    return Hardmax() if tokens == 2 else ManyHardmax(tokens)
