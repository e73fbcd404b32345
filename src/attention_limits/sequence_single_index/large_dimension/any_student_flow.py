"""The limit d -> infinity of SGD of any tied student and target, with fluctuations: drift and diffusion of the overlaps.

`flows` gives that of an untied student too (`untied_flow`).

With x = (e_1 ... e_r, m), the gradient G of the loss along these directions and D . z along the student (arXiv:2506.02651),

    dx = -E[gamma (G - x D . z) + gamma^2/2 |D|^2 x] dtau + A dW / sqrt d,   A A^T = Cov of the same vector,

tau = t / d, for one sequence per step; with a batch of B sequences gamma^2 / (2 B) stands for gamma^2 / 2, and the covariance is
that of one sequence over B. The diffusion is that of leading order at large d. Up to two tokens expectations of smooth functions
are Gauss-Hermite sums; beyond, and for functions with kinks, they are means over scrambled Sobol nodes with both signs of eta.

The nodes are c_l = z_l - sum_j e_j P_lj - m t_l and eta_l, with z*_l = m c_l + sqrt(1 - m^2) eta_l; t_l is the overlap of the
position with the teacher. At given nodes a component of a token along position j has the mean
e_j (c_l - m eta_l / sqrt(1 - m^2)). In G - x D . z all terms with D . c cancel:

    G_j - e_j D . z = sum_l D_l P_lj - e_j (s + m D . eta / sqrt(1 - m^2)),   s = sum_lj D_l e_j P_lj + m D . t,
    G_m - m D . z = sqrt(1 - m^2) D . eta + D . t - m s.

The quadrature then adds no drift at m = 0 that is linear in m and would hide the drift of order m^(k-1).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import GaussianNodes, gaussian_nodes
from attention_limits.numerics.probability.hermite import gauss_hermite
from attention_limits.numerics.probability.statistics import mean_and_error
from attention_limits.sequence_single_index.large_dimension import paths
from attention_limits.sequence_single_index.large_dimension.untied_flow import PROBE, UntiedFlow
from attention_limits.sequence_single_index.sgd.any_student import compiled

# Nodes per axis of the grids, and Sobol nodes.
AXIS, NODES = 16, 2**13
# Standard errors of Sobol nodes that contradict a grid.
CONTRADICTS = 8.0


@dataclass(frozen=True)
class LinkFlow:
    """Drift and diffusion of SGD of a problem at one learning rate.

    Attributes
    ----------
    problem : any_student.LinkProblem
        With a tied student.
    learning_rate : float
        gamma.
    nodes : GaussianNodes
        In 2 M dimensions: `grid_nodes` or `sobol_nodes`.
    batch : int
        Sequences per step.
    grid : bool
        Whether the nodes are those of a Gauss-Hermite grid.
    moments : dict
        Moments of the gradient at the overlaps where they were needed; flows `at` other learning rates share it.

    Raises
    ------
    ValueError
        For an untied student.
    """

    problem: object
    learning_rate: float
    nodes: object
    batch: int = 1
    grid: bool = False
    moments: dict = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self):
        if self.problem.untied:
            raise ValueError("this flow is that of tied weights; see untied_flow")

    def _pulls(self, x):
        """G - x D . z (n, r + 1) and |D|^2 (n,) at the nodes, with the means of the components along the positions."""
        problem = self.problem
        found = compiled(problem)[1](self.nodes.points, x, problem.components, problem.teacher_overlaps)
        e, m = x[:-1], x[-1]
        # At m = 1 the overlaps with the positions vanish.
        rest = np.sqrt(max(1.0 - m**2, 1e-300))
        along_positions, shift, across, square = found[:, :-3], found[:, -3:-2], found[:, -2:-1], found[:, -1]
        along = (along_positions @ e)[:, None] + m * shift
        to_positions = along_positions - (along + m / rest * across) * e
        return np.hstack([to_positions, rest * across + shift - m * along]), square

    def at(self, learning_rate, batch=1):
        """The flow of the same problem and nodes at another learning rate and batch."""
        return replace(self, learning_rate=learning_rate, batch=batch)

    def _moments(self, x):
        """Means (r + 2,) and covariance (r + 2, r + 2) of the pulls and |D|^2 over the nodes."""
        key = tuple(x)
        if key not in self.moments:
            values = np.column_stack(self._pulls(x))
            means = self.nodes.mean(values)
            values -= means
            self.moments[key] = means, values.T @ (values * (self.nodes.weights / len(values))[:, None])
        return self.moments[key]

    def drift(self, x):
        """dx/dtau at the overlaps x (r + 1,), array (r + 1,)."""
        x, gamma = np.array(x, dtype=float), self.learning_rate
        means, _ = self._moments(x)
        return -gamma * means[:-1] - 0.5 * gamma**2 * means[-1] / self.batch * x

    def diffusion(self, x):
        """A A^T of the module at the overlaps x (r + 1,), matrix (r + 1, r + 1): d times d Cov[x] / dtau."""
        x, gamma = np.array(x, dtype=float), self.learning_rate
        means, covariance = self._moments(x)
        step = np.column_stack([gamma * np.eye(len(x)), 0.5 * gamma**2 / self.batch * x])
        covariance = step @ covariance @ step.T
        rank, e = len(x) - 1, x[:-1]
        # The scatter of the components along the positions, given the fields.
        scatter = np.eye(rank) - np.outer(e, e) / max(1.0 - x[-1] ** 2, 1e-300)
        covariance[:rank, :rank] += gamma**2 * means[-1] * scatter
        return covariance / self.batch

    def path(self, start, times):
        """Overlaps (len(times), r + 1) of the flow from `start` (r + 1,) at tau = 0, at increasing `times`."""
        return paths.path(self.drift, start, times)

    def escape_time(self, start, threshold, end=np.inf):
        """tau at which |x|^2 exceeds the `threshold` from `start` (r + 1,); infinite beyond `end` or 10^6 / gamma.

        Also infinite for a flow that falls towards zero (`paths.escape_time`).
        """
        end = min(end, paths.LONGEST / self.learning_rate)
        return paths.escape_time(self.drift, lambda x: np.sum(x**2), start, threshold, end)

    def probe(self):
        """Moments at equal overlaps PROBE, by which two sets of nodes are compared."""
        return self._moments(np.full(self.problem.components.shape[1] + 1, PROBE))[0]


def sobol_nodes(problem, generator, count=NODES):
    """Sobol nodes for the flow of a `problem`, in 2 M dimensions, scrambled by the `generator`.

    `count`, a power of two, each with two signs of eta.
    """
    dimension = 2 * problem.tokens
    # The weights of wider nodes spread exponentially in the dimension.
    drawn = gaussian_nodes(dimension, count, generator, 1.15 if dimension <= 8 else 1.0)
    signs = np.repeat([-1.0, 1.0], problem.tokens)
    points, weights = np.vstack([drawn.points, signs * drawn.points]), np.tile(drawn.weights, 2)
    return GaussianNodes(points, weights, drawn.widening, drawn.widened)


def grid_nodes(problem, count=AXIS):
    """The Gauss-Hermite grid for the flow of a `problem` of one or two tokens, in 2 M dimensions: `count` nodes per axis."""
    dimension = 2 * problem.tokens
    x, weights = gauss_hermite(count)
    points = np.stack(np.meshgrid(*[x] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    product = np.prod(
        np.stack(np.meshgrid(*[weights] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension), axis=1
    )
    kept = product > 1e-16
    return GaussianNodes(points[kept], product[kept] / np.sum(product[kept]) * np.sum(kept), 1.0, 0)


def flows(problem, learning_rate, generators, batch=1):
    """The flows of a problem on several sets of nodes, whose differences are the error (`with_error`).

    Parameters
    ----------
    problem : LinkProblem
    learning_rate : float
    generators : sequence of numpy.random.Generator
        One per scrambling, for more than two tokens and for functions with kinks.
    batch : int

    Returns
    -------
    list of LinkFlow, or of UntiedFlow for an untied student
        Up to two tokens on a grid and on a coarser one, unless Sobol nodes contradict them; else one for each scrambling.
    """
    kind, count = LinkFlow, NODES
    if problem.untied:
        # A node of M tokens costs M^2, and the means of M gradients scatter less than one of them.
        kind, count = UntiedFlow, NODES >> max(0, problem.tokens.bit_length() - 3)
    drawn = [kind(problem, learning_rate, sobol_nodes(problem, each, count), batch) for each in generators]
    if problem.tokens > 2:
        return drawn
    grids = [kind(problem, learning_rate, grid_nodes(problem, count), batch, True) for count in (AXIS, AXIS - 2)]
    return drawn if drawn and _contradict(grids, drawn) else grids


def _contradict(grids, drawn):
    """Whether Sobol nodes contradict a grid beyond its error and CONTRADICTS times theirs: a kink lies on nodes of the grid."""
    (value, error), (mean, scatter) = (with_error(flows, lambda flow: flow.probe()) for flows in (grids, drawn))
    return bool(np.any(np.abs(value - mean) > error + CONTRADICTS * scatter))


def with_error(flows, compute):
    """Value and absolute error of the result of `compute`, LinkFlow -> array, over `flows`.

    On grids: three times the change from the coarser one; else mean and standard error over scramblings.
    """
    found = [np.asarray(compute(flow)) for flow in flows]
    if not flows[0].grid:
        mean, error = mean_and_error(found)
        # A time that is infinite for one scrambling has no finite mean.
        infinite = np.any(np.isinf(found), axis=0)
        return np.where(infinite, np.inf, mean), np.where(infinite, np.nan, error)
    fine, coarse = found
    # An infinite time has no error.
    with np.errstate(invalid="ignore"):
        return fine, 3.0 * np.abs(fine - coarse)
