"""The limit d -> infinity of SGD of any student with weights of each token, without fluctuations: drift of the overlaps.

The weights u_l of token l have the overlaps m_l with the teacher and e_lj with the basis of the positions, and the squared length
r_l^2. With the derivatives D_l of the loss by the fields z_l, the learning rate gamma and B sequences per step,

    dm_l   = -gamma E[D_l (z*_l + t_l)] dtau - m_l ds / 2,
    de_lj  = -gamma E[D_l (pi_lj + P_lj)] dtau - e_lj ds / 2,
    dr_l^2 = (-2 gamma E[D_l z_l] + gamma^2 / B E[D_l^2]) dtau - r_l^2 ds,

tau = t / d, pi_lj the component of a token along position j, t_l the overlap of its position with the teacher (arXiv:2506.02651).
The weights of all tokens are normalised together, sum_l r_l^2 = M: ds is the mean over l of the bracket of dr_l^2. With the nodes
c_l and eta_l of `any_student_kernels.make_untied_gradients`, and rho_l = m_l / r_l, pi_lj has the mean
(e_lj / r_l) (c_l - rho_l eta_l / sqrt(1 - rho_l^2)) at given nodes.
"""

from dataclasses import dataclass

import numpy as np

from attention_limits.sequence_single_index.large_dimension import paths
from attention_limits.sequence_single_index.sgd.any_student import compiled, initial_state

# Overlaps at which two sets of nodes are compared; shorter than 1 in four directions.
PROBE = 0.3


@dataclass(frozen=True)
class UntiedFlow:
    """Drift of SGD of a problem with an untied student at one learning rate.

    A state holds (m_1 ... m_M, e_11 ... e_Mr, r_1^2 ... r_M^2), as in `any_student.initial_state`.

    Attributes
    ----------
    problem : any_student.LinkProblem
    learning_rate : float
        gamma.
    nodes : GaussianNodes
        In 2 M dimensions: (eta, c).
    batch : int
        B.
    grid : bool
        Whether the nodes are those of a Gauss-Hermite grid.

    Raises
    ------
    ValueError
        For a tied student.
    """

    problem: object
    learning_rate: float
    nodes: object
    batch: int = 1
    grid: bool = False

    def __post_init__(self):
        if not self.problem.untied:
            raise ValueError("this flow is that of untied weights; see any_student_flow")

    def _means(self, state):
        """E D_l, E D_l c_l, E D_l eta_l and E D_l^2, array (M, 4)."""
        problem, nodes = self.problem, self.nodes
        return compiled(problem)[1](nodes.points, nodes.weights, state, problem.components, problem.teacher_overlaps)

    def drift(self, state):
        """d state / dtau, an array like `state`."""
        M, rank = self.problem.components.shape
        state, gamma, places = np.array(state, dtype=float), self.learning_rate, self.problem.components
        m, e, square = state[:M], state[M : M * (1 + rank)].reshape(M, rank), state[M * (1 + rank) :]
        length = np.sqrt(square)
        rho = m / length
        across = np.sqrt(np.maximum(1.0 - rho**2, 1e-300))
        D, along, other, squares = self._means(state).T
        shifts = self.problem.teacher_overlaps
        fixed = np.sum(e * places, axis=1) + m * shifts
        growth = -2.0 * gamma * (length * along + fixed * D) + gamma**2 / self.batch * squares
        half = 0.5 * np.mean(growth)
        to_teacher = -gamma * (rho * along + across * other + shifts * D) - half * m
        given = (along - rho / across * other) / length
        to_positions = -gamma * (given[:, None] * e + D[:, None] * places) - half * e
        return np.concatenate([to_teacher, to_positions.ravel(), growth - 2.0 * half * square])

    def _size(self, state):
        """Mean over the tokens of |e_l|^2 + m_l^2."""
        M = self.problem.tokens
        return np.sum(state[:-M] ** 2) / M

    def path(self, start, times):
        """States (len(times), n) from the overlaps `start` of `any_student.initial_state` at tau = 0, at increasing `times`."""
        return paths.path(self.drift, initial_state(self.problem, start), times, many=True)

    def escape_time(self, start, threshold, end=np.inf):
        """tau at which the mean over tokens of |e|^2 + m^2 exceeds the `threshold`; infinite beyond `end` or 10^6 / gamma.

        `start` as for `path`. Also infinite for a flow that falls towards zero (`paths.escape_time`).
        """
        start, end = initial_state(self.problem, start), min(end, paths.LONGEST / self.learning_rate)
        return paths.escape_time(self.drift, self._size, start, threshold, end, many=True)

    def probe(self):
        """Means of the gradient at equal overlaps PROBE, by which two sets of nodes are compared."""
        return self._means(initial_state(self.problem, np.full(self.problem.components.shape[1] + 1, PROBE)))
