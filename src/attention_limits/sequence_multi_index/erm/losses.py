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
# By the kind in `Link.student`, and for a case of it: the loss and its proximal operator.
KINDS = {
    "linear": (loss_kernels.linear, fixed_loss_kernels.prox_linear),
    "attention": (loss_kernels.of_attention, fixed_loss_kernels.prox_attention),
    # One tied softmax layer that reads two tokens: the same loss as "attention", without jets.
    "two tokens": (loss_kernels.of_two_tokens, fixed_loss_kernels.prox_two_tokens),
    "polynomial": (loss_kernels.of_polynomial, fixed_loss_kernels.prox_polynomial),
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
    function : compiled function
        Of the type `loss_kernels.LOSS`.
    prox : function
        `prox_kernels.prox` of this loss.
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
    function, prox = KINDS[kind]
    return Loss(name, _by_address(function), prox, parameters, student.rows, student.tokens, signs, convex, slots)


@functools.cache
def _by_address(loss):
    """A provided loss of the one type LOSS: numba crashes when it calls a function of several types by its address."""
    return compiled.njit(signature_or_function=loss_kernels.LOSS, error_model="numpy")(loss.py_func)


def derivatives_of(student: Link) -> Callable:
    """The compiled function (z, value, gradient, hessian) of a student: its own `derivatives`, or those of its forward pass.

    Raises ValueError if they are not compiled, or if JAX cannot differentiate the forward pass.
    """
    if student.derivatives is not None:
        # A dispatcher in a class binds to the link as a method.
        function = getattr(student.derivatives, "__func__", student.derivatives)
        if not hasattr(function, "py_func"):
            raise ValueError(f"derivatives of {student.name} must be a function compiled by numba (@numba.njit)")
        return function
    shape = student.rows, student.tokens
    jet, _ = _recorded(
        f"student {student.name}", lambda _, z: student.forward(z.reshape(1, *shape)), 0, shape[0] * shape[1]
    )

    @njit
    def derivatives(z, value, gradient, hessian):
        jet(np.empty(0), z, value, gradient, hessian)

    return derivatives


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
        return compiled_jet(function, given, fields)
    # A function of a user can fail in every way on an array that records.
    except Exception as error:
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"JAX cannot differentiate the {what}: {text}. Write it with NumPy functions of its arguments, without np.asarray, "
            "float or if on their numbers; or write the derivatives"
        ) from None


def _of_compiled(name: str, student: Link) -> Loss:
    """The square or logistic loss of a student with compiled derivatives."""
    function = derivatives_of(student)
    size = student.forward(np.zeros((1, student.rows, student.tokens))).size
    fields, logistic = student.rows * student.tokens, name == "logistic"

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

    return _uncached(name, loss, student, "derivatives(z, value, gradient, hessian)")


def _uncached(name, loss, student, called):
    """The `Loss` of a function of the user, which is `called` so in messages: compiled without the cache, which would not notice
    an edit of the user's file."""
    try:
        # A function that is called by its address must have this one type.
        function = njit(loss_kernels.LOSS)(loss)
    except NumbaError as error:
        # The first lines name the error, the others places in our code.
        raise ValueError(f"numba cannot compile {called}: {' '.join(str(error).split())[:LONGEST]}") from None
    prox = functools.partial(kernels().prox, function)
    return Loss(name, function, prox, np.zeros(1), student.rows, student.tokens, SIGNS[student.sign_symmetry], False, 1)


def _of_user(name: str, student: Link, project: Path, outputs: int) -> Loss:
    kind = "function {} of y and z in NumPy, or compiled by numba (@numba.njit)"
    function = object_of_file(
        "loss", name, project, kind, lambda found: hasattr(found, "py_func") or inspect.isfunction(found)
    )
    called = "it as loss(y, z, gradient, hessian) -> number"
    if inspect.isfunction(function):
        return _uncached(name, _of_numpy(name, function, outputs, student.rows * student.tokens), student, called)

    def loss(y, z, parameters, gradient, hessian, table):
        return function(y, z, gradient, hessian)

    return _uncached(name, loss, student, called)


def _of_numpy(name, function, outputs, fields):
    """The loss of a NumPy function of y (K,) and z (P M,), which returns a number."""
    if list(inspect.signature(function).parameters) != ["y", "z"]:
        raise ValueError(
            f"{name} must be a function of y and z in NumPy, or one of (y, z, gradient, hessian) that numba compiled "
            f"(@numba.njit); got {inspect.signature(function)}"
        )
    jet, size = _recorded(f"loss {name}", function, outputs, fields)
    if size != 1:
        raise ValueError(f"{name}(y, z) must return a number, got {size}")

    def loss(y, z, parameters, gradient, hessian, table):
        jet(y, z, table[0, :1], gradient.reshape((1, fields)), hessian.reshape((1, fields, fields)))
        return table[0, 0]

    return loss


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
    return kernels().values(loss.function, *map(_doubles, (outputs, fields)), loss.parameters, loss.slots)


def hessians(loss: Loss, outputs, fields):
    """Hessians (N, P M, P M) of the loss of outputs (N, K) with respect to the fields (N, P M)."""
    return kernels().hessians(loss.function, *map(_doubles, (outputs, fields)), loss.parameters, loss.slots)


def checked(loss: Loss, outputs) -> str:
    """The problem of a loss at these outputs (N, K), with the example, or an empty text.

    It must be a finite function of outputs and fields that changes neither, bounded below, and its gradient and Hessian must be
    its derivatives.
    """
    rng = np.random.default_rng(0)
    outputs = np.resize(outputs, (CHECKED, outputs.shape[1]))
    fields = rng.standard_normal((CHECKED, loss.fields))
    given = outputs.copy(), fields.copy()
    value, gradient = values(loss, *given)
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
    function = derivatives_of(student)
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
