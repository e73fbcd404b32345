"""The proximal operator of the squared error of a softmax, at its global minimum.

    u(y, omega) = argmin_u  ||y - softmax(beta u)||_F^2 + ||u - omega||_F^2 / (4 V),

u and omega symmetric M x M without their constant part, which does not change the softmax. Coordinates z (k,) refer to an
orthonormal basis E (k, M, M) of these matrices, k = M (M + 1) / 2 - 1. With P = softmax(beta u) by rows, R = P - y and D_l = E_l
- (P E_l^T)_aa by rows,

    gradient_l = 2 beta sum_ab R_ab P_ab D_l,ab,    Hessian_lm = 2 beta^2 sum_ab (P_ab^2 + P_ab (R_ab - r_a)) D_l,ab D_m,ab,

r_a = sum_b R_ab P_ab. Newton's method, with the Gauss-Newton matrix (P_ab^2 alone) where the Hessian is not positive, starts at
omega and at scores that fit y; the lower minimum counts. Derived in this module.
"""

import math
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.solvers.cholesky_kernels import cholesky, solve_factored

# Steps of Newton's method, halvings of a step, and its last step, relative.
_STEPS, _HALVINGS, _LAST = 200, 40, 1e-5
# Decrease that a step must reach, in units of the one that its slope predicts.
_DECREASE = 1e-4
# Columns of the results.
LOSS, DIVERGENCE, SQUARES, FAILED, COUNT = range(5)


class Model(NamedTuple):
    """The objective of all outputs: basis E (k, M, M), beta and V."""

    basis: np.ndarray
    beta: float
    V: float


class Space(NamedTuple):
    """Work space of Newton's method.

    P (M, M), D (k, M); gradient, step and trial (k,); full, positive and factor (k, k).
    """

    P: np.ndarray
    D: np.ndarray
    gradient: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    full: np.ndarray
    positive: np.ndarray
    factor: np.ndarray


@njit(error_model="numpy")
def softmax_rows(z, basis, beta, P):
    """Fill P (M, M) with softmax(beta u) of the scores u = sum_l z_l E_l."""
    tokens = P.shape[0]
    for a in range(tokens):
        largest = -math.inf
        for b in range(tokens):
            score = 0.0
            for m in range(z.size):
                score += z[m] * basis[m, a, b]
            P[a, b] = beta * score
            largest = max(largest, P[a, b])
        total = 0.0
        for b in range(tokens):
            P[a, b] = math.exp(P[a, b] - largest)
            total += P[a, b]
        for b in range(tokens):
            P[a, b] /= total


@njit(error_model="numpy")
def _objective(z, omega, y, model, P):
    """The loss and the objective at z (k,); P (M, M) becomes the softmax at z."""
    softmax_rows(z, model.basis, model.beta, P)
    value = 0.0
    for a in range(P.shape[0]):
        for b in range(P.shape[0]):
            value += (P[a, b] - y[a, b]) ** 2
    distance = 0.0
    for m in range(z.size):
        distance += (z[m] - omega[m]) ** 2
    return value, value + distance / (4.0 * model.V)


@njit(error_model="numpy")
def _curvature(z, omega, y, model, space):
    """Fill the gradient, the Hessian `full` and the Gauss-Newton matrix `positive` of the objective; P is that of z."""
    basis, beta, V = model
    P, D, gradient, full, positive = space.P, space.D, space.gradient, space.full, space.positive
    k, tokens = z.size, P.shape[0]
    for m in range(k):
        gradient[m] = (z[m] - omega[m]) / (2.0 * V)
        for n in range(m + 1):
            full[m, n] = positive[m, n] = 1.0 / (2.0 * V) if m == n else 0.0
    for a in range(tokens):
        r = 0.0
        for b in range(tokens):
            r += (P[a, b] - y[a, b]) * P[a, b]
        for m in range(k):
            mean = 0.0
            for b in range(tokens):
                mean += P[a, b] * basis[m, a, b]
            for b in range(tokens):
                D[m, b] = basis[m, a, b] - mean
        for b in range(tokens):
            p, R = P[a, b], P[a, b] - y[a, b]
            slope, square, bend = 2.0 * beta * R * p, 2.0 * (beta * p) ** 2, 2.0 * beta**2 * p * (R - r)
            for m in range(k):
                gradient[m] += slope * D[m, b]
                for n in range(m + 1):
                    product = D[m, b] * D[n, b]
                    positive[m, n] += square * product
                    full[m, n] += (square + bend) * product


