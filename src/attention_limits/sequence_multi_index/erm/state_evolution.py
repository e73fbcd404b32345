"""State evolution of empirical risk minimisation with a ridge, replica-symmetric, at zero temperature.

The student minimises L(W) = sum_mu l(y_mu, h_mu) + lambda / 2 |W|^2 over W (P, D). Tokens are x_a = sigma g_a + p_a with
standard normal g and means p_a = sum_k B_ak u_k, K orthonormal directions u_k. The target reads h* = W* sigma g / sqrt(D) of
covariance sigma^2 R, the student h = W x / sqrt(D). Order parameters: q = sigma^2 W W^T / D, m = sigma^2 W W*^T / D,
mu = W U / sqrt(D), and the susceptibility V. With the proximal operator z_hat (`prox`), its minimum M_V and
g_a = V^-1 (z_hat_a - omega_a),

    q_hat = alpha E sum_a g_a g_a^T,   mu_hat_k = alpha E sum_a B_ak g_a,   V_hat = -alpha E sum_a dg_a/domega_a,
    m_hat = (alpha E sum_a g_a h*_a^T + V_hat m) R^-1 / sigma^2,
    Lambda = lambda + sigma^2 V_hat,   V = sigma^2 Lambda^-1,   m = sigma^4 Lambda^-1 m_hat R,   mu = Lambda^-1 mu_hat,
    q = sigma^2 Lambda^-1 (sigma^2 q_hat + sigma^4 m_hat R m_hat^T + mu_hat mu_hat^T) Lambda^-1.

At a fixed point the free energy f equals the training objective e = L / D. For P = M = 1 the equations are proven under the
replicon condition (Vilucchio et al. 2025, arXiv:2502.20003); the positional directions are those of Cui et al. 2024
(arXiv:2402.03902).
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from attention_limits.numerics.solvers.anderson import anderson
from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.sequence_multi_index.erm.losses import Loss
from attention_limits.sequence_multi_index.erm.nodes import Nodes
from attention_limits.sequence_multi_index.erm.prox import prox
from attention_limits.sequence_multi_index.priors.overlaps import symmetric_root

# Above this jump index replica symmetry is doubtful: theory and minimisation differ by more than about 3 %. Below minus this
# the loss has kinks, whose curvature the derivatives, and so the replicon, do not contain, or the nodes are few.
MAX_JUMP = 0.05
# Of the first V on the positional branch, relative to that on the others.
NARROW = 0.4


class Settings(Protocol):
    """The settings that the iteration reads; the section `schema.erm.ErmStateEvolutionSolver` has them.

    Attributes
    ----------
    tolerance : float
        Largest change of a coordinate: m / sigma^2, mu, log V, root of the part of q that m and mu leave, divided by sigma.
    max_iterations : int
        Largest number of iterations.
    """

    tolerance: float
    max_iterations: int


@dataclass(frozen=True)
class Order:
    """Order parameters: q, V (P, P), m (P, P*), mu (P, K)."""

    q: np.ndarray
    m: np.ndarray
    mu: np.ndarray
    V: np.ndarray


@dataclass(frozen=True)
class Problem:
    """Empirical risk minimisation at one alpha.

    Attributes
    ----------
    loss : Loss
    alpha : float
        Samples per dimension, n / D, positive.
    ridge : float
        lambda > 0.
    branch : str
        Symmetry that the solution keeps: "free"; "semantic" (mu = 0); "positional" (m = 0); "agnostic" (both zero);
        "diagonal" (q, m, V diagonal).

    Raises
    ------
    ValueError
        If alpha or ridge is not positive, or there is no such branch.
    """

    loss: Loss
    alpha: float
    ridge: float
    branch: str

    def __post_init__(self):
        if not (self.alpha > 0 and self.ridge > 0):
            raise ValueError(f"need alpha > 0 and ridge > 0, got {self.alpha!r} and {self.ridge!r}")
        if self.branch not in BRANCHES:
            raise ValueError(f"no branch {self.branch!r}; {allowed_names(self.branch, BRANCHES)}")


BRANCHES = ("free", "semantic", "positional", "agnostic", "diagonal")


@dataclass(frozen=True)
class Solution:
    """A fixed point, or the last point of an iteration that did not converge.

    Attributes
    ----------
    order : Order
    objective, free_energy : float
        e = L / D and f; equal at a fixed point.
    errors : dict
        Errors on fresh data, see `errors_at`.
    replicon, jump : float
        Spectral radius of the replicon; jump index J.
    residual, iterations, converged :
        Of the iteration.
    ended : float
        Fraction of the proximal operators whose Newton iteration ended.
    """

    order: Order
    objective: float
    free_energy: float
    errors: dict[str, float]
    replicon: float
    jump: float
    residual: float
    iterations: int
    converged: bool
    ended: float

    @property
    def replica_symmetric(self) -> bool:
        """Whether the replicon is stable and the proximal operator jumps so rarely that the equations hold to about 3 %."""
        return bool(self.replicon < 1 and abs(self.jump) <= MAX_JUMP)


@dataclass(frozen=True)
class _Averages:
    """Averages over the channel, and the numbers that follow from them."""

    new: Order
    objective: float
    free_energy: float
    replicon: float
    jump: float
    ended: float


def _symmetric(matrix):
    return 0.5 * (matrix + matrix.T)


def _project(problem: Problem, order: Order) -> Order:
    """The order parameters with the symmetry of the branch, which the noise of the nodes breaks."""
    if problem.branch in ("semantic", "agnostic"):
        order = replace(order, mu=np.zeros_like(order.mu))
    if problem.branch in ("positional", "agnostic"):
        order = replace(order, m=np.zeros_like(order.m))
    if problem.branch == "diagonal":
        eye = np.eye(len(order.q))
        return replace(order, q=order.q * eye, V=order.V * eye, m=order.m * np.eye(*order.m.shape))
    return order


def omega_of(nodes: Nodes, order: Order) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Student's fields omega (N, P, M) on `nodes` at the overlaps `order`, with the root and the pull m (sigma^2 R)^-1.

    omega_a = mu B_a + m (sigma^2 R)^-1 h*_a + root xi_a with root^2 = q - m (sigma^2 R)^-1 m^T.
    """
    pull = order.m @ np.linalg.inv(nodes.field_covariance)
    root = symmetric_root(_symmetric(order.q - pull @ order.m.T))
    fields = np.einsum("pr,nra->npa", pull, nodes.target) + np.einsum("pq,nqa->npa", root, nodes.student)
    return fields + (order.mu @ nodes.positions.T)[None], root, pull


