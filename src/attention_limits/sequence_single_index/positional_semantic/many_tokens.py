"""The positional-semantic model for any number of tokens and any positional vectors: Hessian at the start, lines of its phases.

Teacher T = (1 - omega) S(z*) + omega A, student S(z), S(z) = softmax(z z^T) over rows, A = S(a t): t_l is the component of the
positional vector p_l along the first basis vector of the positions (arXiv:2506.02651). With c, eta standard normal,

    z_l = c_l + e . p_l,   z*_l = m c_l + sqrt(1 - m^2) eta_l,
    R(e, m) = 1/2 E||T - S||^2 = R_0 + q(e) / 2 - (1 - omega) C(e, m) - omega A . mu(e),
    q = E||S(z)||^2,   C = E S(z*) . S(z),   mu = E S(z),

and R_0 depends on neither e nor m. At the start, by Stein's lemma with B = c c^T - I and P the rows p_l,

    H_ee = P^T E[(||S||^2 / 2 - ((1 - omega) mu(0) + omega A) . S) B] P,   H_mm = -(1 - omega) sum_ij ||E[S_ij B]||_F^2,

S = S(c); H_em = 0 because S is even. For positional vectors p_l = signs_l p, R depends on e^2 and m^2 alone.
Expectations are means over scrambled Sobol nodes with all signs of c and eta: a sample is an exact function of e^2 and m^2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from attention_limits.sequence_single_index.links.link import softmax_attention

# Chebyshev nodes along the arc e^2 + m^2 = 1, and cells of the search for minima on it.
_NODES, _CELLS = 24, 1024


def _fields(nodes, shift, m):
    """The fields z* and z (n, M) for the signs of c and eta that give different losses."""
    tokens = len(shift)
    eta, c = nodes.points[:, :tokens], nodes.points[:, tokens:]
    rest = np.sqrt(max(0.0, 1.0 - m**2))
    for sign in (1.0, -1.0):
        star = m * c + sign * rest * eta
        yield star, c + shift
        yield star, c - shift


def loss_parts(nodes, shift, m):
    """(q, C, mu (M, M)) of the module at `shift` = e . p_l (M,) and the overlap m, from `nodes` in 2 M dimensions."""
    found = []
    for star, z in _fields(nodes, shift, m):
        attention, teacher = softmax_attention(z), softmax_attention(star)
        each = np.sum(attention**2, axis=(1, 2)), np.sum(attention * teacher, axis=(1, 2)), attention
        found.append([nodes.mean(values) for values in each])
    return tuple(np.mean(values, axis=0) for values in zip(*found, strict=True))


@dataclass(frozen=True)
class StartHessian:
    """H at e = m = 0 as a function of omega and a.

    Attributes
    ----------
    square, semantic : arrays (r, r)
        The parts of H_ee: P^T E[||S||^2 B] P / 2 and P^T E[mu(0) . S B] P.
    entries : array (M, M, r, r)
        P^T E[S_ij B] P.
    teacher : float
        sum_ij ||E[S_ij B]||^2.
    """

    square: np.ndarray
    semantic: np.ndarray
    entries: np.ndarray
    teacher: float

    def at(self, omega, fixed):
        """(H_ee (r, r), H_mm) at the weight `omega` of the positional part A = `fixed` (M, M)."""
        positional = np.einsum("ij,ijrs->rs", fixed, self.entries)
        return self.square - (1.0 - omega) * self.semantic - omega * positional, -(1.0 - omega) * self.teacher


def start_hessian(nodes, places) -> StartHessian:
    """The Hessian from `nodes` in 2 M dimensions, for positions `places` (M, r).

    c and eta are two samples of the fields: products of means take one factor from each, so that they have no bias.
    """
    places = np.asarray(places, dtype=float)
    tokens = len(places)
    means, moments, squares = [], [], []
    for z in (nodes.points[:, :tokens], nodes.points[:, tokens:]):
        attention = softmax_attention(z)
        weights = nodes.weights / len(nodes)
        B = z[:, :, None] * z[:, None, :] - np.eye(tokens)
        weighted = (weights[:, None, None] * B).reshape(len(z), -1)
        means.append(nodes.mean(attention))
        moments.append((attention.reshape(len(z), -1).T @ weighted).reshape((tokens,) * 4))
        squares.append((np.sum(attention**2, axis=(1, 2)) @ weighted).reshape(tokens, tokens))
    semantic = 0.5 * (np.einsum("ij,ijkl->kl", means[0], moments[1]) + np.einsum("ij,ijkl->kl", means[1], moments[0]))
    return StartHessian(
        square=0.25 * places.T @ (squares[0] + squares[1]) @ places,
        semantic=places.T @ semantic @ places,
        entries=np.einsum("kr,ijkl,ls->ijrs", places, 0.5 * (moments[0] + moments[1]), places),
        teacher=float(np.sum(moments[0] * moments[1])),
    )


@dataclass(frozen=True)
class Arc:
    """q, C and mu on the arc X = e^2, m^2 = 1 - X: Chebyshev coefficients over [0, 1] in X, first axis.

    Attributes
    ----------
    q, overlap : arrays (n,)
        Of q and C.
    mu : array (n, M, M)
    """

    q: np.ndarray
    overlap: np.ndarray
    mu: np.ndarray

    def parts(self, fixed):
        """Coefficients (n,) of the two parts of R = constant + omega slope on the arc, up to R_0, with A = `fixed` (M, M)."""
        slope = self.overlap - np.einsum("nij,ij->n", self.mu, fixed)
        return 0.5 * self.q - self.overlap, slope


def arc(nodes, signs) -> Arc:
    """The arc from `nodes` in 2 M dimensions, for positional vectors p_l = signs_l p, |p| = 1."""
    signs = np.asarray(signs, dtype=float)
    x = chebyshev.chebpts1(_NODES)
    q, overlap, mu = [], [], []
    for square in 0.5 * (x + 1.0):
        values = loss_parts(nodes, np.sqrt(square) * signs, np.sqrt(1.0 - square))
        for store, value in zip((q, overlap, mu), values, strict=True):
            store.append(value)
    fit = np.linalg.inv(chebyshev.chebvander(x, _NODES - 1))
    return Arc(fit @ np.array(q), fit @ np.array(overlap), np.tensordot(fit, np.array(mu), axes=1))


def arc_minima(loss):
    """X = e^2 of all local minima on the arc, and their losses, arrays (n,); `loss`: Chebyshev coefficients over [0, 1] in X.

    A corner X = 0 or X = 1 is a minimum where the loss rises from it; within the arc the slope changes its sign from below.
    """
    x = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, _CELLS + 1))
    slope = chebyshev.chebval(2.0 * x - 1.0, chebyshev.chebder(loss, scl=2.0))
    left = np.flatnonzero((slope[:-1] < 0.0) & (slope[1:] >= 0.0))
    inside = x[left] - slope[left] * (x[left + 1] - x[left]) / (slope[left + 1] - slope[left])
    found = np.concatenate([[0.0] * bool(slope[0] > 0.0), inside, [1.0] * bool(slope[-1] < 0.0)])
    return found, chebyshev.chebval(2.0 * found - 1.0, loss)


def token_lines(a, hessian, on_arc, signs):
    """omega at which the phase diagram of p_l = signs_l p changes at the strength `a`.

    Parameters
    ----------
    a : float
    hessian : StartHessian
    on_arc : Arc
    signs : array (M,)

    Returns
    -------
    dict
        The lines of `phase_diagram.phase_lines`, NaN where they are not in [0, 1]. All but one are roots of equations linear in
        omega. Above the line global, |e| > |m| at the lowest point of the arc, by bisection to 1e-6: no corner needs to be a
        minimum.
    """
    fixed = softmax_attention(a * np.asarray(signs, dtype=float)[None])[0]
    (at_zero, mm_zero), (at_one, mm_one) = ((each[0, 0], m) for each, m in (hessian.at(w, fixed) for w in (0.0, 1.0)))
    constant, slope = on_arc.parts(fixed)
    bare, all_of_it = (chebyshev.chebval([-1.0, 1.0], chebyshev.chebder(each)) for each in (constant, constant + slope))
    return {
        "steepest": _root(at_zero - mm_zero, at_one - mm_one),
        "positional_unstable": _root(at_zero, at_one),
        "global": _crossing(constant, slope),
        "positional_minimum": _root(bare[1], all_of_it[1]),
        "semantic_minimum": _root(bare[0], all_of_it[0]),
    }


def _crossing(constant, slope):
    """omega at which the lowest X of the arc passes 1/2, NaN if it does not."""

    def positional(omega):
        x, loss = arc_minima(constant + omega * slope)
        return x[np.argmin(loss)] > 0.5

    low, high = 0.0, 1.0
    if not positional(high):
        return np.nan
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if positional(middle) else (middle, high)
    return high


def _root(at_zero, at_one):
    """Root in [0, 1] of a linear function with these values at 0 and 1, NaN without one."""
    return at_zero / (at_zero - at_one) if at_zero * at_one <= 0.0 and at_zero != at_one else np.nan
