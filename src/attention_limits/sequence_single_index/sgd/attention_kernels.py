"""The attention student of two tokens: one step of online SGD in the space of its overlaps, and the moments of its gradient.

`fixed_students_kernels` gives the arguments of every update, and the law of the overlaps (arXiv:2506.02651).
"""

import math

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.simd.float64_lanes import exp, full, load, maximum, sqrt, store
from attention_limits.sequence_single_index.sgd.lanes_kernels import run_lanes

# Losses of attention.
FROBENIUS, HALF_SQUARE = 0, 1
# Indices of the parameters of the update.
ETA, BATCH, OMEGA, ABAR, LOSS = range(5)
# Indices into the result of `attention_moments`.
TEACHER, POSITION, REST, FIELD, SQUARE, TEACHER_SQUARE, POSITION_SQUARE, CURVATURE_EE, CURVATURE_MM = range(9)


@njit(inline="always")
def diagonal(x, y):
    """First diagonal entry of softmax(z z^T) for z = (x, y), numbers or lanes."""
    return 1.0 / (1.0 + exp(x * (y - x)))


@njit(inline="always")
def attention_slopes(z_1, z_2, t_1, t_2, loss):
    """Derivatives (D_1, D_2) of the loss between softmax(z z^T) and a target with diagonal (t_1, t_2), by z = (z_1, z_2).

    loss: FROBENIUS, the norm ||T - S||_F, or HALF_SQUARE, half its square. Rows sum to one: ||T - S||^2 = 2 (d_1^2 + d_2^2).
    Numbers or lanes.
    """
    s_1, s_2 = diagonal(z_1, z_2), diagonal(z_2, z_1)
    d_1, d_2 = t_1 - s_1, t_2 - s_2
    a_1, a_2 = -2.0 * d_1 * s_1 * (1.0 - s_1), -2.0 * d_2 * s_2 * (1.0 - s_2)
    if loss == FROBENIUS:
        # At T = S the norm has no derivative; its minimum is reached, and a = 0.
        norm = sqrt(maximum(2.0 * (d_1 * d_1 + d_2 * d_2), 1e-300))
        a_1, a_2 = a_1 / norm, a_2 / norm
    return a_1 * (2.0 * z_1 - z_2) - a_2 * z_2, a_2 * (2.0 * z_2 - z_1) - a_1 * z_1


@njit(nogil=True)
def attention_update(state, draws, chi, at, parameters, learned):
    """Softmax attention of two tokens with positional encoding (+p, -p), positional-semantic target.

    Parameters
    ----------
    state : array (2, lanes)
        Overlaps (e, m), changed in place.
    draws : array (steps * batch * 6, lanes)
        Standard normals of a sequence (a_1, a_2, pi_1, pi_2, xi_1, xi_2): the parts of the tokens along teacher, position and
        the rest of the student.
    chi : array (steps, lanes)
        chi^2 draws, one per step, with d - 3 degrees of freedom.
    at : int
        Number of the step in `draws` and `chi`.
    parameters : array (5,)
        (eta, batch, omega, abar, loss), eta = learning_rate / d; omega, abar and loss as in `attention_moments`.
    learned : array (at least 1, lanes)
        Its first row becomes e^2 + m^2.
    """
    batch, omega, abar, loss = int(parameters[BATCH]), parameters[OMEGA], parameters[ABAR], parameters[LOSS]
    e, m, zero = load(state, 0), load(state, 1), full(0.0)
    b = sqrt(maximum(1.0 - e * e - m * m, 0.0))
    g_m, g_e, g_rest, square = zero, zero, zero, zero
    for i in range(batch):
        row = (at * batch + i) * 6
        a_1, a_2 = load(draws, row), load(draws, row + 1)
        p_1, p_2 = load(draws, row + 2) + 1.0, load(draws, row + 3) - 1.0
        x_1, x_2 = load(draws, row + 4), load(draws, row + 5)
        t_1 = (1.0 - omega) * diagonal(a_1, a_2) + omega * abar
        t_2 = (1.0 - omega) * diagonal(a_2, a_1) + omega * abar
        D_1, D_2 = attention_slopes(m * a_1 + e * p_1 + b * x_1, m * a_2 + e * p_2 + b * x_2, t_1, t_2, loss)
        g_m = g_m + (D_1 * a_1 + D_2 * a_2)
        g_e = g_e + (D_1 * p_1 + D_2 * p_2)
        g_rest = g_rest + (D_1 * x_1 + D_2 * x_2)
        square = square + (D_1 * D_1 + D_2 * D_2)
    eta = parameters[ETA] / batch
    new_e, new_m, new_rest = e - eta * g_e, m - eta * g_m, b - eta * g_rest
    norm = 1.0 / sqrt(new_e * new_e + new_m * new_m + new_rest * new_rest + eta * eta * square * load(chi, at))
    new_e, new_m = new_e * norm, new_m * norm
    store(state, 0, new_e)
    store(state, 1, new_m)
    store(learned, 0, new_e * new_e + new_m * new_m)