def _average(problem: Problem, nodes: Nodes, order: Order) -> _Averages:
    """One pass over the channel: the next order parameters, and energies and stability at the present ones."""
    loss, alpha, sigma2 = problem.loss, problem.alpha, nodes.sigma**2
    omega, root, _ = omega_of(nodes, order)
    found = prox(loss, nodes.outputs, nodes.anchors, omega, order.V)
    g, G = found.slope, found.jacobian
    q_hat = alpha * nodes.mean(np.einsum("npa,nqa->npq", g, g))
    mu_hat = alpha * nodes.mean(np.einsum("npa,ak->npk", g, nodes.positions))
    smooth = -alpha * nodes.mean(np.einsum("npaqa->npq", G))
    V_hat = smooth
    jump = 0.0
    if not loss.convex:
        # Stein: E g xi^T = E[dg/domega] root contains the jumps of the proximal operator, the Jacobian does not.
        pull = alpha * nodes.mean(np.einsum("npa,nqa->npq", g, nodes.student))
        V_hat = -_symmetric(pull @ np.linalg.pinv(root, rcond=1e-8))
        half = symmetric_root(order.V)
        if not loss.kinked:
            jumps = np.linalg.eigvalsh(_symmetric(half @ (smooth - V_hat) @ half))
            jump = float(jumps[0] if jumps[0] < -max(MAX_JUMP, jumps[-1]) else jumps[-1])
    R = nodes.field_covariance / sigma2
    cross = alpha * nodes.mean(np.einsum("npa,nra->npr", g, nodes.target))
    m_hat = (cross + V_hat @ order.m) @ np.linalg.inv(R) / sigma2
    e = alpha * nodes.mean(found.loss) + 0.5 * problem.ridge / sigma2 * np.trace(order.q)
    precision = problem.ridge * np.eye(loss.rows) + sigma2 * V_hat
    values = np.linalg.eigvalsh(precision)
    # Lambda must be positive; far from a fixed point the average over the nodes may not be.
    if values[0] <= 1e-3 * problem.ridge:
        eigenvalues, vectors = np.linalg.eigh(precision)
        precision = (vectors * np.maximum(eigenvalues, 1e-3 * problem.ridge)) @ vectors.T
    inverse = np.linalg.inv(precision)
    source = sigma2 * q_hat + sigma2**2 * m_hat @ R @ m_hat.T + mu_hat @ mu_hat.T
    new = Order(
        q=sigma2 * inverse @ source @ inverse,
        m=sigma2**2 * inverse @ m_hat @ R,
        mu=inverse @ mu_hat,
        V=sigma2 * inverse,
    )
    f = (
        alpha * nodes.mean(found.envelope)
        - 0.5 * np.sum(V_hat * order.q)
        + 0.5 * np.sum(q_hat * order.V)
        + np.sum(m_hat * order.m)
        + np.sum(mu_hat * order.mu)
        - 0.5 * np.sum(inverse * source)
    )
    return _Averages(new, float(e), float(f), _replicon(alpha, nodes, G, order.V), jump, float(np.mean(found.ended)))


