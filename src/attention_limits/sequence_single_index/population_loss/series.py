"""Population loss of a student as a series in its overlaps, with gradient, Hessian and certified tail.

With normalised Hermite coefficients G of the target and F(e) of the student at positional overlap e (arXiv:2506.02651),

    R(e, m) = 1/2 E|g|^2 + 1/2 E|F_e|^2 - sum_kappa G_kappa . F_kappa(e) prod_l m_l^kappa_l,

m_l = m for tied students. The derivative of F_kappa(e) with respect to e is a combination of coefficients of the next degree, so
gradient and Hessian are exact sums as well.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.numerics.probability.hermite import multi_indices, raising
from attention_limits.sequence_single_index.links.geometry import check_overlaps
from attention_limits.sequence_single_index.links.link import shifted
from attention_limits.sequence_single_index.population_loss.expansion import expand
from attention_limits.sequence_single_index.population_loss.quadrature import grid_expansion, sobol_expansion


@dataclass(frozen=True)
class LossValue:
    """The loss at one point.

    Attributes
    ----------
    value : float
    gradient : array (1 + n,)
        By e, then by m (n = 1, tied) or by m_1 ... m_M (n = M, untied).
    hessian : array (1 + n, 1 + n)
    tail : float
        Bound on the orders left out of `value`.
    error : float
        Quadrature error of `value`, as estimated by the expansion.
    """

    value: float
    gradient: np.ndarray
    hessian: np.ndarray
    tail: float
    error: float


class PopulationLoss:
    """R(e, m) = 1/2 E|g(z*) - F(z)|^2 of a target g and a student F.

    Parameters
    ----------
    target, student : Link
        With the same numbers of tokens and outputs. A student without a `direction` has to be smooth.
    position : array (M,), optional
        Signs epsilon_l of the positional encoding; default +1, -1, +1 ...
    degree : int
        Highest total degree of the series.
    generator : numpy.random.Generator, optional
        Scrambles the nodes; required for more than four tokens.

    Raises
    ------
    ValueError
        If the links do not fit together, or the target has no finite second moment.
    """

    def __init__(self, target, student, position=None, degree=8, generator=None):
        if target.tokens != student.tokens:
            raise ValueError(f"target and student must have the same tokens, got {target.tokens} and {student.tokens}")
        tokens = target.tokens
        self.target, self.student, self.degree = target, student, degree
        self.position = np.where(np.arange(tokens) % 2, -1.0, 1.0) if position is None else np.asarray(position, float)
        if self.position.shape != (tokens,):
            raise ValueError(f"position must hold one sign per token, {tokens}, got shape {self.position.shape}")
        self._seed = None if generator is None else generator.bit_generator.seed_seq
        quadrature_free = target.terms is not None or target.direction is not None
        self._target = expand(target, degree) if quadrature_free else self._expand(target, degree, 0.0)
        self._indices = multi_indices(tokens, degree + 2)
        self._up = raising(self._indices, degree + 1)
        self._expansions = {}

    def _expand(self, link, degree, shift):
        if link.direction is not None:
            return expand(shifted(link, shift), degree)
        if link.tokens <= 4:
            return grid_expansion(link, degree, shift)
        if self._seed is None:
            raise ValueError(f"{link.tokens} tokens need Sobol nodes: give a generator")
        # The same nodes at every e: the loss is a smooth function of e.
        return sobol_expansion(link, degree, np.random.default_rng(self._seed), shift)

    def _student_at(self, e):
        if e not in self._expansions:
            found = self._expand(self.student, self.degree + 2, e * self.position)
            ours, theirs = self._target.values.shape[1], found.values.shape[1]
            if ours != theirs:
                raise ValueError(f"target and student must have the same number of outputs, got {ours} and {theirs}")
            self._expansions[e] = found
        return self._expansions[e]

    def _raised(self, values, degree):
        """d/de of coefficients of F(z + e epsilon) up to a degree, from those up to degree + 1."""
        known = np.sum(self._indices.sum(axis=1) <= degree)
        factor = self.position * np.sqrt(self._indices[:known] + 1.0)
        return np.einsum("nl,nl...->n...", factor, values[self._up[:known]])

    def at(self, e, m) -> LossValue:
        """Loss, gradient and Hessian at one point.

        Parameters
        ----------
        e : float
            Positional overlap.
        m : float or array (M,)
            Semantic overlap of a tied student, or of the weights of each token of an untied one.

        Raises
        ------
        ValueError
            If e^2 + m^2 > 1.
        """
        m = np.atleast_1d(np.asarray(m, dtype=float))
        check_overlaps(e, m)
        tokens = self.target.tokens
        F, G = self._student_at(float(e)), self._target
        first = self._raised(F.values, self.degree + 1)
        second = self._raised(first, self.degree)
        count = len(G.indices)
        products = [np.sum(G.values * values[:count], axis=1) for values in (F.values, first, second)]
        overlap, d_overlap, dd_overlap = _monomials(G.indices, np.broadcast_to(m, (tokens,)))
        # A tied student moves all m_l together.
        together = np.eye(tokens) if len(m) == tokens and tokens > 1 else np.ones((tokens, 1))
        slope = self._raised(F.square, 1)
        gradient = np.concatenate([[0.5 * slope[0] - products[1] @ overlap], -(products[0] @ d_overlap) @ together])
        hessian = np.empty((len(gradient), len(gradient)))
        hessian[0, 0] = 0.5 * self._raised(slope, 0)[0] - products[2] @ overlap
        hessian[0, 1:] = hessian[1:, 0] = -(products[1] @ d_overlap) @ together
        hessian[1:, 1:] = -together.T @ np.einsum("n,nkl->kl", products[0], dd_overlap) @ together
        return LossValue(
            value=float(0.5 * (G.square[0] + F.square[0]) - products[0] @ overlap),
            gradient=gradient,
            hessian=hessian,
            tail=float(np.max(np.abs(m)) ** (self.degree + 1) * _rest(G, F)),
            error=float(_quadrature_error(G, F, overlap)),
        )

    def surface(self, e, m):
        """Loss of tied students on a grid, array (len(e), len(m)), NaN outside e^2 + m^2 <= 1.

        Raises ValueError when more than four tokens need Sobol nodes and there is no generator.
        """
        e, m = np.asarray(e, dtype=float), np.asarray(m, dtype=float)
        G, total = self._target, self._target.indices.sum(axis=1)
        values = np.full((len(e), len(m)), np.nan)
        for row, at in enumerate(e):
            F = self._student_at(float(at))
            products = np.sum(G.values * F.values[: len(G.indices)], axis=1)
            series = np.bincount(total, products, minlength=self.degree + 1)
            inside = at**2 + m**2 <= 1.0 + 1e-12
            values[row, inside] = 0.5 * (G.square[0] + F.square[0]) - np.polynomial.polynomial.polyval(
                m[inside], series
            )
        return values


def _rest(G, F):
    """sqrt of the product of the squares beyond the degree of G, by Parseval."""
    count = len(G.indices)
    # Rounding limits the difference of nearly equal sums.
    rounding = 4 * np.finfo(float).eps
    left_target = max(G.square[0] - np.sum(G.values**2), 0.0) + rounding * G.square[0]
    left_student = max(F.square[0] - np.sum(F.values[:count] ** 2), 0.0) + rounding * F.square[0]
    return np.sqrt(left_target * left_student)


def _quadrature_error(G, F, overlap):
    """Error of the loss from those of the expansions G and F, with the monomials `overlap` of the series."""
    count = len(G.indices)
    products = np.abs(G.values) * F.errors[:count] + (np.abs(F.values[:count]) + F.errors[:count]) * G.errors
    return 0.5 * (G.square_errors[0] + F.square_errors[0]) + np.sum(products * np.abs(overlap)[:, None])


def _monomials(indices, m):
    """prod_l m_l^kappa_l (n,), its gradient (n, M) and Hessian (n, M, M)."""
    highest = int(indices.max())
    powers = m ** np.arange(highest + 1)[:, None]
    tables = [powers]
    for order in (1, 2):
        factor = np.ones(highest + 1)
        for step in range(order):
            factor = factor * (np.arange(highest + 1) - step)
        lower = np.zeros_like(powers)
        lower[order:] = powers[: highest + 1 - order]
        tables.append(factor[:, None] * lower)
    zeroth, first, second = (table[indices, np.arange(len(m))] for table in tables)
    tokens = len(m)
    gradient = np.empty((len(indices), tokens))
    hessian = np.empty((len(indices), tokens, tokens))
    for k in range(tokens):
        for l in range(tokens):  # noqa: E741
            factors = zeroth.copy()
            factors[:, k] = second[:, k] if k == l else first[:, k]
            if k != l:
                factors[:, l] = first[:, l]
            hessian[:, k, l] = factors.prod(axis=1)
        factors = zeroth.copy()
        factors[:, k] = first[:, k]
        gradient[:, k] = factors.prod(axis=1)
    return zeroth.prod(axis=1), gradient, hessian
