"""One-pass stochastic gradient descent of any link as D -> infinity: differential equations of the overlaps.

A step on a batch of B fresh sequences with outputs y, fields h = W x / sqrt(D) of the student and h* of the teacher is

    W <- W - eta (grad (1/D) sum_batch ||y - g(h)||_F^2 + decay W)            (`gradient_descent`, one step per batch).

With G = d ||y - g(h)||_F^2 / dh (P rows), Q = W W^T / D, C = W W*^T / D and R = W* W*^T / D, the fields of a token are Gaussian
of covariance [[Q, C], [C^T, R]]. In the time s = eta n / D^2 of n sequences

    dC/ds = -E G h*^T - omega C,
    dQ/ds = -E (G h^T + h G^T) - 2 omega Q + eps E G G^T,      eps = eta / D,   omega = decay D^2 / B

(Saad and Solla 1995, Phys. Rev. E 52, 4225, for committee machines; derived in this module for sequences and any link). The last
term is the noise of the samples; `rate` eps is the learning rate per sequence, equal to gamma / B for a step of rate gamma on the
mean loss of a batch of B sequences. At given eps the batch changes nothing else, as long as one step changes the overlaps little,
eta B << D^2. At eps -> 0 the flow is that of gradient descent on the population loss E ||y - g(h)||_F^2.

Expectations are means over fixed nodes. These are closed under the sign changes that leave the link unchanged, so that no
sampling error moves a direction that the loss does not depend on.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.sequence_multi_index.links import jax_forward
from attention_limits.sequence_multi_index.links.link import GRADIENT, Link, require
from attention_limits.sequence_multi_index.priors.overlaps import symmetric_root
from attention_limits.sequence_multi_index.training.outputs import teacher_output
from attention_limits.sequence_multi_index.training.signs import changes_of_sign

# A row whose norm is this many times that of a teacher's row diverges.
DIVERGED = 1e4


class Settings(Protocol):
    """The settings that the flow reads; the section `schema.training.FlowSolver` has them.

    Attributes
    ----------
    weight_decay : float
        omega >= 0.
    time : float
        Last s > 0.
    records : int
        Number of records after the start, at equal steps of s.
    tolerance : float
        Relative and absolute error of a step of the integration.
    """

    weight_decay: float
    time: float
    records: int
    tolerance: float


@dataclass(frozen=True)
class Overlaps:
    """Overlaps of student and teacher.

    Attributes
    ----------
    student, cross, teacher : array (P, P)
        Q = W W^T / D, C = W W*^T / D and R = W* W*^T / D, R positive definite.
    """

    student: np.ndarray
    cross: np.ndarray
    teacher: np.ndarray


@dataclass(frozen=True)
class Flow:
    """The flow at T + 1 times; missing after the weights have diverged.

    Attributes
    ----------
    times : array (T + 1,)
        s, from zero.
    student, cross : array (T + 1, P, P)
        Q and C.
    loss : array (T + 1,)
        E ||y - g(h)||_F^2, with the noise of the output.
    finite : bool
        Whether the weights stayed finite.
    """

    times: np.ndarray
    student: np.ndarray
    cross: np.ndarray
    loss: np.ndarray
    finite: bool

    def cosine(self, teacher):
        """Cosine similarity (T + 1, P) of each row of student and teacher, R = `teacher`."""
        norms = np.diagonal(self.student, axis1=1, axis2=2) * np.diag(teacher)
        return np.diagonal(self.cross, axis1=1, axis2=2) / np.sqrt(norms)


def random_start(teacher, initial_std, generator) -> Overlaps:
    """Overlaps of weights sigma N(0, 1), drawn with `generator`, sigma = `initial_std`, with the `teacher` W* (P, D)."""
    weights = initial_std * generator.standard_normal(teacher.shape)
    return overlaps_of(weights, teacher)


def overlaps_of(weights, teacher) -> Overlaps:
    """Overlaps of weights W and teacher W*, (P, D) each."""
    dimension = teacher.shape[1]
    pairs = (weights, weights), (weights, teacher), (teacher, teacher)
    return Overlaps(*(left @ right.T / dimension for left, right in pairs))


class Averages:
    """Averages of the gradient over student and teacher at given overlaps, on fixed nodes.

    Parameters
    ----------
    link : Link
        Of student and teacher; it offers GRADIENT.
    count : int
        Number of nodes, a power of two, with their changes of sign.
    generator : numpy.random.Generator
        Scrambles the nodes.
    gradient : callable, optional
        `compiled_gradient` of the link, which several objects can share.

    Raises
    ------
    ValueError
        As `compiled_gradient`; if the noise of a link changes the shape of its output, or there are fewer nodes than changes of
        sign.
    """

    def __init__(self, link: Link, count: int, generator, gradient: Callable | None = None):
        signs = changes_of_sign(link)
        if count < len(signs):
            raise ValueError(f"{link.name} needs {len(signs)} nodes or more for its changes of sign, got {count}")
        variables = 2 * link.rows * link.tokens + link.noise_dimension
        self.link, self._signs = link, signs
        self._gradient = compiled_gradient(link) if gradient is None else gradient
        self._take(gaussian_nodes(variables, count // len(signs), generator, 1.0).points)

    def _take(self, nodes):
        """Fields of student and teacher, and noise, of all changes of sign of the nodes."""
        rows, tokens, size = self.link.rows, self.link.tokens, 2 * self.link.rows * self.link.tokens
        fields = nodes[:, :size].reshape(-1, 2, rows, tokens)
        points = (self._signs[:, None, :, :, None] * fields).reshape(-1, 2, rows, tokens)
        self._nodes, self._own, self._teacher = nodes, points[:, 0], points[:, 1]
        self._noise = np.tile(nodes[:, size:], (len(self._signs), 1))

    def half(self) -> "Averages":
        """The averages on the first half of the nodes, which show the error of all."""
        found = copy.copy(self)
        found._take(self._nodes[: max(1, len(self._nodes) // 2)])
        return found

    def fields(self, overlaps: Overlaps):
        """Fields h and h*, each (n, P, M), of covariance [[Q, C], [C^T, R]]."""
        known = np.linalg.solve(overlaps.teacher, overlaps.cross.T).T
        rest = overlaps.student - known @ overlaps.cross.T
        theirs = np.linalg.cholesky(overlaps.teacher) @ self._teacher
        return known @ theirs + symmetric_root(0.5 * (rest + rest.T)) @ self._own, theirs

    def __call__(self, overlaps: Overlaps):
        """E ||y - g(h)||_F^2, E G h*^T, E G h^T and E G G^T, the last three (P, P)."""
        h, theirs = self.fields(overlaps)
        y = teacher_output(self.link, theirs, self._noise)
        with jax.enable_x64(True):
            loss, gradient = self._gradient(h, y)
        gradient, n = np.asarray(gradient), len(h)
        products = (np.einsum("npa,nqa->pq", gradient, other, optimize=True) / n for other in (theirs, h, gradient))
        return float(loss) / n, *products


def compiled_gradient(link: Link) -> Callable:
    """sum ||y - g(h)||^2 and its derivative in h, of fields h (n, P, M) and outputs y (n, ...) of the `link`, compiled.

    Raises
    ------
    ValueError
        A SpecError, if JAX cannot differentiate the forward pass of the link, or its output does not change with the fields.
    """
    require(link, {GRADIENT})
    problem = jax_forward.problem_of(link)
    if problem:
        raise SpecError([problem])
    return jax.jit(jax.value_and_grad(lambda h, y: jnp.sum((y - jax_forward.forward(link, h)) ** 2)))


def flow(averages: Callable, start: Overlaps, rate: float, settings: Settings) -> Flow:
    """Integrate the overlaps from `start`.

    Parameters
    ----------
    averages : Averages
    start : Overlaps
    rate : float
        eps >= 0.
    settings : Settings

    Raises
    ------
    ValueError
        For a negative rate.
    """
    if rate < 0:
        raise ValueError(f"need rate >= 0, got {rate}")
    size, decay = len(start.cross), settings.weight_decay
    upper = np.triu_indices(size)
    largest = DIVERGED * np.trace(start.teacher)

    def unpacked(numbers):
        student = np.zeros((size, size))
        student[upper] = numbers[: len(upper[0])]
        student = student + np.triu(student, 1).T
        return Overlaps(student, numbers[len(upper[0]) :].reshape(size, size), start.teacher)

    def packed(student, cross):
        return np.concatenate([student[upper], cross.ravel()])

    def slope(_, numbers):
        at = unpacked(numbers)
        if not np.trace(at.student) < 2.0 * largest:
            # The event ends the integration; a step may look further.
            return np.zeros_like(numbers)
        _, with_teacher, with_own, squared = averages(at)
        student = -with_own - with_own.T - 2.0 * decay * at.student + rate * squared
        return packed(student, -with_teacher - decay * at.cross)

    def diverges(_, numbers):
        return largest - np.trace(unpacked(numbers).student)

    diverges.terminal = True
    times = np.linspace(0.0, settings.time, settings.records + 1)
    found = solve_ivp(
        slope, (0.0, settings.time), packed(start.student, start.cross), t_eval=times, events=diverges,
        method="LSODA", rtol=settings.tolerance, atol=settings.tolerance * 1e-2,
    )  # fmt: skip
    student, cross = np.full((2, len(times), size, size), np.nan)
    loss = np.full(len(times), np.nan)
    for k, at in enumerate(map(unpacked, found.y.T)):
        student[k], cross[k], loss[k] = at.student, at.cross, averages(at)[0]
    return Flow(times, student, cross, loss, bool(found.status == 0))


def learning_times(times, cosine):
    """When each |cosine| of a path (T + 1, P) first reaches one half, linear between the `times` (T + 1,); else NaN."""
    sizes, found = np.abs(cosine), np.full(cosine.shape[1], np.nan)
    for row, size in enumerate(sizes.T):
        above = np.flatnonzero(size >= 0.5)
        if above.size:
            last = above[0]
            before = max(last - 1, 0)
            step = size[last] - size[before]
            share = (0.5 - size[before]) / step if step > 0 else 0.0
            found[row] = times[before] + share * (times[last] - times[before])
    return found
