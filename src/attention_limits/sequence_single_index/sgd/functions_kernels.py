"""Students and targets of the fields of a sequence, compiled: outputs, derivatives and the gradient of a loss.

The gradient has the coefficients D_l = sum_p (dl/df_p) (df_p/dz_l), with the derivatives of the student f by dual numbers, or by
a function that the user gives. A function takes the tuple z = (z_1 ... z_M) and returns a number, or a tuple or list of P
numbers (arXiv:2506.02651).

Arrays hold the numbers of one sequence, (n,), or of eight side by side, (n, 8): `element` and `put` take both. A function whose
branches depend on the fields runs for one sequence after the other.
"""

import numpy as np
from numba import njit, types
from numba.extending import overload, register_jitable
from numba.np.unsafe.ndarray import to_fixed_tuple

from attention_limits.numerics.simd.dual_numbers import DualType, seeded, slopes_of
from attention_limits.numerics.simd.float64_lanes import WIDTH, exp, full, load, loaded, maximum, sqrt
from attention_limits.numerics.simd.float64_lanes import store as store_lanes

# Losses of outputs f and target y: |y - f|^2 / 2, |y - f|^2, |y - f|, and sum_p log(1 + exp(-y_p f_p)).
HALF_SQUARE, SQUARE, NORM, LOGISTIC = range(4)
# Derivatives that one call of a student gives: more make the compiled code long.
_DIRECTIONS = 8


def element(array, at):
    """The number, or the lanes, at an index of an `array` (n,) or (n, 8)."""
    return array[at]


@overload(element, inline="always")
def _element(array, at):
    return (lambda array, at: array[at]) if array.ndim == 1 else (lambda array, at: load(array, at))


def put(array, at, x):
    """Write a number or lanes x at an index of an `array` (n,) or (n, 8)."""
    array[at] = x


@overload(put)
def _put(array, at, x):
    if array.ndim == 1:

        def number(array, at, x):
            array[at] = x

        return number
    if isinstance(x, types.Number | types.Boolean):
        return lambda array, at, x: store_lanes(array, at, full(float(x)))
    return lambda array, at, x: store_lanes(array, at, x)


def fields_of(z, count):
    """The numbers of the array z (M,) as a tuple, or its lanes (M, 8) as dual numbers without slopes; M = `count`, a constant."""
    return tuple(z[:count])


@overload(fields_of, prefer_literal=True)
def _fields_of(z, count):
    if z.ndim == 1:
        return lambda z, count: to_fixed_tuple(z, count)
    return lambda z, count: seeded(loaded(z, count), 0, 0)


def seeded_fields(z, count, first, directions):
    """As `fields_of` of `z` and `count`, dual numbers with slopes: `dual_numbers.seeded` has `first` and `directions`."""
    return seeded(fields_of(z, count), first, directions)


@overload(seeded_fields, prefer_literal=True)
def _seeded_fields(z, count, first, directions):
    if z.ndim == 1:
        return lambda z, count, first, directions: seeded(to_fixed_tuple(z, count), first, directions)
    return lambda z, count, first, directions: seeded(loaded(z, count), first, directions)


def store(found, values, slopes, at, first, tokens):
    """Write the outputs `found`, numbers or dual numbers, from the index `at` on, in compiled code.

    `values` (P,) take the values, `slopes` (P * M,) the derivatives of output p with respect to z_(first + k), at
    p * M + first + k, M = `tokens`; both also (., 8).
    """


@overload(store)
def _store(found, values, slopes, at, first, tokens):
    if isinstance(found, DualType):
        if found.directions == 0:

            def value(found, values, slopes, at, first, tokens):
                put(values, at, found.value)

            return value

        def dual(found, values, slopes, at, first, tokens):
            put(values, at, found.value)
            place = first
            for slope in slopes_of(found):
                if place < tokens:
                    put(slopes, at * tokens + place, slope)
                place += 1

        return dual
    if isinstance(found, types.Number | types.Boolean):

        def number(found, values, slopes, at, first, tokens):
            put(values, at, found)
            for token in range(tokens):
                put(slopes, at * tokens + token, 0.0)

        return number
    if isinstance(found, types.BaseTuple):
        if len(found) == 0:
            return lambda found, values, slopes, at, first, tokens: None

        def first_and_rest(found, values, slopes, at, first, tokens):
            store(found[0], values, slopes, at, first, tokens)
            store(found[1:], values, slopes, at + 1, first, tokens)

        return first_and_rest

    def sequence(found, values, slopes, at, first, tokens):
        for i in range(len(found)):
            store(found[i], values, slopes, at + i, first, tokens)

    return sequence if isinstance(found, types.List) else None


