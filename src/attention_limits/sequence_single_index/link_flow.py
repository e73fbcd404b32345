"""The limit d -> infinity of SGD of any tied student and target, with fluctuations: drift and diffusion of the overlaps.

With x = (e_1 ... e_r, m), the gradient G of the loss along these directions and D . z along the student (arXiv:2506.02651),

    dx = -E[gamma (G - x D . z) + gamma^2/2 |D|^2 x] dtau + A dW / sqrt d,   A A^T = Cov of the same vector,

tau = t / d, for one sequence per step; with a batch of B sequences gamma^2 / (2 B) stands for gamma^2 / 2, and the covariance is
that of one sequence over B. The diffusion is that of leading order at large d. Up to two tokens expectations are Gauss-Hermite
sums, beyond them means over scrambled Sobol nodes with both signs of eta.

The nodes are c_l = z_l - sum_j e_j P_lj and eta_l, with z*_l = m c_l + sqrt(1 - m^2) eta_l. At given nodes a component of a token
along position j has the mean e_j (c_l - m eta_l / sqrt(1 - m^2)). In G - x D . z all terms with D . c cancel:

    G_j - e_j D . z = sum_l D_l P_lj - e_j (s + m D . eta / sqrt(1 - m^2)),   s = sum_lj D_l e_j P_lj,
    G_m - m D . z = sqrt(1 - m^2) D . eta - m s.

The quadrature then adds no drift at m = 0 that is linear in m and would hide the drift of order m^(k-1).
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from attention_limits.numerics.gaussian_nodes import GaussianNodes, gaussian_nodes
from attention_limits.numerics.hermite import gauss_hermite
from attention_limits.numerics.statistics import mean_and_error
from attention_limits.sequence_single_index.link_sgd import compiled

# Nodes per axis of the grids.
AXIS = 16


@dataclass(frozen=True)
class LinkFlow:
    """Drift and diffusion of SGD of a problem at one learning rate.

    Attributes
    ----------
    problem : link_sgd.LinkProblem
        With a tied student.
    learning_rate : float
        gamma.
    nodes : GaussianNodes
        In 2 L dimensions (`flow_nodes`).
    batch : int
        Sequences per step.

    Raises
    ------
    ValueError
        For an untied student.
    """

    problem: object
    learning_rate: float
    nodes: object
    batch: int = 1

    def __post_init__(self):
        if self.problem.untied:
            raise ValueError("the flow is that of students with tied weights")

    def _pulls(self, x):
        """G - x D . z (n, r + 1) and |D|^2 (n,) at the nodes, with the means of the components along the positions."""
        found = compiled(self.problem)[1](self.nodes.points, x, self.problem.components)
        e, m = x[:-1], x[-1]
        # At m = 1 the overlaps with the positions vanish.
        rest = np.sqrt(max(1.0 - m**2, 1e-300))
        along_positions, across, square = found[:, :-2], found[:, -2:-1], found[:, -1]
        along = (along_positions @ e)[:, None]
        return np.hstack([along_positions - (along + m / rest * across) * e, rest * across - m * along]), square

    def drift(self, x):
        """dx/dtau at the overlaps x (r + 1,), array (r + 1,)."""
        x, gamma = np.array(x, dtype=float), self.learning_rate
        pulls, square = self._pulls(x)
        return -gamma * self.nodes.mean(pulls) - 0.5 * gamma**2 * self.nodes.mean(square) / self.batch * x

    def diffusion(self, x):
        """A A^T of the module at the overlaps x (r + 1,), matrix (r + 1, r + 1): d times d Cov[x] / dtau."""
        x, gamma = np.array(x, dtype=float), self.learning_rate
        pulls, square = self._pulls(x)
        across = gamma * pulls + 0.5 * gamma**2 / self.batch * square[:, None] * x
        across = across - self.nodes.mean(across)
        covariance = self.nodes.mean(across[:, :, None] * across[:, None, :])
        rank, e = len(x) - 1, x[:-1]
        # The scatter of the components along the positions, given the fields.
        scatter = np.eye(rank) - np.outer(e, e) / max(1.0 - x[-1] ** 2, 1e-300)
        covariance[:rank, :rank] += gamma**2 * self.nodes.mean(square) * scatter
        return covariance / self.batch

    def path(self, start, times):
        """Overlaps (len(times), r + 1) of the flow from `start` (r + 1,) at tau = 0, at increasing `times`."""
        found = solve_ivp(
            lambda _, x: self.drift(x), (0.0, times[-1]), start, t_eval=times, method="LSODA", rtol=1e-5, atol=1e-8
        )
        return found.y.T

    def escape_time(self, start, threshold, longest=1e6):
        """tau at which |x|^2 exceeds the `threshold` from `start` (r + 1,); infinite beyond `longest` / gamma."""

        def beyond(_, x):
            return np.sum(x**2) - threshold

        start = np.asarray(start, dtype=float)
        beyond.terminal, beyond.direction = True, 1.0
        if beyond(0.0, start) > 0.0:
            return 0.0
        end = longest / self.learning_rate
        found = solve_ivp(
            lambda _, x: self.drift(x), (0.0, end), start, events=beyond, method="LSODA", rtol=1e-5, atol=1e-8
        )
        return float(found.t_events[0][0]) if len(found.t_events[0]) else np.inf


def flow_nodes(problem, generator=None, count=None):
    """Nodes for the flow of a `problem`, in 2 L dimensions.

    Parameters
    ----------
    problem : LinkProblem
    generator : numpy.random.Generator, optional
        Scrambles Sobol nodes, which more than two tokens need.
    count : int, optional
        Nodes per axis of a grid (default 16), or Sobol nodes, a power of two (default 2^13), each with two signs of eta.

    Raises
    ------
    ValueError
        For more than two tokens without a generator.
    """
    dimension = 2 * problem.tokens
    if dimension > 4:
        if generator is None:
            raise ValueError(f"{problem.tokens} tokens need Sobol nodes: give a generator")
        # The weights of wider nodes spread exponentially in the dimension.
        drawn = gaussian_nodes(dimension, count or 2**13, generator, 1.15 if dimension <= 8 else 1.0)
        signs = np.repeat([-1.0, 1.0], problem.tokens)
        return GaussianNodes(np.vstack([drawn.points, signs * drawn.points]), np.tile(drawn.weights, 2), drawn.widening)
    x, weights = gauss_hermite(count or AXIS)
    points = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    product = np.prod(
        np.stack(np.meshgrid(*[weights] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension), axis=1
    )
    kept = product > 1e-16
    return GaussianNodes(points[kept], product[kept] / np.sum(product[kept]) * np.sum(kept), 1.0)


def with_error(problem, learning_rate, compute, generators, batch=1):
    """Value and absolute error of the result of `compute`.

    Up to two tokens: three times the change from a coarser grid; beyond: mean and standard error over scramblings.

    Parameters
    ----------
    problem : LinkProblem
    learning_rate : float
    compute : callable
        LinkFlow -> array.
    generators : sequence of numpy.random.Generator
        One per scrambling.
    batch : int
    """
    if problem.tokens <= 2:
        fine, coarse = (
            np.asarray(compute(LinkFlow(problem, learning_rate, flow_nodes(problem, count=count), batch)))
            for count in (AXIS, AXIS - 2)
        )
        # An infinite time has no error.
        with np.errstate(invalid="ignore"):
            return fine, 3.0 * np.abs(fine - coarse)
    nodes = [flow_nodes(problem, each) for each in generators]
    return mean_and_error([compute(LinkFlow(problem, learning_rate, each, batch)) for each in nodes])
