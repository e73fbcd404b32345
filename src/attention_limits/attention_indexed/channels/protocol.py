"""What a channel offers: `Channel` to the state evolution, `Posterior` to message passing as well.

A channel is the information of an output y on its scores h, which have the mean omega and the variance V. y is one of

    linear: h itself;    softmax: softmax of beta h by rows;    hardmax: the position of the largest entry of each row.

Entries of symmetric h are independent given the data, of variance 2 V on the diagonal and V off it; `channels.untied` has the
channels of untied attention. A channel gives the gradient

    G = E[h - omega | y] / (2 V),    a symmetric M x M matrix,

and the precision gained per sample and d^2, E[4 sum_ab G_ab^2] = information(V, Q), Q the prior variance off the diagonal. (G
is the derivative of log P(y) with respect to omega, halved off the diagonal, whose entries count twice.) Source: Boncoraglio,
Troiani, Erba, Zdeborova 2025, arXiv:2506.01582.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from attention_limits.attention_indexed.model.score_law import ScoreLaw


@dataclass(frozen=True)
class Gradient:
    """Gradients of a channel at n outputs.

    Attributes
    ----------
    G : array (n, M, M)
    power : float
        An estimate of the mean over samples of sum_ab G_ab^2. Noise of G does not bias it.
    resolved : float
        Fraction of the outputs whose posterior is resolved; 1 for channels in closed form.
    """

    G: np.ndarray
    power: float
    resolved: float = 1.0


class Channel(Protocol):
    """A channel of M = `tokens` tokens, as the state evolution needs it.

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
        """The output f(h) of scores h (n, M, M): array of the same shape."""

    def distance(self, mixing: np.ndarray, nodes) -> tuple[float, float]:
        """E ||f(h) - f(h')||_F^2 of the pair of rows of `generalization`, A = `mixing` (2, 2), and its uncertainty.

        `nodes` are those of `score_law.row_nodes`.
        """

    def observe(self, h: np.ndarray, generator) -> np.ndarray:
        """The outputs of scores h (n, M, M) as `gradient` reads them; the numpy `generator` draws random ones."""

    def gradient(self, observed: np.ndarray, omega: np.ndarray, V: float) -> Gradient:
        """G given outputs `observed` (n, ...), as in `observe`, and omega (n, M, M)."""

    def variance(self, observed: np.ndarray, omega: np.ndarray) -> float | None:
        """V from the distance of the outputs `observed` (n, ...) to omega (n, M, M), or None where they do not determine it."""
