"""Online SGD of any student and target, in the overlaps alone: the law of the d-dimensional simulation at any d.

A student with weights u reads z_l = u . (g_l + p_l), the target z*_l = g_l . u*, with standard normal g_l, unit vectors u, u*,
and positional vectors p_l with any Gram matrix p_k . p_l and overlaps t_l = p_l . u* with the teacher.
A step is u <- u - (gamma / d) sum_l D_l (g_l + p_l), D_l = dl/dz_l, and the weights are normalised: u, or all u_l of an untied
student together (arXiv:2506.02651).
"""

import contextlib
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numba.core.errors import NumbaError
from numba.extending import is_jitted

from attention_limits.numerics.content import content_digest, keep
from attention_limits.numerics.simd.float64_lanes import WIDTH
from attention_limits.sequence_single_index.links import built_in
from attention_limits.sequence_single_index.links.files import gradient_problem, load_function, of_one_sequence
from attention_limits.sequence_single_index.links.geometry import gram_problem
from attention_limits.sequence_single_index.links.names import HERMITE, link_file, name_problem
from attention_limits.sequence_single_index.sgd import any_student_kernels as kernels
from attention_limits.sequence_single_index.sgd import functions_kernels as functions
from attention_limits.sequence_single_index.sgd.fixed_students import Run, Update, runs_of
from attention_limits.sequence_single_index.sgd.lanes_kernels import UPDATE, make_run

LOSSES = {
    "half_square": functions.HALF_SQUARE,
    "square": functions.SQUARE,
    "frobenius": functions.NORM,
    "logistic": functions.LOGISTIC,
}
# Steps whose random numbers are drawn at once, and the most numbers of a run that are drawn at once.
_BLOCK, _LARGEST = 64, 2**20
# A direction of the positional vectors shorter than this, relative to the longest, is rounding.
_SHORT = 1e-7


@dataclass(frozen=True)
class LinkProblem:
    """A student, a target and their loss.

    Attributes
    ----------
    target, student : callable
        Functions of the tuple (z_1 ... z_M) that numba compiles: a number, or a tuple or list of P numbers. Attribute `gradient`
        of the student, optional: a function of (z, l), the derivatives of the outputs with respect to z_l.
    tokens : int
        M.
    loss : "half_square", "square", "frobenius" or "logistic"
        |y - f|^2 / 2, |y - f|^2, |y - f|, or sum_p log(1 + exp(-y_p f_p)).
    gram : tuple of tuples (M, M), optional
        Scalar products of the positional vectors; none without.
    shifts : tuple (M,), optional
        Their overlaps t_l with the teacher; zero without.
    untied : bool
        Each token has its own weights.

    Raises
    ------
    ValueError
        If the matrix p_k . p_l - t_k t_l, with the shifts t, is not symmetric and positive, if the outputs of target and student
        differ in number, or if a given gradient is wrong.
    """

    target: Callable
    student: Callable
    tokens: int
    loss: str = "half_square"
    gram: tuple | None = None
    untied: bool = False
    shifts: tuple | None = None

    def __post_init__(self):
        counts = [self._outputs(function) for function in (self.target, self.student)]
        if counts[0] != counts[1]:
            raise ValueError(
                f"target and student must have the same number of outputs, got {counts[0]} and {counts[1]}"
            )
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, is {self.loss!r}")
        gradient = getattr(self.student, "gradient", None)
        problem = gradient and gradient_problem(self.student, gradient, self.tokens)
        if problem:
            raise ValueError(f"the student's {problem}")
        self.components  # noqa: B018, a bad Gram matrix is refused here

    def _outputs(self, function):
        fields = tuple(np.random.default_rng(0).standard_normal(self.tokens).tolist())
        return int(np.size(function(fields)))

    @property
    def outputs(self):
        """Number P of outputs."""
        return self._outputs(self.target)

    @functools.cached_property
    def components(self):
        """Components (M, r) of the positional vectors without the teacher in an orthonormal basis; the first has only one.

        Raises ValueError for shifts without positional vectors or of another number.
        """
        if self.shifts is None:
            return position_components(self.gram, self.tokens)
        if self.gram is None or len(self.shifts) != self.tokens:
            raise ValueError(
                f"overlaps of positions with the teacher need positional vectors and {self.tokens} numbers"
            )
        return position_components(np.array(self.gram) - np.outer(self.shifts, self.shifts), self.tokens)

    @functools.cached_property
    def teacher_overlaps(self):
        """Overlaps t (M,) of the positional vectors with the teacher."""
        return np.zeros(self.tokens) if self.shifts is None else np.array(self.shifts, dtype=float)


