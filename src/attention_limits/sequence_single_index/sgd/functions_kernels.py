"""Students and targets of the fields of a sequence, compiled: outputs, derivatives and the gradient of a loss.

The gradient has the coefficients D_l = sum_p (dl/df_p) (df_p/dz_l), with the derivatives of the student f by dual numbers, or by
a function that the user gives. A function takes the tuple z = (z_1 ... z_L) and returns a number, or a tuple or list of P
numbers (arXiv:2506.02651).
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload, register_jitable
from numba.np.unsafe.ndarray import to_fixed_tuple

from attention_limits.numerics.dual_numbers import DualType, seeded, slope_of, value_of

# Losses of outputs f and target y: |y - f|^2 / 2, |y - f|^2, |y - f|, and sum_p log(1 + exp(-y_p f_p)).
HALF_SQUARE, SQUARE, NORM, LOGISTIC = range(4)


def store(found, values, slopes, at):
    """Write the numbers or dual numbers `found` into `values` and `slopes`, from the index `at` on, in compiled code."""


@overload(store)
def _store(found, values, slopes, at):
    if isinstance(found, DualType | types.Number | types.Boolean):

        def number(found, values, slopes, at):
            values[at], slopes[at] = value_of(found), slope_of(found)

        return number
    if isinstance(found, types.BaseTuple):
        if len(found) == 0:
            return lambda found, values, slopes, at: None

        def first_and_rest(found, values, slopes, at):
            store(found[0], values, slopes, at)
            store(found[1:], values, slopes, at + 1)

        return first_and_rest

    def sequence(found, values, slopes, at):
        for i in range(len(found)):
            store(found[i], values, slopes, at + i)

    return sequence if isinstance(found, types.List) else None


def make_values(function, tokens):
    """(z (L,), values (P,), spare (P,)) -> None, writes the outputs of a jitted `function` of L = `tokens` fields."""

    @njit(nogil=True)
    def write(z, values, spare):
        store(function(to_fixed_tuple(z, tokens)), values, spare, 0)

    return write


def make_slopes(function, gradient, tokens):
    """(z (L,), l, values (P,), slopes (P,)) -> None, writes outputs and their derivatives with respect to z_l.

    The jitted `gradient`, of (z, l), may be None: the jitted `function` of L = `tokens` fields is then differentiated.
    """

    @njit(nogil=True)
    def automatic(z, token, values, slopes):
        store(function(seeded(to_fixed_tuple(z, tokens), token)), values, slopes, 0)

    @njit(nogil=True)
    def given(z, token, values, slopes):
        fields = to_fixed_tuple(z, tokens)
        store(function(fields), values, slopes, 0)
        # Floats have slope zero, which must not overwrite the values.
        store(gradient(fields, token), slopes, np.empty(len(slopes)), 0)

    return automatic if gradient is None else given


@register_jitable
def loss_slopes(loss, y, f, slopes):
    """Write the derivatives of the loss with respect to the outputs f (P,) at the target y (P,) into `slopes` (P,)."""
    if loss == LOGISTIC:
        for p in range(len(y)):
            slopes[p] = -y[p] / (1.0 + math.exp(y[p] * f[p]))
        return
    square = 0.0
    for p in range(len(y)):
        slopes[p] = f[p] - y[p]
        square += slopes[p] * slopes[p]
    scale = 1.0
    if loss == SQUARE:
        scale = 2.0
    elif loss == NORM:
        # At y = f the norm has no derivative; its minimum is reached.
        scale = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
    for p in range(len(y)):
        slopes[p] *= scale


def make_gradient(target, student, loss, tokens, outputs):
    """(z* (L,), z (L,), y, f, slopes, out (P,), D (L,)) -> None, writes D of one sequence.

    `target`, `student`, `loss`, `tokens` and `outputs` as in `any_student_kernels.make_update`.
    """

    @njit(nogil=True)
    def gradient(star, z, y, f, slopes, out, D):
        target(star, y, out)
        for token in range(tokens):
            student(z, token, f, out)
            if token == 0:
                loss_slopes(loss, y, f, slopes)
            total = 0.0
            for p in range(outputs):
                total += slopes[p] * out[p]
            D[token] = total

    return gradient