@njit(nogil=True)
def run_attention(start, sources, parameters, work, law, ends, found):
    """`fixed_students_kernels.run_lanes` of `attention_update`, in the cache on disk.

    Parameters
    ----------
    start : array (2,)
        Overlaps (e, m) of every replica at the start.
    sources : array (replicas, 4, LANES)
        States of the random numbers, one per replica.
    parameters : array (5,)
        Those of `attention_update`.
    work, law, ends, found : Work, Law, Ends, Found
        Work space, the law of the chi^2 draws, the length and record of a run, and the results, as in
        `fixed_students_kernels.run_lanes`.
    """
    run_lanes(attention_update, start, sources, parameters, work, law, ends, found)


@njit(nogil=True)
def attention_moments(nodes, weights, e, m, omega, abar, loss):
    """Expectations of the attention student's gradient that the flow and its linearisation need.

    Parameters
    ----------
    nodes : array (n, 4)
        (a_1, a_2, zeta_1, zeta_2): the student's fields are m a + e epsilon + sqrt(1 - m^2) zeta, epsilon = (1, -1).
    weights : array (n,)
        Importance weights; expectations are means of weight times value.
    e, m : float
        Overlaps of the student.
    omega, abar : float
        Weight of the positional part of the target, and the diagonal entry of its attention.
    loss : int
        FROBENIUS or HALF_SQUARE.

    Returns
    -------
    array (9,)
        TEACHER E[D . a], POSITION E[D . epsilon], REST E[D . zeta], FIELD E[D . z], SQUARE E|D|^2,
        TEACHER_SQUARE E[(D . a)^2], POSITION_SQUARE E[(D . epsilon)^2], and the two that are curvatures at e = m = 0:
        CURVATURE_EE E[(D . epsilon) (zeta . epsilon)], CURVATURE_MM E sum_kl D_l zeta_k (a_l a_k - delta_lk).
    """
    total = np.zeros(9)
    rest = math.sqrt(max(0.0, 1.0 - m * m))
    for i in range(len(nodes)):
        a_1, a_2, y_1, y_2 = nodes[i, 0], nodes[i, 1], nodes[i, 2], nodes[i, 3]
        z_1, z_2 = m * a_1 + e + rest * y_1, m * a_2 - e + rest * y_2
        t_1 = (1.0 - omega) * diagonal(a_1, a_2) + omega * abar
        t_2 = (1.0 - omega) * diagonal(a_2, a_1) + omega * abar
        D_1, D_2 = attention_slopes(z_1, z_2, t_1, t_2, loss)
        w = weights[i]
        teacher, position, left = D_1 * a_1 + D_2 * a_2, D_1 - D_2, D_1 * y_1 + D_2 * y_2
        total[TEACHER] += w * teacher
        total[POSITION] += w * position
        total[REST] += w * left
        total[FIELD] += w * (D_1 * z_1 + D_2 * z_2)
        total[SQUARE] += w * (D_1 * D_1 + D_2 * D_2)
        total[TEACHER_SQUARE] += w * teacher * teacher
        total[POSITION_SQUARE] += w * position * position
        total[CURVATURE_EE] += w * position * (y_1 - y_2)
        total[CURVATURE_MM] += w * (teacher * (a_1 * y_1 + a_2 * y_2) - left)
    return total / len(nodes)
