"""Losses of empirical risk minimisation: a loss of the output, applied to a student.

The student is a link that offers its derivatives (`Link.student`). Its output f(z) reads its fields z = W x / sqrt(D), P x M.

    square          1/2 |y - f(z)|^2, any student
    logistic        log(1 + exp(-y f(z))), a student with one output
    hinge           max(0, 1 - y z), the link `linear` with one field
    cross_entropy   -sum_p y_p log softmax_p(z), the link `linear` with several rows, sum over tokens

These are the usual losses; all derivatives are derived in this module.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit  # noqa: TID251
from numba.core.errors import NumbaError

from attention_limits.numerics import compiled
from attention_limits.pipeline.base.user_files import object_of_file
from attention_limits.sequence_multi_index.erm.kernels import jet_kernels, loss_kernels, prox_kernels
from attention_limits.sequence_multi_index.erm.students import problem_of
from attention_limits.sequence_multi_index.links.link import Link

CODES = {
    "square": loss_kernels.SQUARE, "logistic": loss_kernels.LOGISTIC, "hinge": loss_kernels.HINGE,
    "cross_entropy": loss_kernels.CROSS_ENTROPY,
}  # fmt: skip
# By the kind in `Link.student`, and for a case of it.
KINDS = {
    "linear": loss_kernels.linear, "attention": loss_kernels.of_attention,
    # One tied softmax layer that reads two tokens: the same loss as "attention", without jets.
    "two tokens": loss_kernels.of_two_tokens, "polynomial": loss_kernels.of_polynomial,
}  # fmt: skip
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
    function : compiled function
        Of the type `loss_kernels.LOSS`.
    parameters : array
        Its parameters.
    rows, tokens : int
        P and M of the student.
    signs : int
        Changes of sign of the fields that do not change the loss: NO_SIGN, ALL_SIGNS or ROW_SIGNS of `prox_kernels`.
    convex : bool
        Whether l is convex and smooth in z: then the proximal operator cannot jump.
    table_rows : int
        Rows of the table that the function needs.
    """

    name: str
    function: Callable
    parameters: np.ndarray
    rows: int
    tokens: int
    signs: int
    convex: bool
    table_rows: int

    @property
    def fields(self) -> int:
        """P M."""
        return self.rows * self.tokens

    @property
    def kinked(self) -> bool:
        """Whether the proximal operator has the closed form of the hinge."""
        return self.name == "hinge"


def make_loss(name: str, student: Link, project: Path = Path(), outputs: int = 1) -> Loss:
    """The loss of this name.

    Parameters
    ----------
    name : str
        A key of `CODES`, or path/to/file.py:name of a function below the folder `project`: name(y, z) -> value in NumPy, whose
        derivatives JAX finds, or one that numba has compiled, name(y, z, gradient, hessian) -> value. It need not be smooth in y.
    student : Link
        For a user's loss only its sizes and its symmetry matter.
    outputs : int
        K, the numbers of an output y, which a loss in NumPy reads.

    Raises
    ------
    ValueError
        If there is no such loss, if it does not fit the student, or if a user's loss fails `checked`.
    """
    problem = problem_of(name, student)
    if problem:
        raise ValueError(problem)
    if name not in CODES:
        return _of_user(name, student, project, outputs)
    if student.student is None:
        return _of_own_student(name, student)
    kind, settings = student.student
    parameters = np.array([CODES[name], 1.0, student.tokens, *settings], dtype=float)
    slots = jet_kernels.slots(parameters[loss_kernels.STUDENT :]) if kind == "attention" else 2
    if kind == "attention" and jet_kernels.is_tied_softmax_of_two(settings):
        kind, slots = "two tokens", 0
    signs = SIGNS[student.sign_symmetry]
    if kind == "polynomial" and student.tokens == 1 and signs == prox_kernels.ALL_SIGNS and student.rows == 1:
        signs = prox_kernels.ROW_SIGNS
    convex = kind == "linear" and name != "hinge"
    rows = slots * jet_kernels.parts(student.rows * student.tokens)
    return Loss(name, _by_address(KINDS[kind]), parameters, student.rows, student.tokens, signs, convex, rows)


@functools.cache
def _by_address(loss):
    """A provided loss of the one type LOSS: numba crashes when it calls a function of several types by its address."""
    return compiled.njit(signature_or_function=loss_kernels.LOSS, error_model="numpy")(loss.py_func)