@njit(error_model="numpy")
def _factor(matrix, factor):
    """Lower factor of a matrix (k, k) given below the diagonal; False where it is not positive."""
    return cholesky(matrix, 0.0, 0.0, 1e-13, factor)


@njit(error_model="numpy")
def _descend(z, omega, y, model, space):
    """Move z to a minimum; returns the objective at its end, and whether the last step was short enough."""
    P, gradient, step, trial = space.P, space.gradient, space.step, space.trial
    value = _objective(z, omega, y, model, P)[1]
    for _ in range(_STEPS):
        _curvature(z, omega, y, model, space)
        newton = _factor(space.full, space.factor)
        if not newton:
            _factor(space.positive, space.factor)
        solve_factored(space.factor, gradient, step)
        slope, largest, size = 0.0, 0.0, 1.0
        for m in range(z.size):
            slope += gradient[m] * step[m]
            largest, size = max(largest, abs(step[m])), max(size, abs(z[m]))
        if newton and largest <= _LAST * size:
            # The error is the square of this last step.
            for m in range(z.size):
                z[m] -= step[m]
            return value, True
        length = 1.0
        for _ in range(_HALVINGS):
            for m in range(z.size):
                trial[m] = z[m] - length * step[m]
            new = _objective(trial, omega, y, model, P)[1]
            if new <= value - _DECREASE * length * slope:
                break
            length *= 0.5
        if not new < value:
            # The rounding of the objective hides the last steps.
            _objective(z, omega, y, model, P)
            return value, largest <= 1e-6 * size
        for m in range(z.size):
            z[m] = trial[m]
        value = new
    return value, False


@njit(error_model="numpy")
def proximal(omega, fits, outputs, basis, beta, V, displacement, results):
    """Fill the `displacement` u - omega (n, k) and `results` (n, COUNT) at omega and `fits` (n, k) and outputs y (n, M, M).

    The results are the loss ||y - softmax(beta u)||^2, the divergence and the squared norm of d(u - omega) / d omega, and whether
    Newton's method failed.
    """
    count, k = omega.shape
    tokens = outputs.shape[1]
    model, found = Model(basis, beta, V), np.empty(k)
    space = Space(
        np.empty((tokens, tokens)), np.empty((k, tokens)), np.empty(k), np.empty(k), np.empty(k),
        np.empty((k, k)), np.empty((k, k)), np.empty((k, k)),
    )  # fmt: skip
    gradient, step = space.gradient, space.step
    for i in range(count):
        y, w, z = outputs[i], omega[i], displacement[i]
        low, good = math.inf, False
        for start in range(2):
            for m in range(k):
                found[m] = w[m] if start == 0 else fits[i, m]
            value, fine = _descend(found, w, y, model, space)
            if start == 0 or value < low or not good:
                low, good = value, fine
                for m in range(k):
                    z[m] = found[m]
        results[i, FAILED] = not good
        results[i, LOSS] = _objective(z, w, y, model, space.P)[0]
        _curvature(z, w, y, model, space)
        if not _factor(space.full, space.factor):
            _factor(space.positive, space.factor)
        # d u / d omega = Hessian^-1 / (2 V).
        results[i, DIVERGENCE] = results[i, SQUARES] = 0.0
        for m in range(k):
            for n in range(k):
                gradient[n] = 0.5 / V if m == n else 0.0
            solve_factored(space.factor, gradient, step)
            step[m] -= 1.0
            results[i, DIVERGENCE] += step[m]
            for n in range(k):
                results[i, SQUARES] += step[n] ** 2
        for m in range(k):
            z[m] -= w[m]