def position_components(gram, tokens):
    """Components (M, r), M = `tokens`, of vectors with these scalar products `gram` (M, M), by Gram and Schmidt.

    Raises ValueError for a matrix that is not one of scalar products (`geometry.gram_problem`).
    """
    if gram is None:
        return np.zeros((tokens, 0))
    problem = gram_problem(gram, tokens)
    if problem:
        raise ValueError(problem)
    gram = np.array(gram, dtype=float)
    longest = float(np.max(np.diag(gram)))
    found, rank = np.zeros((tokens, tokens)), 0
    pivots = []
    for token in range(tokens):
        for j, pivot in enumerate(pivots):
            found[token, j] = (gram[token, pivot] - found[token, :j] @ found[pivot, :j]) / found[pivot, j]
        left = gram[token, token] - np.sum(found[token, :rank] ** 2)
        if left > _SHORT * longest:
            found[token, rank] = np.sqrt(left)
            pivots.append(token)
            rank += 1
    return found[:, :rank]


_run = functools.cache(make_run)


def of_lanes(write, tokens, outputs):
    """`write` of `functions_kernels.make_values` or `make_slopes`, or one made of it, that takes eight sequences.

    Eight at once, or, if branches of the function depend on the fields, one after the other. M = `tokens`, P = `outputs`. Raises
    NumbaError if numba cannot compile the function.
    """
    sizes = tokens, outputs, outputs * tokens
    with contextlib.suppress(NumbaError):
        write(*(np.full((size, WIDTH), 0.5) for size in sizes))
        return write
    write(*(np.full(size, 0.5) for size in sizes))
    return functions.make_each(write, tokens, outputs)


@functools.cache
def compiled(problem):
    """The update of a `problem` (`any_student_kernels.make_update`), and its gradients at nodes
    (`any_student_kernels.make_gradients`, of an untied student `make_untied_gradients`).

    Raises ValueError if numba cannot compile the functions of target and student.
    """
    target, student = (f if is_jitted(f) else njit(nogil=True)(f) for f in (problem.target, problem.student))
    gradient = getattr(problem.student, "gradient", None)
    if gradient is not None and not is_jitted(gradient):
        gradient = njit(nogil=True)(gradient)
    M, P = problem.tokens, problem.outputs
    numbers = LOSSES[problem.loss], M, P, problem.components.shape[1]
    name = content_digest(target, student, gradient, *numbers, problem.untied, Path(__file__))
    values, slopes = functions.make_values(target, M), functions.make_slopes(student, gradient, M)
    make = kernels.make_untied_gradients if problem.untied else kernels.make_gradients
    gradients = keep(make(values, slopes, *numbers), name)
    update = keep(kernels.make_update(values, slopes, *numbers, problem.untied), name)
    try:
        update.compile(UPDATE)
    except NumbaError:
        update = keep(kernels.make_update(*_of_eight(values, slopes, M, P), *numbers, problem.untied), name)
        update.compile(UPDATE)
    update.disable_compile()
    return update, gradients


def _of_eight(values, slopes, tokens, outputs):
    """`of_lanes` of target and student. Raises ValueError if numba cannot compile them."""
    found = []
    for what, function in (("target", values), ("student", slopes)):
        try:
            found.append(of_lanes(function, tokens, outputs))
        except NumbaError as error:
            text = str(error).strip().replace("\n", "\n    ")
            raise ValueError(f"numba cannot compile the {what} for SGD:\n    {text}") from None
    return found


def initial_state(problem, start):
    """State of `any_student_kernels.make_update` of a `problem` at the overlaps `start` (e_1 ... e_r, m).

    They are equal for all tokens; those of an untied student may also be one row for each token. Raises ValueError for a wrong
    number of overlaps, or beyond the unit ball.
    """
    start, rank = np.array(start, dtype=float), problem.components.shape[1]
    M, rows = problem.tokens, np.atleast_2d(start)
    shapes = [(rank + 1,), *([(M, rank + 1)] if problem.untied else [])]
    if start.shape not in shapes or np.any(np.sum(rows**2, axis=1) > 1.0 + 1e-12):
        raise ValueError(f"the start must be {rank + 1} overlaps of a unit vector, got {start.tolist()}")
    if not problem.untied:
        return start
    rows = np.broadcast_to(rows, (M, rank + 1))
    return np.concatenate([rows[:, -1], rows[:, :-1].ravel(), np.ones(M)])


