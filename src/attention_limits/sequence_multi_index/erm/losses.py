"""Losses of empirical risk minimisation: a loss of the output, applied to a student.

The student is a link that offers its derivatives (`Link.student`). Its output f(z) reads its fields z = W x / sqrt(D), P x M.

    square          1/2 |y - f(z)|^2, any student
    logistic        log(1 + exp(-y f(z))), a student with one output
    hinge           max(0, 1 - y z), the link `linear` with one field
    cross_entropy   -sum_p y_p log softmax_p(z), the link `linear` with several rows, sum over tokens

These are the usual losses; all derivatives are derived in this module.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit  # noqa: TID251
from numba.core.errors import NumbaError

from attention_limits.pipeline.base.user_files import object_of_file
from attention_limits.sequence_multi_index.erm.kernels import (
    fixed_loss_kernels,
    jet_kernels,
    loss_kernels,
    prox_kernels,
)
from attention_limits.sequence_multi_index.erm.students import problem_of
from attention_limits.sequence_multi_index.links.link import Link

CODES = {
    "square": loss_kernels.SQUARE, "logistic": loss_kernels.LOGISTIC, "hinge": loss_kernels.HINGE,
    "cross_entropy": loss_kernels.CROSS_ENTROPY,
}  # fmt: skip
# By the kind in `Link.student`, and for a case of it: the loss, its proximal operator and its values for many outputs.
KINDS = {
    "linear": (loss_kernels.linear, fixed_loss_kernels.prox_linear, fixed_loss_kernels.values_linear),
    "attention": (loss_kernels.of_attention, fixed_loss_kernels.prox_attention, fixed_loss_kernels.values_attention),
    # One tied softmax layer that reads two tokens: the same loss as "attention", without jets.
    "two tokens": (
        loss_kernels.of_two_tokens,
        fixed_loss_kernels.prox_two_tokens,
        fixed_loss_kernels.values_two_tokens,
    ),
    "polynomial": (
        loss_kernels.of_polynomial,
        fixed_loss_kernels.prox_polynomial,
        fixed_loss_kernels.values_polynomial,
    ),
}
SIGNS = {"none": prox_kernels.NO_SIGN, "all": prox_kernels.ALL_SIGNS, "rows": prox_kernels.ROW_SIGNS}
# Fields of the checks of a user's loss, and relative difference of its derivatives from central differences.
CHECKED, STEP, ACCURACY = 64, 1e-5, 1e-4
# Scales, along random rays, at which a loss below -LOWEST counts as unbounded.
FAR, LOWEST = (1e3, 1e6), 1e2
# Fields so many times larger than normal ones must have a finite loss: a proximal operator visits them.
WIDER = 4.0
# Characters of a message of numba that are shown.
LONGEST = 300


@dataclass(frozen=True)
class Loss:
    """A loss l(y, z) of outputs y (K,) and fields z (P M,), rows after each other.

    Attributes
    ----------
    name : str
    function, prox, values : compiled functions
        The loss, its proximal operator and its values for many outputs; see `loss_kernels` and `prox_kernels`.
    parameters : array
        Its parameters.
    rows, tokens : int
        P and M of the student.
    signs : int
        Changes of sign of the fields that do not change the loss: NO_SIGN, ALL_SIGNS or ROW_SIGNS of `prox_kernels`.
    convex : bool
        Whether l is convex and smooth in z: then the proximal operator cannot jump.
    slots : int
        Jets that the function needs.
    """

    name: str
    function: Callable
    prox: Callable
    values: Callable
    parameters: np.ndarray
    rows: int
    tokens: int
    signs: int
    convex: bool
    slots: int

    @property
    def fields(self) -> int:
        """P M."""
        return self.rows * self.tokens

    @property
    def kinked(self) -> bool:
        """Whether the proximal operator has the closed form of the hinge."""
        return self.name == "hinge"


def make_loss(name: str, student: Link, project: Path = Path()) -> Loss:
    """The loss of this name.

    Parameters
    ----------
    name : str
        A key of `CODES`, or path/to/file.py:name of a function that numba has compiled,
        name(y, z, gradient, hessian) -> value, below the folder `project`. It need not be smooth in y.
    student : Link
        For a user's loss only its sizes and its symmetry matter.

    Raises
    ------
    ValueError
        If there is no such loss, if it does not fit the student, or if a user's loss fails `checked`.
    """
    problem = problem_of(name, student)
    if problem:
        raise ValueError(problem)
    if name not in CODES:
        return _of_user(name, student, project)
    if student.student is None:
        return _of_compiled(name, student)
    kind, settings = student.student
    parameters = np.array([CODES[name], 1.0, student.tokens, *settings], dtype=float)
    slots = jet_kernels.slots(parameters[loss_kernels.STUDENT :]) if kind == "attention" else 2
    if kind == "attention" and jet_kernels.is_tied_softmax_of_two(settings):
        kind, slots = "two tokens", 0
    signs = SIGNS[student.sign_symmetry]
    if kind == "polynomial" and student.tokens == 1 and signs == prox_kernels.ALL_SIGNS and student.rows == 1:
        signs = prox_kernels.ROW_SIGNS
    convex = kind == "linear" and name != "hinge"
    return Loss(name, *KINDS[kind], parameters, student.rows, student.tokens, signs, convex, slots)


def _of_compiled(name: str, student: Link) -> Loss:
    """The square or logistic loss of a student of the user with compiled derivatives."""
    # A dispatcher in a class binds to the link as a method.
    function = getattr(student.derivatives, "__func__", student.derivatives)
    if not hasattr(function, "py_func"):
        raise ValueError(f"derivatives of {type(student).__name__} must be a function compiled by numba (@numba.njit)")
    size = student.forward(np.zeros((1, student.rows, student.tokens))).size
    fields, logistic = student.rows * student.tokens, name == "logistic"

    # Without the cache, which would not notice an edit of the user's file.
    @njit
    def loss(y, z, parameters, gradient, hessian, table):
        value, first, second = np.zeros(size), np.zeros((size, fields)), np.zeros((size, fields, fields))
        function(z, value, first, second)
        total = 0.0
        for i in range(fields):
            gradient[i] = 0.0
            for j in range(fields):
                hessian[i, j] = 0.0
        for k in range(size):
            if logistic:
                margin = y[k] * value[k]
                small = np.exp(-abs(margin))
                wrong = small / (1.0 + small) if margin > 0 else 1.0 / (1.0 + small)
                slope, curvature = -y[k] * wrong, y[k] ** 2 * wrong * (1.0 - wrong)
                total += np.log1p(small) + max(-margin, 0.0)
            else:
                slope, curvature = value[k] - y[k], 1.0
                total += 0.5 * slope**2
            for i in range(fields):
                gradient[i] += slope * first[k, i]
                for j in range(fields):
                    hessian[i, j] += curvature * first[k, i] * first[k, j] + slope * second[k, i, j]
        return total

    return _uncached(name, loss, student)


def _uncached(name, loss, student):
    """The `Loss` of a compiled function of the user."""

    def prox(*arguments):
        return prox_kernels.prox(loss, *arguments)

    def values(*arguments):
        return loss_kernels.values_of(loss, *arguments)

    empty, signs = np.zeros(1), SIGNS[student.sign_symmetry]
    return Loss(name, loss, prox, values, empty, student.rows, student.tokens, signs, False, 1)


def _of_user(name: str, student: Link, project: Path) -> Loss:
    kind = "function {} compiled by numba (@numba.njit)"
    function = object_of_file("loss", name, project, kind, lambda found: hasattr(found, "py_func"))

    # Without the cache, which would not notice an edit of the user's file.
    @njit
    def loss(y, z, parameters, gradient, hessian, table):
        return function(y, z, gradient, hessian)

    return _uncached(name, loss, student)


def values(loss: Loss, outputs, fields):
    """Loss (N,) and its gradient (N, P M) of outputs (N, K) at fields (N, P M)."""
    return loss.values(outputs, fields, loss.parameters, loss.slots)


def hessians(loss: Loss, outputs, fields):
    """Hessians (N, P M, P M) of the loss of outputs (N, K) with respect to the fields (N, P M)."""
    return loss_kernels.hessians_of(loss.function, outputs, fields, loss.parameters, loss.slots)


def checked(loss: Loss, outputs) -> str:
    """The problem of a loss at these outputs (N, K), with the example, or an empty text.

    It must be a finite function of outputs and fields that changes neither, bounded below, and its gradient and Hessian must be
    its derivatives.
    """
    rng = np.random.default_rng(0)
    outputs = np.resize(outputs, (CHECKED, outputs.shape[1]))
    fields = rng.standard_normal((CHECKED, loss.fields))
    given = outputs.copy(), fields.copy()
    try:
        value, gradient = values(loss, *given)
    except NumbaError as error:
        # The first lines name the error, the others places in our code.
        return f"numba cannot compile it as loss(y, z, gradient, hessian) -> number: {' '.join(str(error).split())[:LONGEST]}"
    if not (np.array_equal(given[0], outputs) and np.array_equal(given[1], fields)):
        return "the loss changes the outputs or the fields that it gets"
    again, _ = values(loss, outputs, fields)
    if not np.array_equal(again, value, equal_nan=True):
        k = int(np.argmax(again != value))
        return (
            f"the loss is random: {value[k]:g} and {again[k]:g} at y = {outputs[k].tolist()}, z = {fields[k].tolist()}"
        )
    second = hessians(loss, outputs, fields)
    for k in range(CHECKED):
        example = f"at y = {outputs[k].tolist()}, z = {fields[k].tolist()}"
        if not (np.isfinite(value[k]) and np.all(np.isfinite(gradient[k])) and np.all(np.isfinite(second[k]))):
            return f"the loss or a derivative is not finite {example}"
        for i, unit in enumerate(STEP * np.eye(loss.fields)):
            (up, down), slopes = values(loss, outputs[[k, k]], np.stack([fields[k] + unit, fields[k] - unit]))
            slope, column = (up - down) / (2 * STEP), (slopes[0] - slopes[1]) / (2 * STEP)
            if abs(slope - gradient[k, i]) > ACCURACY * (1 + abs(slope)):
                return f"the gradient is not the derivative of the loss {example}: {gradient[k, i]:g}, not {slope:g}"
            if np.any(np.abs(column - second[k][i]) > ACCURACY * (1 + np.abs(column))):
                return f"the Hessian is not the derivative of the gradient {example}"
    near, _ = values(loss, outputs, WIDER * fields)
    if not np.all(np.isfinite(near)):
        k = int(np.argmin(np.isfinite(near)))
        return f"the loss is not finite at y = {outputs[k].tolist()}, z = {(WIDER * fields[k]).tolist()}: {near[k]:g}"
    for scale in FAR:
        far, _ = values(loss, outputs, scale * fields)
        if np.any(far < -LOWEST):
            k = int(np.nanargmin(far))
            example = f"y = {outputs[k].tolist()}, z = {(scale * fields[k]).tolist()}"
            return f"the loss is not bounded below: {far[k]:g} at {example}"
    return _constant(loss, outputs, fields)


def _constant(loss, outputs, fields):
    """Whether the loss does not depend on the fields or on the outputs, with the example, or an empty text."""
    one, same = (np.broadcast_to(x[:1], x.shape).copy() for x in (outputs, fields))
    by_fields, by_outputs = values(loss, one, fields)[0], values(loss, outputs, same)[0]
    if np.ptp(by_fields) == 0:
        return f"the loss does not depend on the fields: {by_fields[0]:g} at y = {outputs[0].tolist()} and all z"
    if np.ptp(by_outputs) == 0 and np.ptp(outputs) > 0:
        return f"the loss does not depend on the output: {by_outputs[0]:g} at z = {fields[0].tolist()} and all y"
    return ""


def checked_student(student: Link) -> str:
    """The problem of the compiled `derivatives` of a `student`, with the example, or an empty text.

    Their output must be that of `forward`, and the others its derivatives.
    """
    function = getattr(student.derivatives, "__func__", student.derivatives)
    rng, n = np.random.default_rng(0), student.rows * student.tokens
    size = student.forward(np.zeros((1, student.rows, student.tokens))).size

    def at(z):
        found = np.full(size, np.nan), np.full((size, n), np.nan), np.full((size, n, n), np.nan)
        given = z.copy()
        function(given, *found)
        return *found, np.array_equal(given, z)

    for z in rng.standard_normal((CHECKED, n)):
        where = f"at z = {z.tolist()}"
        try:
            value, first, second, kept = at(z)
        except NumbaError as error:
            text = " ".join(str(error).split())[:LONGEST]
            return f"numba cannot compile derivatives(z, value, gradient, hessian): {text}"
        if not kept:
            return "derivatives changes the fields that it gets"
        expected = student.forward(z.reshape(1, student.rows, student.tokens)).ravel()
        if not np.allclose(value, expected, rtol=ACCURACY, atol=ACCURACY):
            return f"derivatives and forward differ {where}: {value.tolist()} and {expected.tolist()}"
        for i, unit in enumerate(STEP * np.eye(n)):
            up, down = at(z + unit), at(z - unit)
            slope, column = (up[0] - down[0]) / (2 * STEP), (up[1] - down[1]) / (2 * STEP)
            if not np.all(np.abs(slope - first[:, i]) <= ACCURACY * (1 + np.abs(slope))):
                return f"the gradient is not the derivative of the output {where}: {first[:, i].tolist()}, not {slope.tolist()}"
            if not np.all(np.abs(column - second[:, :, i]) <= ACCURACY * (1 + np.abs(column))):
                return f"the Hessian is not the derivative of the gradient {where}"
    return ""
