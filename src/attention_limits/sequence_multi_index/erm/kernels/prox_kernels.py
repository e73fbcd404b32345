"""The proximal operator of a loss of P M fields, at its global minimum.

    z_hat(y, omega) = argmin_z  1/2 sum_a (z_a - omega_a)^T V^-1 (z_a - omega_a) + l(y, z)

Newton's method runs in whitened coordinates, z = omega + L x with V = L L^T, where the first term is |x|^2 / 2. A shift of the
Hessian makes it positive and shortens steps that do not descend (Levenberg-Marquardt). A loss of several wells is minimised from
several starts; the lowest minimum counts. The derivatives of the minimum are derived in this module.
"""

from typing import NamedTuple

import numpy as np
from numba import types

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.solvers.cholesky_kernels import cholesky, solve_factored
from attention_limits.sequence_multi_index.erm.kernels.loss_kernels import LOSS, ONE, THREE, TWO

# Steps of Newton's method, and the step, in whitened units, after which the next one would change nothing.
MAX_STEPS, LAST_STEP = 100, 1e-8
# Changes of sign that leave the loss unchanged: none, of all fields together, of every row separately.
NO_SIGN, ALL_SIGNS, ROW_SIGNS = range(3)
# Whitened distance of the further starts from omega, and where they are used; WHERE_BENT: see `prox`.
REACH = 2.0
NO_FURTHER, WHERE_BENT, EVERYWHERE = range(3)


class Space(NamedTuple):
    """Work space of Newton's method in n variables.

    z, slope, gradient, gradient_2, step and trial (n,); hessian, hessian_2, curvature, middle and factor (n, n); table, the jets
    of the loss. A name with _2 is that of the trial point. `hessian` is the whitened one.
    """

    z: np.ndarray
    slope: np.ndarray
    gradient: np.ndarray
    gradient_2: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    hessian: np.ndarray
    hessian_2: np.ndarray
    curvature: np.ndarray
    middle: np.ndarray
    factor: np.ndarray
    table: np.ndarray


@njit(error_model="numpy")
def _solve_shifted(matrix, shift, vector, factor, solution):
    """Solution of (matrix + shift I) x = vector; False where the sum is not positive."""
    if not cholesky(matrix, shift, 1e-12, 0.0, factor):
        return False
    solve_factored(factor, vector, solution)
    return True


@njit(error_model="numpy", cache=False)
def _whitened(loss, y, omega, root, x, parameters, tokens, space):
    """|x|^2 / 2 + l(y, omega + L x), and l alone; writes the gradient and the Hessian in x of the trial point.

    z is left at omega + L x.
    """
    z, slope, curvature, middle = space.z, space.slope, space.curvature, space.middle
    gradient, hessian = space.gradient_2, space.hessian_2
    n = x.size
    rows = n // tokens
    for p in range(rows):
        for a in range(tokens):
            moved = omega[p * tokens + a]
            for q in range(p + 1):
                moved += root[p, q] * x[q * tokens + a]
            z[p * tokens + a] = moved
    value = loss(y, z, parameters, slope, curvature, space.table)
    if rows == 1:
        scale = root[0, 0]
        for i in range(n):
            gradient[i] = x[i] + scale * slope[i]
            for j in range(n):
                hessian[i, j] = scale * scale * curvature[i, j]
    else:
        for q in range(rows):
            for a in range(tokens):
                total = x[q * tokens + a]
                for p in range(q, rows):
                    total += root[p, q] * slope[p * tokens + a]
                gradient[q * tokens + a] = total
        for i in range(n):
            for s in range(rows):
                for b in range(tokens):
                    total = 0.0
                    for r in range(s, rows):
                        total += curvature[i, r * tokens + b] * root[r, s]
                    middle[i, s * tokens + b] = total
        for j in range(n):
            for q in range(rows):
                for a in range(tokens):
                    total = 0.0
                    for p in range(q, rows):
                        total += root[p, q] * middle[p * tokens + a, j]
                    hessian[q * tokens + a, j] = total
    squares = 0.0
    for i in range(n):
        hessian[i, i] += 1.0
        squares += x[i] * x[i]
    return 0.5 * squares + value, value