def random_overlaps(problem, dimension, generator):
    """The `start` of `initial_state` of a `problem` for random weights in d = `dimension`, drawn by a `generator`.

    Components of random unit vectors: array (r + 1,), or (M, r + 1) of an untied student.
    """
    size = (problem.tokens if problem.untied else 1, problem.components.shape[1] + 1)
    along = generator.standard_normal(size)
    found = along / np.sqrt(np.sum(along**2, axis=1) + generator.chisquare(dimension - size[1], size[0]))[:, None]
    return found if problem.untied else found[0]


def simulate(problem, dimension, learning_rate, starts, schedule, generators, batch=1) -> list[Run]:
    """One run of SGD for each generator, which does not depend on the others.

    Parameters
    ----------
    problem : LinkProblem
    dimension, learning_rate : float
        d, gamma.
    starts : list of arrays (r + 1,) or (M, r + 1)
        For each run, the overlaps with the basis of the positions and with the teacher, see `initial_state`.
    schedule : fixed_students.Schedule
        Its threshold is one of |e|^2 + m^2, for untied students of the mean over the tokens.
    generators : list of numpy.random.Generator
    batch : int
        Sequences per step.

    Raises
    ------
    ValueError
        If numba cannot compile target or student, for a bad start, or a dimension below r + 3.
    """
    M, rank = problem.components.shape
    if dimension < rank + 3:
        raise ValueError(f"the dimension must be at least {rank + 3}: teacher, positions, student and one more")
    draws, chi = batch * M * (rank + 2), M if problem.untied else 1
    update = Update(
        functools.partial(_run(), compiled(problem)[0]), parameters(problem, dimension, learning_rate, batch),
        draws=draws, freedom=dimension - 2 - rank, chi=chi, block=max(1, min(_BLOCK, _LARGEST // draws)),
    )  # fmt: skip
    start = np.stack([initial_state(problem, start) for start in starts], axis=1)
    return runs_of(update, start, generators, schedule)


def parameters(problem, dimension, learning_rate, batch):
    """The list of parameters of `any_student_kernels.make_update`.

    `problem`, `dimension`, `learning_rate` and `batch` are those of `simulate`.
    """
    return [learning_rate / dimension, batch, *problem.components.ravel(), *problem.teacher_overlaps]


def overlaps(problem, state):
    """Semantic overlaps (..., M) and positional overlaps u_l . p_l (..., M) of a `state` (..., n) of a `problem`."""
    state, (M, rank) = np.asarray(state), problem.components.shape
    if problem.untied:
        m, basis = state[..., :M], state[..., M : M * (1 + rank)].reshape(*state.shape[:-1], M, rank)
    else:
        m, basis = np.repeat(state[..., -1:], M, axis=-1), np.repeat(state[..., None, :-1], M, axis=-2)
    return m, np.sum(basis * problem.components, axis=-1) + m * problem.teacher_overlaps


def sequence_function(name, tokens, folder=".", degree=0, weights=(1.0,), constant=0.0):
    """The function of one sequence of M = `tokens` tokens that a `name` stands for.

    Parameters
    ----------
    name : str
        relu_sum, full_attention, trace_attention, hermite, or FILE.py:NAME below the `folder`.
    tokens : int
    folder : path
    degree : int
    weights : sequence of float
        Of hermite, one or one per token.
    constant : float
        Of hermite.

    Raises
    ------
    ValueError
        If there is no such function, if it fails a check, or takes many sequences at once.
    """
    if name == HERMITE:
        spread = np.broadcast_to(np.asarray(weights, dtype=float), (tokens,))
        return built_in.hermite_sum(int(degree), tuple(spread.tolist()), float(constant))
    problem = name_problem(name, folder)
    if problem:
        raise ValueError(problem)
    if link_file(name) is None:
        return built_in.FUNCTIONS[name]
    function = load_function(name, tokens, folder)
    if not of_one_sequence(function, tokens):
        raise ValueError(
            f"{name}: SGD needs a function of one sequence, z[0] ... z[{tokens - 1}] to one or P numbers, not of rows"
        )
    return function