def _recorded(what, function, given, fields):
    """`compiled_jet` of a function. Raises ValueError, in which it is called `what`, if it cannot be recorded."""
    try:
        # A late import: JAX takes a second.
        from attention_limits.numerics.tracing.jet import compiled_jet
    except ModuleNotFoundError:
        raise ValueError(
            f"the derivatives of the {what} need JAX: install the extra `training`, or write them"
        ) from None
    try:
        with np.errstate(all="ignore"):
            size = np.size(function(np.ones(given), np.ones(fields)))
        if size == 1:
            return compiled_jet(function, given, fields)
    # A function of a user can fail in every way on an array that records.
    except Exception as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"JAX cannot differentiate the {what}: {text}. Write it with NumPy functions of its arguments, without np.asarray, "
            "float or if on their numbers; or write the derivatives"
        ) from None
    raise ValueError(f"the {what} must return a number, got {size}")


def _of_own_student(name: str, student: Link) -> Loss:
    """The square or logistic loss of a student of the user, with its derivatives or with those of its forward pass."""
    shape = student.rows, student.tokens
    if student.derivatives is None:

        def loss(y, z):
            output = student.forward(z.reshape(1, *shape)).reshape(-1)
            return np.logaddexp(0.0, -y[0] * output[0]) if name == "logistic" else 0.5 * np.sum((output - y) ** 2)

        size = student.forward(np.zeros((1, *shape))).size
        return _own(name, _recorded(f"student {student.name}", loss, size, shape[0] * shape[1]), student)
    return _compiled(name, _of_derivatives(name, student), student, "derivatives(z, value, gradient, hessian)")


def _derivatives(student):
    # A dispatcher in a class binds to the link as a method.
    function = getattr(student.derivatives, "__func__", student.derivatives)
    if not hasattr(function, "py_func"):
        raise ValueError(f"derivatives of {student.name} must be a function compiled by numba (@numba.njit)")
    return function


def _of_derivatives(name, student):
    """The function (y, z, gradient, hessian) -> loss of one point, for a student with compiled derivatives."""
    function = _derivatives(student)
    size = student.forward(np.zeros((1, student.rows, student.tokens))).size
    fields, logistic = student.rows * student.tokens, name == "logistic"

    @njit
    def loss(y, z, gradient, hessian):
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

    return loss


def _compiled(name, function, student, called):
    """The `Loss` of a compiled function (y, z, gradient, hessian) -> loss of one point, which is `called` so in messages.

    It is compiled without the cache, which would not notice an edit of the user's file.
    """

    def loss(y, z, parameters, found, table, size):
        n = len(z)
        output, fields, gradient, hessian = np.empty(len(y)), np.empty(n), np.zeros(n), np.zeros((n, n))
        for s in range(size):
            for k in range(output.size):
                output[k] = y[k, s]
            for i in range(n):
                fields[i] = z[i, s]
            found[0, s] = function(output, fields, gradient, hessian)
            place = 1 + n
            for i in range(n):
                found[1 + i, s] = gradient[i]
                for j in range(i + 1):
                    found[place, s] = hessian[i, j]
                    place += 1

    try:
        return _own(name, njit(loss_kernels.LOSS)(loss), student)
    except NumbaError as error:
        # The first lines name the error, the others places in our code.
        raise ValueError(f"numba cannot compile {called}: {' '.join(str(error).split())[:LONGEST]}") from None


def _own(name, function, student):
    """The `Loss` of a function of the type LOSS that comes from the user."""
    return Loss(name, function, np.zeros(1), student.rows, student.tokens, SIGNS[student.sign_symmetry], False, 1)


def _of_user(name: str, student: Link, project: Path, outputs: int) -> Loss:
    kind = "function {} of y and z in NumPy, or compiled by numba (@numba.njit)"
    function = object_of_file(
        "loss", name, project, kind, lambda found: hasattr(found, "py_func") or inspect.isfunction(found)
    )
    if not inspect.isfunction(function):
        return _compiled(name, function, student, "it as loss(y, z, gradient, hessian) -> number")
    if list(inspect.signature(function).parameters) != ["y", "z"]:
        raise ValueError(
            f"{name} must be a function of y and z in NumPy, or one of (y, z, gradient, hessian) that numba compiled "
            f"(@numba.njit); got {inspect.signature(function)}"
        )
    return _own(name, _recorded(f"loss {name}", function, outputs, student.rows * student.tokens), student)