def _replicon(alpha, nodes, jacobian, variance):
    """Spectral radius of Delta -> alpha V E[sum_ab G_ab Delta G_ab^T] V."""
    size = len(variance)
    moved = np.einsum("pq,nqarb->nparb", variance, jacobian)
    weighted = moved * nodes.weights[:, None, None, None, None]
    form = np.einsum("nparb,nqasb->pqrs", weighted, moved, optimize=True) * alpha / len(nodes.weights)
    return float(np.max(np.abs(np.linalg.eigvals(form.reshape(size**2, size**2)))))


def _to_coordinates(order: Order, covariance, sigma) -> np.ndarray:
    """Coordinates of order one: root of the part of q that h* and mu leave, m, mu, log V."""
    rest = order.q - order.m @ np.linalg.inv(covariance) @ order.m.T - sigma**2 * order.mu @ order.mu.T
    values, vectors = np.linalg.eigh(_symmetric(order.V))
    log_V = (vectors * np.log(values)) @ vectors.T
    triangle = np.tril_indices(len(order.q))
    root = symmetric_root(_symmetric(rest)) / sigma
    return np.concatenate([root[triangle], (order.m / sigma**2).ravel(), order.mu.ravel(), log_V[triangle]])


def _from_coordinates(x, like: Order, covariance, sigma) -> Order:
    size = len(like.q)
    triangle = np.tril_indices(size)
    count = len(triangle[0])

    def square(part):
        full = np.zeros((size, size))
        full[triangle] = part
        return full + np.tril(full, -1).T

    root = sigma * square(x[:count])
    m = sigma**2 * x[count : count + like.m.size].reshape(like.m.shape)
    mu = x[count + like.m.size : count + like.m.size + like.mu.size].reshape(like.mu.shape)
    values, vectors = np.linalg.eigh(square(x[-count:]))
    V = (vectors * np.exp(np.clip(values, -30.0, 30.0))) @ vectors.T
    q = root @ root + m @ np.linalg.inv(covariance) @ m.T + sigma**2 * mu @ mu.T
    return Order(q, m, mu, V)


def informed(problem: Problem, nodes: Nodes, overlap: float, position: float) -> Order:
    """A start near the target: m = overlap sigma^2 R in the rows that both have, mu = `position`, V = sigma^2 I / sqrt(lambda).

    lambda is that of `problem`, R and sigma those of `nodes`. On the positional branch V is smaller: from this start the
    iteration reached the branch in 16 of 16 tries, from larger V, where it can lose mu, in 10 of 16.
    """
    rows, sigma2 = problem.loss.rows, nodes.sigma**2
    R = nodes.field_covariance / sigma2
    m = np.zeros((rows, len(R)))
    shared = min(rows, len(R))
    m[:shared, :shared] = overlap * sigma2 * R[:shared, :shared]
    mu = np.full((rows, nodes.positions.shape[1]), position)
    floor = 0.05 * sigma2 * np.eye(rows)
    q = m @ np.linalg.inv(nodes.field_covariance) @ m.T + sigma2 * mu @ mu.T + floor
    factor = NARROW if problem.branch == "positional" else 1.0
    return _project(problem, Order(q, m, mu, factor * sigma2 / np.sqrt(problem.ridge) * np.eye(rows)))


def solve(problem: Problem, nodes: Nodes, start: Order, settings: Settings) -> Solution:
    """Fixed point on fixed nodes from a start.

    Parameters
    ----------
    problem : Problem
    nodes : Nodes
        Kept fixed, so that the map is deterministic; independent scramblings give the error.
    start : Order
    settings : Settings
    """
    covariance, sigma = nodes.field_covariance, nodes.sigma
    start = _project(problem, start)

    def step(x):
        order = _project(problem, _from_coordinates(x, start, covariance, sigma))
        return _to_coordinates(_project(problem, _average(problem, nodes, order).new), covariance, sigma)

    found = anderson(step, _to_coordinates(start, covariance, sigma), settings.tolerance, settings.max_iterations)
    order = _project(problem, _from_coordinates(found.value, start, covariance, sigma))
    last = _average(problem, nodes, order)
    return Solution(
        order, last.objective, last.free_energy, errors_at(problem.loss, nodes, order), last.replicon, last.jump, found.residual,
        found.iterations, found.converged, last.ended,
    )  # fmt: skip


def errors_at(loss: Loss, nodes: Nodes, order: Order) -> dict[str, float]:
    """`test_loss`, `error_plug_in` and `misclassification` of a student with the overlaps `order`; see `Nodes.errors`.

    `loss` is that of the fit, and `nodes` gives the fields of target and student.
    """
    omega, root, pull = omega_of(nodes, order)
    found = nodes.errors(loss, omega)
    if nodes.student.shape[1:] == nodes.target.shape[1:] == (1, 1):
        shift = float(np.sum(order.mu @ nodes.positions.T))
        found["misclassification"] = nodes.wrong_signs(float(pull[0, 0]), float(root[0, 0]), shift)
    return found
