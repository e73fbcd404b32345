"""State evolution of weight decay with softmax outputs and the square loss.

The objective is sum_mu ||y_mu - softmax(beta h_mu(S))||_F^2 + lambda d tr S over S >= 0, with y = softmax(beta (h* +
sqrt(tau) xi)), xi symmetric of variance 2 on the diagonal and 1 off it. On a sequence the scores omega and h = h* + sqrt(tau)
xi are Gaussian, of covariance [[q, m], [m, Q + tau]] times (1 + delta_ab). With u of `softmax_kernels`, Delta = u - omega and
h' = h - (m / q) omega,

    q_hat = alpha E ||Delta||^2 / V^2,    m_hat = alpha E <Delta, h'> / (V (Q + tau - m^2 / q)),
    Sigma_hat = (m m_hat - alpha E <Delta, omega> / V) / q,

and, with the moments of `spectral` at delta = sqrt(q_hat) / m_hat, eps = 2 lambda / m_hat, and eta = m_hat / Sigma_hat,

    q = eta^2 J,    m = eta (J + eps A - delta^2 Theta),    V = Theta / Sigma_hat,    S = eta (S* + delta Z - eps)_+.

These forms of m_hat and Sigma_hat need no derivative of u (Stein's lemma), and hold where u jumps. Source: Boncoraglio, Erba,
Troiani, Krzakala, Zdeborova 2025, arXiv:2509.24914; derived again in this module.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.attention_indexed.erm import softmax_kernels as kernels
from attention_limits.attention_indexed.erm.linear import LinearSolution
from attention_limits.attention_indexed.erm.teachers.laws import OfSpectrum, Tied, Untied, as_teacher
from attention_limits.attention_indexed.model.score_law import SYMMETRIC, UNSYMMETRIC
from attention_limits.attention_indexed.model.scores import attention
from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.numerics.solvers.anderson import anderson

# Former iterates and weight of the new residual of the iteration, and its longest step in the logarithms.
_DEPTH, _MIXING, _LONGEST = 3, 1.0, 0.7
# The same for a second attempt, and the step of the logarithms where S became zero.
_SHORT, _BACK = (0.3, 0.2), np.array([-1.0, 0.0, -0.5])
# Least variance of h given omega at the start.
_LEAST_REST = 0.01


def score_basis(tokens: int, symmetric: bool = True) -> np.ndarray:
    """Orthonormal basis (k, M, M) of the symmetric M x M matrices, M = `tokens`, whose entries sum to zero.

    Not `symmetric`: of all matrices whose rows sum to zero.
    """
    if not symmetric:
        # The complement of the constant in each row.
        _, _, right = np.linalg.svd(np.ones((1, tokens)))
        rows = np.einsum("ac,lb->alcb", np.eye(tokens), right[1:])
        return np.ascontiguousarray(rows.reshape(-1, tokens, tokens))
    pairs = [(a, b) for a in range(tokens) for b in range(a + 1)]
    matrices = np.zeros((len(pairs), tokens, tokens))
    for place, (a, b) in enumerate(pairs):
        matrices[place, a, b] = matrices[place, b, a] = 1.0 if a == b else np.sqrt(0.5)
    # The complement of the sums of the entries, in these coordinates.
    _, _, right = np.linalg.svd(matrices.sum(axis=(1, 2))[None])
    return np.ascontiguousarray(np.tensordot(right[1:], matrices, axes=1))


@dataclass(frozen=True)
class Problem:
    """alpha > 0, lambda = `decay` > 0, tau = `score_noise` >= 0, the `teacher` or its rho, M = `tokens` and `beta`.

    The outputs have inverse temperature beta, in the data and in the model that is trained.
    """

    alpha: float
    decay: float
    score_noise: float
    teacher: float | Tied | OfSpectrum | Untied
    tokens: int
    beta: float = 1.0

    @property
    def law(self) -> Tied | OfSpectrum | Untied:
        """The teacher."""
        return as_teacher(self.teacher)

    @property
    def variance(self) -> float:
        """Variance of a coordinate of the scores, in units of that of a score off the diagonal."""
        return (SYMMETRIC if self.law.symmetric else UNSYMMETRIC).diagonal

    @property
    def power(self) -> float:
        """Q + tau."""
        return self.law.Q + self.score_noise


@dataclass(frozen=True)
class Nodes:
    """Standard normal nodes for the averages, each with its negative.

    Attributes
    ----------
    first, second : array (n, k)
        Coordinates of omega, and of h given omega, both of unit variance.
    basis : array (k, M, M)
        Basis of the scores, that of `score_basis`.
    """

    first: np.ndarray
    second: np.ndarray
    basis: np.ndarray

    def parts(self, count: int) -> list["Nodes"]:
        """`count` parts of equal size, each with the negatives of its nodes."""
        pairs = zip(*(np.split(half, count) for z in (self.first, self.second) for half in np.split(z, 2)), strict=True)
        return [Nodes(np.concatenate(part[:2]), np.concatenate(part[2:]), self.basis) for part in pairs]


def score_nodes(tokens: int, count: int, generator, symmetric: bool = True) -> Nodes:
    """`count` scrambled Sobol nodes from the numpy.random.Generator `generator`, and their negatives, of M = `tokens` tokens.

    The scores are `symmetric` or not.
    """
    basis = score_basis(tokens, symmetric)
    z = gaussian_nodes(2 * len(basis), count, generator, widening=1.0).points
    z = np.concatenate([z, -z])
    return Nodes(z[:, : len(basis)], z[:, len(basis) :], basis)


@dataclass(frozen=True)
class Fixed:
    """The fixed point.

    Attributes
    ----------
    q, m, V : float
    q_hat, m_hat, sigma_hat : float
    loss, penalty : float
        Mean training loss of a sample, and E ||Delta||^2 / (4 V).
    squares : float
        E ||d Delta / d omega||^2.
    resolved : float
        Fraction of the nodes at which Newton's method found the proximal operator.
    residual : float
        Largest change of a variable of the iteration in its last step.
    iterations : int
    converged : bool
    """

    q: float
    m: float
    V: float
    q_hat: float
    m_hat: float
    sigma_hat: float
    loss: float
    penalty: float
    squares: float
    resolved: float
    residual: float
    iterations: int
    converged: bool


@dataclass(frozen=True)
class _Averages:
    q_hat: float
    m_hat: float
    sigma_hat: float
    results: np.ndarray
    penalty: float


def _pair(problem, nodes, q, m):
    """Coordinates of omega and outputs y at the nodes."""
    omega = np.sqrt(problem.variance * q) * nodes.first
    slope = m / q if q > 0 else 0.0
    h = slope * omega + np.sqrt(problem.variance * max(problem.power - slope * m, 0.0)) * nodes.second
    return omega, h, attention(np.tensordot(h, nodes.basis, axes=1), problem.beta)


def _averages(problem, nodes, q, m, V) -> _Averages:
    """Averages of the proximal operator at the overlaps."""
    rest = problem.power - m**2 / q
    omega, h, outputs = _pair(problem, nodes, q, m)
    moved, results = np.empty_like(omega), np.empty((len(omega), kernels.COUNT))
    kernels.proximal(omega, h, outputs, nodes.basis, problem.beta, V, moved, results)
    count = len(omega)
    square, along, against = (float(np.vdot(moved, other)) / count for other in (moved, omega, h - (m / q) * omega))
    m_hat = problem.alpha * against / (V * rest)
    sigma_hat = (m * m_hat - problem.alpha * along / V) / q
    return _Averages(problem.alpha * square / V**2, m_hat, sigma_hat, results.mean(axis=0), square / (4.0 * V))


def solve(problem: Problem, nodes: Nodes, start: LinearSolution, tolerance: float, max_iterations: int) -> Fixed:
    """The fixed point of `problem` from the solution `start` of a linear problem (`start_equations`, `start_decay`).

    Averages run over the `nodes`. The variables are the logarithms of q, of the variance Q + tau - m^2 / q of h given omega,
    and of V. It is converged when none changes by more than `tolerance` within `max_iterations` of one of two attempts; the
    second attempt takes shorter steps.
    """

    Q = problem.power

    def overlaps(x):
        q, rest, V = np.exp(x)
        return q, np.sqrt(q * max(Q - rest, 1e-12 * Q)), V

    def step(x):
        found = _averages(problem, nodes, *overlaps(x))
        if not (found.m_hat > 0 and found.sigma_hat > 0):
            return np.full(3, np.nan)
        q, m, V = _overlaps(problem, found)
        if not (q > 0 and V > 0):
            # The step was too long: nothing is left above eps.
            return x + _BACK
        return np.log([q, max(Q - m**2 / q, 1e-300), V])

    m = start.J + start.threshold * start.A - start.delta**2 * start.theta
    V = start.theta / (4.0 * _slope(problem) * max(start_equations(problem) - start.theta, 1e-3 * start.theta))
    first = np.log([start.J, max(Q - m**2 / start.J, _LEAST_REST), V])
    found = anderson(step, first, tolerance, max_iterations, _DEPTH, _MIXING, _LONGEST)
    iterations = found.iterations
    if not found.converged:
        # Near interpolation without much decay the iteration needs shorter steps.
        found = anderson(step, found.value, tolerance, max_iterations, _DEPTH, *_SHORT)
        iterations += found.iterations
    q, m, V = overlaps(found.value)
    last = _averages(problem, nodes, q, m, V)
    return Fixed(
        q, m, V, last.q_hat, last.m_hat, last.sigma_hat, float(last.results[kernels.LOSS]), last.penalty,
        float(last.results[kernels.SQUARES]), 1.0 - float(last.results[kernels.FAILED]),
        found.residual, iterations, found.converged,
    )  # fmt: skip


def _overlaps(problem, found):
    """q, m and V from the averages."""
    delta, threshold = np.sqrt(found.q_hat) / found.m_hat, 2.0 * problem.decay / found.m_hat
    law, eta = problem.law.law(np.array([delta])), found.m_hat / found.sigma_hat
    moments = law.moments(np.array([threshold]))
    m = eta * (moments.J + threshold * moments.A - delta**2 * moments.theta)
    return np.array([eta**2 * moments.J, m, moments.theta / found.sigma_hat])[:, 0]


def start_equations(problem: Problem) -> float:
    """alpha (M^2 + M - 2), or alpha M (M - 1) without symmetry: equations of the linear problem where the iteration starts."""
    M = problem.tokens
    return problem.alpha * (M**2 + M - 2 if problem.law.symmetric else M * (M - 1))


def start_decay(problem: Problem) -> float:
    """lambda of that problem, whose loss is flatter by the mean square of the slopes of a softmax of equal scores."""
    return problem.decay / _slope(problem)


def _slope(problem):
    """beta^2 / (M (M + 1)), or beta^2 / M^2 without symmetry: a softmax of M equal scores has the slope beta / M."""
    M = problem.tokens
    return problem.beta**2 / (M * (M + 1) if problem.law.symmetric else M**2)


def loss_of_fresh_outputs(problem: Problem, nodes: Nodes, q: float, m: float) -> float:
    """E ||y - softmax(beta omega)||_F^2 of fresh outputs y of `problem`, with their noise, at the overlaps `q` and `m`.

    The average runs over the `nodes`.
    """
    omega, _, outputs = _pair(problem, nodes, q, m)
    return float(
        np.sum((outputs - attention(np.tensordot(omega, nodes.basis, axes=1), problem.beta)) ** 2) / len(omega)
    )


def without_learning(problem: Problem, nodes: Nodes) -> float | None:
    """The loss of S = 0 where S = 0 is a minimum of `problem`, else None; averages run over the `nodes`.

    At omega = 0 and V -> 0, Delta / V is minus twice the slope of the loss. S = 0 is a minimum where eps exceeds the spectrum.
    """
    _, h, outputs = _pair(problem, nodes, 0.0, 0.0)
    residual = 1.0 / problem.tokens - outputs
    centred = nodes.basis - nodes.basis.mean(axis=2, keepdims=True)
    slopes = 2.0 * problem.beta / problem.tokens * np.einsum("nab,lab->nl", residual, centred)
    Q = problem.power
    q_hat = 4.0 * problem.alpha * np.sum(slopes**2) / len(h)
    m_hat = -2.0 * problem.alpha * np.sum(slopes * h) / (len(h) * Q)
    nothing = 2.0 * problem.decay / m_hat >= problem.law.law([np.sqrt(q_hat) / m_hat]).largest[0]
    return float(np.sum(residual**2) / len(h)) if nothing else None