class Kernels(NamedTuple):
    """Functions of many outputs that compile once for all losses: they call a loss by its address.

    `prox` is `prox_kernels.prox`, `values` and `hessians` are those of `loss_kernels`.
    """

    prox: Callable
    values: Callable
    hessians: Callable


@functools.cache
def kernels() -> Kernels:
    """The `Kernels`."""
    return Kernels(prox_kernels.make_prox(), loss_kernels.make_values(), loss_kernels.make_hessians())


def _doubles(array):
    return np.require(array, float, "CW")


def values(loss: Loss, outputs, fields):
    """Loss (N,) and its gradient (N, P M) of outputs (N, K) at fields (N, P M)."""
    return kernels().values(loss.function, *map(_doubles, (outputs, fields)), loss.parameters, loss.table_rows)


def hessians(loss: Loss, outputs, fields):
    """Hessians (N, P M, P M) of the loss of outputs (N, K) with respect to the fields (N, P M)."""
    return kernels().hessians(loss.function, *map(_doubles, (outputs, fields)), loss.parameters, loss.table_rows)


def checked(loss: Loss, outputs) -> str:
    """The problem of a loss at these outputs (N, K), with the example, or an empty text.

    It must be a finite function of outputs and fields, bounded below, and its gradient and Hessian must be its derivatives.
    """
    outputs, fields = _examples(loss, outputs)
    value, _ = values(loss, outputs, fields)
    again, _ = values(loss, outputs, fields)
    if not np.array_equal(again, value, equal_nan=True):
        k = int(np.argmax(again != value))
        return (
            f"the loss is random: {value[k]:g} and {again[k]:g} at y = {outputs[k].tolist()}, z = {fields[k].tolist()}"
        )
    problem = _wrong_derivatives(loss, outputs, fields)
    if problem:
        return problem
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


def _examples(loss, outputs):
    """As many outputs (N, K) and random fields (N, n) as a check needs."""
    return np.resize(outputs, (CHECKED, outputs.shape[1])), np.random.default_rng(0).standard_normal(
        (CHECKED, loss.fields)
    )


def _wrong_derivatives(loss, outputs, fields):
    """Whether a loss or a derivative is not finite, or a derivative is wrong, with the example, or an empty text."""
    value, gradient = values(loss, outputs, fields)
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
    return ""


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
    """The problem of the derivatives of a `student`, with the example, or an empty text.

    The output of compiled `derivatives` must be that of `forward`, and the others its derivatives. Without them this holds for
    the square loss of what was recorded of `forward`. Raises ValueError if they are not compiled, or if JAX cannot differentiate
    the forward pass.
    """
    if student.derivatives is None:
        return _checked_record(student)
    function = _derivatives(student)
    rng, n = np.random.default_rng(0), student.rows * student.tokens
    size = student.forward(np.zeros((1, student.rows, student.tokens))).size

    def at(z):
        found = np.full(size, np.nan), np.full((size, n), np.nan), np.full((size, n, n), np.nan)
        given = z.copy()
        function(given, *found)
        return *found, np.array_equal(given, z)

    for z in rng.standard_normal((CHECKED, n)):
        where = f"at z = {z.tolist()}"
        value, first, second, kept = at(z)
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


def _checked_record(student):
    """Whether the square loss of a student, recorded, differs from NumPy or its derivatives are wrong, with the example."""
    loss = make_loss("square", student)
    h = np.random.default_rng(1).standard_normal((CHECKED, student.rows, student.tokens))
    outputs, fields = _examples(loss, student.forward(h).reshape(CHECKED, -1))
    output = student.forward(fields.reshape(h.shape)).reshape(CHECKED, -1)
    value, expected = values(loss, outputs, fields)[0], 0.5 * np.sum((output - outputs) ** 2, axis=1)
    for k in np.flatnonzero(~(np.abs(value - expected) <= ACCURACY * (1 + np.abs(expected)))):
        example = f"at y = {outputs[k].tolist()}, z = {fields[k].tolist()}"
        return f"the square loss of forward and its record differ {example}: {expected[k]:g} and {value[k]:g}"
    return _wrong_derivatives(loss, outputs, fields)
