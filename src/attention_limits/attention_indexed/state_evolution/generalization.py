"""Generalisation errors of one layer on a fresh sequence, as functions of the overlaps alone.

In the limit the scores h of the teacher and omega of an estimate are jointly Gaussian on a fresh sequence. Off the diagonal their
covariances are Q = tr S^2 / d, m = tr S S_hat / d and q = tr S_hat^2 / d, on the diagonal twice as large. With f the output,

    plug-in:  E ||f(h) - f(omega)||_F^2          (the layer with the estimate S_hat)
    Bayes:    E ||f(h) - E[f(h) | omega]||_F^2   (the posterior mean of the output, the least possible),

summed over the M^2 entries of the output. The Bayes error is half the squared distance of the outputs of two independent draws of
h given omega. The posterior mean has m = q = Q - V, V = mmse. Untied attention (`score_law`) has the same covariances on the
diagonal as off it. Derived for the model of Boncoraglio, Troiani, Erba, Zdeborova 2025 (arXiv:2506.01582).

All rows of the output have the same law, and the M entries of one row of h are independent. A pair of rows is A (s, t), A a 2 x 2
matrix, s and t independent rows of variance v at the place of the diagonal (2, or 1 where attention is untied) and 1 elsewhere.
`Posterior.distance` is E ||f(h) - f(h')||_F^2 of such a pair; it gives the plug-in error of any estimate at its overlaps, with
A_11 = m / sqrt(q), A_12 = sqrt(Q - m^2 / q), A_21 = sqrt(q), A_22 = 0.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class OutputErrors:
    """Errors and their uncertainties; NaN where too few nodes carry a mean.

    Attributes
    ----------
    bayes, bayes_uncertainty, plug_in, plug_in_uncertainty : array
        Of one shape.
    """

    bayes: np.ndarray
    bayes_uncertainty: np.ndarray
    plug_in: np.ndarray
    plug_in_uncertainty: np.ndarray


def posterior_pair(Q: float, V: float) -> np.ndarray:
    """A of two draws given omega: variance `Q`, squared distance 2 `V`, 0 <= V <= Q."""
    common, opposite = np.sqrt(Q - 0.5 * V), np.sqrt(0.5 * V)
    return np.array([[common, opposite], [common, -opposite]])


def plug_in_error(channel, Q: float, V: float, nodes=None) -> tuple[float, float]:
    """The error of the layer of a `channel` with the posterior mean of S, at its error `V`, 0 <= V <= `Q`, and its uncertainty.

    `nodes` are those of `row_nodes`.
    """
    common = np.sqrt(Q - V)
    return channel.distance(np.array([[common, np.sqrt(V)], [common, 0.0]]), nodes)


def bayes_error(channel, Q: float, V: float, nodes=None) -> tuple[float, float]:
    """The error of the posterior mean of the output of a `channel`, and its uncertainty; `V` is the error of the posterior mean
    of S, `Q` the prior variance, and `nodes` are those of `row_nodes`."""
    distance, uncertainty = channel.distance(posterior_pair(Q, V), nodes)
    return 0.5 * distance, 0.5 * uncertainty


def output_errors(channel, ratio: float, V, bound, nodes=None) -> OutputErrors:
    """Both errors along a learning curve.

    Parameters
    ----------
    channel : protocol.Posterior
        All errors of a channel without posterior mean are NaN.
    ratio : float
        rho; Q = 1 + rho. For another law of S give Q - 1, which is zero where attention is untied.
    V, bound : array (n,)
        Errors of the posterior mean of S, and bounds on their errors, which the uncertainties include.
    nodes : array
        Of `row_nodes`. Channels with a closed form do not read them.
    """
    V, bound, Q = np.asarray(V, dtype=float), np.asarray(bound, dtype=float), 1.0 + ratio
    if not hasattr(channel, "distance"):
        return OutputErrors(*np.full((4, *V.shape), np.nan))

    def errors(V):
        if np.isnan(V):
            return np.full(4, np.nan)
        return *bayes_error(channel, Q, V, nodes), *plug_in_error(channel, Q, V, nodes)

    # The error is zero at all alpha of exact recovery.
    values, places = np.unique(V, return_inverse=True)
    found = np.array([errors(value) for value in values]).T[:, places]
    moved = np.abs(bound) > 0
    if np.any(moved):
        # The errors grow with V: its bound moves them by half the difference of both ends.
        ends = [np.array([errors(value) for value in np.clip(V[moved] + s * bound[moved], 0.0, 1.0)]) for s in (-1, 1)]
        found[1::2, moved] += 0.5 * np.abs(ends[1] - ends[0]).T[::2]
    return OutputErrors(*found)
