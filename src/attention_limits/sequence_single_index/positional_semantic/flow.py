"""Attention SGD at large d: the flow of (e, m) in tau = t / d, and its linearisation at the uninformed start.

    dm/dtau = -gamma E[g_m] + gamma m E[D . z] - gamma^2/2 V m,   V = E|D|^2 / B,

and the same for e (arXiv:2506.02651). At finite d the overlaps diffuse before they grow; this decides which of them wins.

Everywhere `problem` is a `sgd.fixed_students.AttentionProblem`, `learning_rate` gamma, `dimension` d, and `batch` the number B of
sequences per step, whose mean gradient has 1/B of the variance.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from attention_limits.sequence_single_index.sgd import attention_kernels as kernels


def attention_drift(state, problem, learning_rate, nodes, batch=1):
    """(de/dtau, dm/dtau), array (2,), of the attention student.

    Parameters
    ----------
    state : (e, m)
    problem, learning_rate
        See the module.
    nodes : GaussianNodes
        In four dimensions.
    batch : int
    """
    e, m = state
    moments = kernels.attention_moments(nodes.points, nodes.weights, e, m, *problem.numbers)
    rest = np.sqrt(max(1.0 - m**2, 1e-300))
    # Given the fields, the part of a token along the position averages to e zeta / sqrt(1 - m^2).
    g_m, g_e = moments[kernels.TEACHER], moments[kernels.POSITION] + e * moments[kernels.REST] / rest
    descent = np.array([-g_e + e * moments[kernels.FIELD], -g_m + m * moments[kernels.FIELD]])
    return learning_rate * descent - 0.5 * learning_rate**2 * moments[kernels.SQUARE] / batch * np.array([e, m])


@dataclass(frozen=True)
class LinearTheory:
    """Attention SGD near the uninformed start: a Gaussian process in (e, m).

    Attributes
    ----------
    curvature : array (2,)
        H_ee, H_mm of the expected loss.
    noise : array (2,)
        Variances v_e, v_m of the gradient of one step along position and teacher.
    total_noise : float
        V = E|D|^2 / B.
    """

    curvature: np.ndarray
    noise: np.ndarray
    total_noise: float

    def growth(self, learning_rate):
        """Growth rates of (e, m) per learning rate: -(H + gamma V / 2), array (2,)."""
        return -(self.curvature + 0.5 * learning_rate * self.total_noise)

    def bound(self):
        """Learning rate above which neither overlap grows; 0 if neither grows at any rate."""
        return max(0.0, -2.0 * float(np.min(self.curvature)) / self.total_noise)

    def variance(self, learning_rate, dimension, steps):
        """Variances of (e, m), array (2,), after T = `steps` steps from (0, 0).

        (gamma/d) v (exp(2 (gamma/d) growth T) - 1) / (2 growth)
        """
        eta, growth = learning_rate / dimension, self.growth(learning_rate)
        exponent = 2.0 * eta * growth * steps
        # expm1(x) / x is smooth through zero growth.
        ratio = np.divide(np.expm1(exponent), exponent, out=np.ones(2), where=np.abs(exponent) > 1e-12)
        return eta**2 * self.noise * steps * ratio

    def semantic_probability(self, learning_rate, dimension, steps):
        """P(|m| > |e|) after `steps` steps: (2/pi) arctan(s_m / s_e)."""
        s_e, s_m = np.sqrt(self.variance(learning_rate, dimension, steps))
        return 2.0 / np.pi * float(np.arctan2(s_m, s_e))

    def escape_step(self, learning_rate, dimension, threshold):
        """Steps, of learning rate `learning_rate` at `dimension` d, after which the variances add up to `threshold`.

        Infinite if neither overlap grows, 1 if the first step is enough.
        """
        growth = float(np.max(self.growth(learning_rate)))
        if growth <= 0:
            return np.inf

        def excess(log_steps):
            return np.log(np.sum(self.variance(learning_rate, dimension, np.exp(log_steps)))) - np.log(threshold)

        if excess(0.0) >= 0.0:
            return 1.0
        # Exp(100) of growth is far beyond any threshold.
        return float(np.exp(brentq(excess, 0.0, np.log(50.0 * dimension / (learning_rate * growth)))))


def linear_theory(problem, nodes, batch=1) -> LinearTheory:
    """Curvatures, and noise of steps of a `batch`, of the `problem` at the uninformed start; `nodes`: GaussianNodes in 4-d.

    By Stein's lemma the curvatures need first derivatives of the loss only, so that the
    kink of the norm at T = S is no obstacle.
    """
    moments = kernels.attention_moments(nodes.points, nodes.weights, 0.0, 0.0, *problem.numbers)
    total = moments[kernels.SQUARE]
    # The tokens have a component of variance 1 along the position, on top of the encoding.
    noise = np.array([total + moments[kernels.POSITION_SQUARE], moments[kernels.TEACHER_SQUARE]])
    curvature = moments[[kernels.CURVATURE_EE, kernels.CURVATURE_MM]]
    return LinearTheory(curvature, noise / batch, float(total) / batch)