@njit(error_model="numpy", cache=False)
def minimise(loss, y, omega, root, x, parameters, tokens, space):
    """Minimum of the whitened objective that Newton's method reaches from x, which becomes the minimum.

    Output y, omega (n,), root L, parameters of the loss, number of tokens M. Returns the objective, the loss alone, whether the
    last step was a small one, and whether the Hessian was positive at every step. At the end `space.hessian` is that of x.
    """
    gradient, gradient_2, hessian, hessian_2 = space.gradient, space.gradient_2, space.hessian, space.hessian_2
    step, trial = space.step, space.trial
    n = x.size
    value, plain = np.inf, np.inf
    shift, descent, length, bowl = 0.0, 0.0, 0.0, True
    for i in range(n):
        trial[i] = x[i]
    for count in range(MAX_STEPS + 1):
        value_2, plain_2 = _whitened(loss, y, omega, root, trial, parameters, tokens, space)
        # Rounding decides the sign of the smallest changes.
        if count == 0 or value_2 <= value - 1e-4 * descent + 1e-13 * (1.0 + abs(value)):
            value, plain = value_2, plain_2
            for i in range(n):
                x[i] = trial[i]
                gradient[i] = gradient_2[i]
                for j in range(n):
                    hessian[i, j] = hessian_2[i, j]
            if count > 0 and shift == 0.0 and length < LAST_STEP:
                return value, plain, True, bowl
            shift = 0.0 if shift < 0.05 else 0.25 * shift
        else:
            if length < LAST_STEP:
                return value, plain, True, bowl
            shift = max(4.0 * shift, 0.25)
        while not _solve_shifted(hessian, shift, gradient, space.factor, step):
            bowl = False
            shift = max(2.0 * shift, 0.1)
            if not shift < 1e12:
                return value, plain, False, bowl
        length, descent = 0.0, 0.0
        for i in range(n):
            trial[i] = x[i] - step[i]
            length = max(length, abs(step[i]))
            descent += gradient[i] * step[i]
    return value, plain, False, bowl


@njit(error_model="numpy")
def _towards(z, omega, inverse, signs, tokens):
    """Change signs of z, without a change of the loss, so that z comes closest to omega."""
    rows = z.size // tokens
    if signs == ROW_SIGNS:
        for p in range(rows):
            product = 0.0
            for a in range(tokens):
                product += z[p * tokens + a] * omega[p * tokens + a]
            if product < 0.0:
                for a in range(tokens):
                    z[p * tokens + a] *= -1.0
    elif signs == ALL_SIGNS:
        product = 0.0
        for p in range(rows):
            for q in range(rows):
                for a in range(tokens):
                    product += z[p * tokens + a] * inverse[p, q] * omega[q * tokens + a]
        if product < 0.0:
            for i in range(z.size):
                z[i] *= -1.0


