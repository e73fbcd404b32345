"""The positional-semantic model: population loss of a softmax attention layer of two tokens, from tables.

Teacher (1 - omega) softmax(z* z*^T) + omega A, A = softmax of [[a^2, -a^2], [-a^2, a^2]], student softmax(z z^T), softmax over
rows. Rows sum to one and (z_1, z_2) -> (-z_2, -z_1) swaps them, so that one entry determines all (arXiv:2506.02651):

    R(e, m) = 1/2 E||T - S||_F^2
            = 2 [(1-omega)^2 Q + 2 omega (1-omega) abar mu(0) + omega^2 abar^2 + q(e) - 2 (1-omega) C(e, m) - 2 omega abar mu(e)],

phi(u, v) = sigma(u^2 + u v) with u = (z_1 - z_2)/sqrt 2, v = (z_1 + z_2)/sqrt 2, shifted by sqrt(2) e along u; mu = E phi_e,
q = E phi_e^2, abar = sigma(2 a^2), and C(e, m) = sum_k c_k(e) m^k with c_k(e) the sum of products phi_ij phi_ij(e) of Hermite
coefficients, i + j = k. Only even k occur, and everything is even in e: the functions of this module are those of X = e^2 and Y =
m^2, on the triangle X + Y <= 1. The tables depend on neither a nor omega.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import expit

from attention_limits.numerics.probability.hermite import gauss_hermite, tensor_coefficients
from attention_limits.sequence_single_index.links.geometry import check_overlaps, fixed_attention, mean_attention

DEGREE = 100
NODES = 256
CHEBYSHEV = 24


@dataclass(frozen=True)
class AttentionTables:
    """Chebyshev coefficients in X = e^2 over [0, 1].

    Attributes
    ----------
    q : array (n,)
    c : array (n, DEGREE/2 + 1)
        Column j belongs to the power Y^j = m^(2j).
    left : array (n,)
        Coefficients of q(e) - sum_ij phi_ij(e)^2: the sum of squares beyond the degree, by Parseval.
    constants : dict
        Numbers that the phase lines need: derivatives with respect to e at (0, 0), (1, 0) and (0, 1); see `line_constants`.
    """

    q: np.ndarray
    c: np.ndarray
    left: np.ndarray
    constants: dict

    def q_at(self, x, order=0):
        """q, or its derivative of an `order` in X, at x = X = e^2: array of the shape of x."""
        return _series(self.q, x, order)

    def overlap(self, x, y):
        """C(X, Y) at x = X = e^2 and y = Y = m^2, broadcast against each other."""
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        columns = np.moveaxis(np.atleast_1d(_series(self.c, x)), 0, -1)
        return np.sum(columns * y[..., None] ** np.arange(self.c.shape[1]), axis=-1)

    def tail(self, e, m):
        """Bound on the part of C(e, m) beyond DEGREE: m^(DEGREE+1) sqrt(left at 0) sqrt(left at e)."""
        left = np.maximum(_series(self.left, np.asarray(e, float) ** 2), 0.0)
        return np.abs(m) ** (DEGREE + 1) * np.sqrt(max(_series(self.left, 0.0), 0.0) * left)


def _series(coefficients, x, order=0):
    """Value at X of Chebyshev coefficients over [0, 1], or a derivative; leading axis of the result: trailing of the table."""
    derived = chebyshev.chebder(coefficients, order, scl=2.0) if order else coefficients
    return chebyshev.chebval(2.0 * np.asarray(x, dtype=float) - 1.0, derived)


@functools.cache
def attention_tables() -> AttentionTables:
    """The tables, computed once per process (about a second)."""
    nodes, weights = gauss_hermite(NODES)
    points = chebyshev.chebpts1(CHEBYSHEV)
    bare = _phi_coefficients(nodes, 0.0)
    # In (X, Y) the columns are polynomials of low degree to all digits: interpolation at Chebyshev points.
    q, left, c = [], [], []
    for x in 0.5 * (points + 1.0):
        shifted = _phi_coefficients(nodes, np.sqrt(x))
        q.append(_expectation(weights, _phi(nodes, np.sqrt(x)) ** 2))
        left.append(q[-1] - np.sum(shifted**2))
        c.append(_by_degree(bare * shifted)[::2])
    fit = np.linalg.inv(chebyshev.chebvander(points, CHEBYSHEV - 1))
    return AttentionTables(fit @ np.array(q), fit @ np.array(c), fit @ np.array(left), line_constants())


def _phi(nodes, e):
    u, v = nodes[:, None] + np.sqrt(2.0) * e, nodes[None, :]
    return expit(u * (u + v))


def _phi_coefficients(nodes, e):
    """phi_ij(e), array (DEGREE + 1, DEGREE + 1), zero where i + j > DEGREE."""
    table = tensor_coefficients(_phi(nodes, e), 2, DEGREE)
    total = np.add.outer(np.arange(DEGREE + 1), np.arange(DEGREE + 1))
    return np.where(total <= DEGREE, table, 0.0)


def _by_degree(table):
    total = np.add.outer(np.arange(DEGREE + 1), np.arange(DEGREE + 1))
    return np.bincount(total.ravel(), table.ravel())[: DEGREE + 1]


def _expectation(weights, values):
    return float(weights @ values @ weights)


def line_constants(nodes=NODES):
    """Derivatives with respect to e and m on which the phase lines depend, each a separate expectation (no truncated series).

    Parameters
    ----------
    nodes : int
        Gauss-Hermite nodes per axis.

    Returns
    -------
    dict
        Q = q(0) = C(0, 1); q2 = q''(0); c2_0, c2_1 = c_2(e) at e = 0, 1; q_1, dq_1 = q, q' at e = 1;
        C_m = dC/dm, C_ee = d^2 C / de^2 at (0, 1).
    """
    x, weights = gauss_hermite(nodes)
    u, v = x[:, None], x[None, :]
    phi, shifted = _phi(x, 0.0), _phi(x, 1.0)
    slope = phi * (1.0 - phi)
    curvature = slope * (1.0 - 2.0 * phi)
    low, low_shifted = (tensor_coefficients(values, 2, 2) for values in (phi, shifted))
    second = [(2, 0), (1, 1), (0, 2)]

    def mean(values):
        return _expectation(weights, values)

    return {
        "Q": mean(phi**2),
        # d/de shifts u by sqrt 2: derivatives of E phi_e^2 are its Hermite moments in u.
        "q2": 2.0 * mean(phi**2 * (u**2 - 1.0)),
        "q_1": mean(shifted**2),
        "dq_1": np.sqrt(2.0) * mean(shifted**2 * u),
        "c2_0": sum(low[index] ** 2 for index in second),
        "c2_1": sum(low[index] * low_shifted[index] for index in second),
        # sum_k k c_k = E |grad phi|^2
        "C_m": mean(slope**2 * ((2.0 * u + v) ** 2 + u**2)),
        "C_ee": 2.0 * mean(phi * (curvature * (2.0 * u + v) ** 2 + 2.0 * slope)),
    }


def attention_loss(a, omega, e, m):
    """R(e, m); all arguments broadcast against each other, omega and a included.

    Raises
    ------
    ValueError
        If e^2 + m^2 > 1 at any point.
    """
    tables = attention_tables()
    e, m = np.broadcast_arrays(np.asarray(e, dtype=float), np.asarray(m, dtype=float))
    check_overlaps(*max(zip(e.ravel(), m.ravel(), strict=True), key=lambda pair: pair[0] ** 2 + pair[1] ** 2))
    return assemble(a, omega, tables.q_at(e**2), mean_attention(e**2), tables.overlap(e**2, m**2))


def assemble(a, omega, q, mu, overlap):
    """R from tabulated q(e), mu(e) and C(e, m), given as `overlap`: the only step that depends on (a, omega).

    All arguments broadcast against each other.
    """
    abar, Q = fixed_attention(a), attention_tables().constants["Q"]
    constant = (1 - omega) ** 2 * Q + 2 * omega * (1 - omega) * abar * mean_attention(0.0) + (omega * abar) ** 2
    return 2.0 * (constant + q - 2.0 * (1 - omega) * overlap - 2.0 * omega * abar * mu)


@dataclass(frozen=True)
class LossGrid:
    """The tables on a grid of overlaps: the loss of any (a, omega) is one pass over it.

    Attributes
    ----------
    q, mu : arrays (rows, 1)
    overlap : array (rows, columns)
        C(e, m), NaN outside the disk.
    """

    q: np.ndarray
    mu: np.ndarray
    overlap: np.ndarray

    @classmethod
    def on(cls, e, m):
        """The grid e (rows,) x m (columns,)."""
        tables = attention_tables()
        x, y = np.asarray(e, dtype=float)[:, None] ** 2, np.asarray(m, dtype=float)[None, :] ** 2
        overlap = np.where(x + y <= 1.0 + 1e-12, tables.overlap(x, y), np.nan)
        return cls(tables.q_at(x), mean_attention(x), overlap)

    def loss(self, a, omega):
        """R of one (a, omega) on the grid, array (rows, columns)."""
        return assemble(a, omega, self.q, self.mu, self.overlap)