def make_values(function, tokens):
    """(z (M,), values (P,), spare (P * M,)) -> None, writes the outputs of a jitted `function` of M = `tokens` fields."""

    @njit(nogil=True)
    def write(z, values, spare):
        store(function(fields_of(z, tokens)), values, spare, 0, 0, 0)

    return write


def make_slopes(function, gradient, tokens):
    """(z (M,), values (P,), slopes (P * M,)) -> None, writes outputs and their derivatives, `slopes` as in `store`.

    The jitted `gradient`, of (z, l), may be None: the jitted `function` of M = `tokens` fields is then differentiated.
    """
    directions = min(tokens, _DIRECTIONS)

    @njit(nogil=True)
    def automatic(z, values, slopes):
        for first in range(0, tokens, directions):
            store(function(seeded_fields(z, tokens, first, directions)), values, slopes, 0, first, tokens)

    @njit(nogil=True)
    def given(z, values, slopes):
        fields = fields_of(z, tokens)
        for token in range(tokens):
            store(gradient(fields, token), values, slopes, 0, 0, 0)
            for p in range(len(values)):
                put(slopes, p * tokens + token, element(values, p))
        store(function(fields), values, slopes, 0, 0, 0)

    return automatic if gradient is None else given


def make_each(write, tokens, outputs):
    """`write` of `make_values` or `make_slopes` for eight sequences, one after the other: arrays (M, 8), (P, 8), (P * M, 8).

    For functions whose branches depend on the fields; M = `tokens`, P = `outputs`. A sequence whose fields are NaN gets NaN.
    """

    @njit(nogil=True)
    def each(z, values, slopes):
        one, found, derivatives = np.empty(tokens), np.empty(outputs), np.empty(outputs * tokens)
        for lane in range(WIDTH):
            for token in range(tokens):
                one[token] = z[token, lane]
            if np.isnan(one[0]):
                found[:], derivatives[:] = np.nan, np.nan
            else:
                write(one, found, derivatives)
            for p in range(outputs):
                values[p, lane] = found[p]
            for i in range(outputs * tokens):
                slopes[i, lane] = derivatives[i]

    return each


@register_jitable
def loss_slopes(loss, y, f, slopes):
    """Write the derivatives of the loss with respect to the outputs f (P,) at the target y (P,) into `slopes` (P,)."""
    if loss == LOGISTIC:
        for p in range(len(y)):
            y_p = element(y, p)
            put(slopes, p, -1.0 * y_p / (1.0 + exp(y_p * element(f, p))))
        return
    square = 0.0 * element(y, 0)
    for p in range(len(y)):
        slope = element(f, p) - element(y, p)
        put(slopes, p, slope)
        square = square + slope * slope
    if loss == NORM:
        # At y = f the norm has no derivative; its minimum is reached, and all slopes are zero.
        scale = 1.0 / sqrt(maximum(square, 1e-300))
        for p in range(len(y)):
            put(slopes, p, element(slopes, p) * scale)
    if loss == SQUARE:
        for p in range(len(y)):
            put(slopes, p, 2.0 * element(slopes, p))


def make_gradient(target, student, loss, tokens, outputs):
    """(z* (M,), z (M,), work (P (M + 3),), D (M,)) -> None, writes D of one sequence, or of eight.

    `target`, `student`, `loss`, `tokens` and `outputs` as in `any_student_kernels.make_update`.
    """
    P = outputs

    @njit(nogil=True)
    def gradient(star, z, work, D):
        y, f, slopes, out = work[:P], work[P : 2 * P], work[2 * P : 3 * P], work[3 * P :]
        target(star, y, out)
        student(z, f, out)
        loss_slopes(loss, y, f, slopes)
        for token in range(tokens):
            total = 0.0 * element(slopes, 0)
            for p in range(P):
                total = total + element(slopes, p) * element(out, p * tokens + token)
            put(D, token, total)

    return gradient