@njit(error_model="numpy")
def _enter(z, omega, root, tokens, x):
    """Whitened coordinates x = L^-1 (z - omega)."""
    for p in range(z.size // tokens):
        for a in range(tokens):
            rest = z[p * tokens + a] - omega[p * tokens + a]
            for q in range(p):
                rest -= root[p, q] * x[q * tokens + a]
            x[p * tokens + a] = rest / root[p, p]


def prox(loss, y, anchors, omega, root, inverse, signs, further, parameters, tokens, slot_count):
    """Global minima for many outputs.

    Outputs y (N, K); anchors (N, S, n), further starts beside omega, such as points that fit y; omega (N, n) with n = P M,
    rows after each other; root L and inverse V^-1 (P, P); `signs` and parameters of the loss; M tokens; `slot_count` jets in
    its table. `further` determines where the minimisation also starts at omega +- REACH L e_i: nowhere, where the other starts
    disagree or one of them met a Hessian that is not positive, or everywhere.

    Returns z_hat (N, n), g = V^-1 (z_hat - omega) (N, n), dg/domega = -H (1 + V H)^-1 (N, n, n) with H the Hessian of the loss
    at z_hat, the minimum (N,), the loss at z_hat (N,), and whether Newton's method ended (N,).
    """
    count, n = omega.shape
    space = Space(
        np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n),
        np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)),
        np.zeros((slot_count, 1 + n + n * (n + 1) // 2)),
    )  # fmt: skip
    x, start, best = np.zeros(n), np.zeros(n), np.zeros(n)
    point, slope, jacobian = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, n, n))
    envelope, plain, ended = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.bool_)
    hessian = np.zeros((n, n))
    rows = n // tokens
    some, every = 1 + anchors.shape[1], 1 + anchors.shape[1] + 2 * n
    for k in range(count):
        lowest, highest, bowls = np.inf, -np.inf, True
        output, centre = y[k], omega[k]
        for s in range(every if further != NO_FURTHER else some):
            if s == 0:
                x[:] = 0.0
            elif s < some:
                for i in range(n):
                    start[i] = anchors[k, s - 1, i]
                _towards(start, centre, inverse, signs, tokens)
                _enter(start, centre, root, tokens, x)
            else:
                if further == WHERE_BENT and bowls and highest - lowest < 1e-9 * (1.0 + abs(lowest)):
                    break
                x[:] = 0.0
                x[(s - some) // 2] = REACH if (s - some) % 2 == 0 else -REACH
            value, loss_alone, done, bowl = minimise(loss, output, centre, root, x, parameters, tokens, space)
            highest, bowls = max(highest, value), bowls and bowl
            # A later start must win by more than rounding, so that equal wells give one answer.
            if s == 0 or value < lowest - 1e-12 * (1.0 + abs(lowest)):
                lowest, plain[k], ended[k] = value, loss_alone, done
                for i in range(n):
                    best[i] = x[i]
                    for j in range(n):
                        hessian[i, j] = space.hessian[i, j]
        envelope[k] = lowest
        for p in range(rows):
            for a in range(tokens):
                moved = omega[k, p * tokens + a]
                for q in range(p + 1):
                    moved += root[p, q] * best[q * tokens + a]
                point[k, p * tokens + a] = moved
        for p in range(rows):
            for a in range(tokens):
                total = 0.0
                for q in range(rows):
                    for r in range(q + 1):
                        total += inverse[p, q] * root[q, r] * best[r * tokens + a]
                slope[k, p * tokens + a] = total
        _jacobian(hessian, root, tokens, space, jacobian[k])
    return point, slope, jacobian, envelope, plain, ended


@njit(error_model="numpy")
def _jacobian(hessian, root, tokens, space, out):
    """Write dg/domega (n, n) of one output, -L^-T (1 - K^-1) L^-1 with K the whitened Hessian, into `out`."""
    n = hessian.shape[0]
    rows = n // tokens
    unit, solution, inner, factor = space.z, space.slope, space.curvature, space.factor
    for j in range(n):
        for i in range(n):
            unit[i] = 1.0 if i == j else 0.0
        if not _solve_shifted(hessian, 0.0, unit, factor, solution):
            out[0, 0] = np.nan
            return
        for i in range(n):
            inner[i, j] = solution[i] - (1.0 if i == j else 0.0)
    for side in range(2):
        # Solve L^T from the left, then from the right.
        for j in range(n):
            for p in range(rows - 1, -1, -1):
                for a in range(tokens):
                    i = p * tokens + a
                    rest = inner[i, j] if side == 0 else inner[j, i]
                    for q in range(p + 1, rows):
                        rest -= root[q, p] * (inner[q * tokens + a, j] if side == 0 else inner[j, q * tokens + a])
                    if side == 0:
                        inner[i, j] = rest / root[p, p]
                    else:
                        inner[j, i] = rest / root[p, p]
    for i in range(n):
        for j in range(n):
            out[i, j] = inner[i, j]


def make_prox():
    """`prox` for every loss of the type `loss_kernels.LOSS`."""
    found = types.Tuple([TWO, TWO, THREE, ONE, ONE, types.Array(types.boolean, 1, "C")])
    arguments = types.FunctionType(LOSS), TWO, THREE, TWO, TWO, TWO, types.intp, types.intp, ONE, types.intp, types.intp
    return njit(signature_or_function=found(*arguments), error_model="numpy")(prox)
