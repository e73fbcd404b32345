"""Keys of empirical risk minimisation."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Problem, Section, Specification, Whole, fields
from attention_limits.sequence_multi_index.erm.students import ERM_KEYS, problem_of, student_of
from attention_limits.sequence_multi_index.links.link import NORMAL_TOKENS
from attention_limits.sequence_multi_index.links.loading import code_file, code_module
from attention_limits.sequence_multi_index.schema.checks import OfDataSets, OfLink
from attention_limits.sequence_multi_index.schema.keys import LinkGrid, LinkModel, Nodes, SomeAlpha

Ridge = Annotated[float, Field(ge=1e-6, le=1000, description=(
    "Strength lambda of the ridge lambda / 2 |W|^2. It is added to the sum of the losses of all samples, not to their mean."
))]  # fmt: skip


class UnpenalisedModel(LinkModel):
    """The target, with the student and its loss."""

    student: Annotated[dict, Field(description=(
        "The link that is fitted, with its parameters: {link: linear, rows: 1}. Without this key it is the target without noise."
    ))] | None = None  # fmt: skip
    loss: Annotated[str, Field(min_length=1, description=(
        "square, logistic, hinge, cross_entropy, or path/to/file.py:name of a compiled loss of the user, relative to the project "
        "folder."
    ))] = "square"  # fmt: skip
    sigma: Annotated[float, Field(ge=0.01, le=100, description=(
        "Standard deviation of a component of a token about its mean; the target reads the tokens without their means."
    ))] = 1.0  # fmt: skip
    positions: Annotated[list[list[float]], Field(description=(
        "Means of the tokens: M rows of the K <= M coefficients B_ak of the mean of token a, sum_k B_ak u_k, in orthonormal "
        "directions u_k. Without this key the means are zero."
    ))] | None = None  # fmt: skip


class ErmModel(UnpenalisedModel):
    """The target, with the student, its loss and its ridge."""

    ridge: Ridge | None = None


class UnpenalisedGrid(LinkGrid):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]


class TransitionGrid(LinkGrid):
    """Scanned parameters."""

    ridge: Axis[Ridge] | None = None


class ErmGrid(UnpenalisedGrid):
    """Scanned parameters."""

    ridge: Axis[Ridge] | None = None


class ErmStateEvolutionSolver(Section):
    """Numerical parameters of the replica-symmetric fixed point."""

    nodes: Nodes = 4096
    tolerance: Annotated[float, Field(gt=0, le=0.1, description=(
        "Largest change per iteration of m, mu, log V and of the root of the part of q that m and mu leave, at convergence."
    ))] = 1e-6  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=10000, description="Largest number of iterations.")] = 150
    start_overlap: Annotated[
        float, Field(ge=0, le=1, description="Overlap m of the start, in units of the prior variance of a weight.")
    ] = 0.9
    start_position: Annotated[float, Field(ge=0, le=10, description=(
        "Overlap of the start with every direction of the positions, w . u_k / sqrt(D)."
    ))] = 1.0  # fmt: skip
    branch: Annotated[Literal["free", "semantic", "positional", "agnostic", "diagonal"], Field(description=(
        "Symmetry that the solution keeps: free; semantic (no overlap with the positions), positional (no overlap with the "
        "target), or agnostic (with neither), for tokens with positions; diagonal, for layers whose signs are free, with "
        "diagonal q, m and V."
    ))] = "free"  # fmt: skip


class OptimalRidgeSolver(ErmStateEvolutionSolver):
    """Numerical parameters of the search for the best ridge."""

    least: Annotated[float, Field(ge=1e-6, le=1000, description="Smallest ridge that is tried.")] = 0.001
    largest: Annotated[float, Field(ge=1e-6, le=1000, description="Largest ridge that is tried.")] = 10.0
    accuracy: Annotated[float, Field(gt=0, le=1, description="Accuracy of the logarithm of the best ridge.")] = 0.05


class TransitionSolver(Section):
    """Numerical parameters of the transitions."""

    nodes: Nodes = 16384
    tolerance: Annotated[float, Field(gt=0, le=0.1, description=(
        "Largest change per iteration of m, mu, log V and of the root of the part of q that m and mu leave, at convergence."
    ))] = 1e-6  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=10000, description="Largest number of iterations.")] = 150
    against: Annotated[Literal["positional", "agnostic"], Field(description=(
        "The solution whose training objective is compared with that of the semantic one: positional, for tokens with positions, "
        "or agnostic, which overlaps neither with the target nor with positions."
    ))] = "positional"  # fmt: skip
    smallest: Annotated[SomeAlpha, Field(description="Smallest alpha of the search.")] = 0.5
    largest: Annotated[SomeAlpha, Field(description="Largest alpha of the search.")] = 3.0
    accuracy: Annotated[float, Field(gt=0, le=0.1, description="Accuracy of a transition, in alpha.")] = 0.0001


class OfErm(OfLink, Specification):
    """An estimator that minimises the empirical risk of a student."""

    needs: ClassVar[frozenset[str]] = frozenset({NORMAL_TOKENS})

    @classmethod
    def _at(cls, estimator, parameters, keys):
        found = super()._at(estimator, {key: x for key, x in parameters.items() if key not in ERM_KEYS}, keys)
        return found or list(cls._student_problems(estimator, parameters, keys))

    @classmethod
    def _student_problems(cls, estimator, parameters, keys) -> Iterable[Problem]:
        given = ("model", "student") if "student" in parameters else keys
        try:
            student = student_of(parameters, estimator.project)
        except ValueError as error:
            return [(given, str(error))]
        problem = problem_of(parameters["loss"], student)
        if problem:
            return [(("model", "loss"), f"{parameters['loss']!r}: {problem}")]
        path = code_file(parameters["loss"], estimator.project)
        if path is not None and not path.is_file():
            return [(("model", "loss"), f"{parameters['loss']!r}: the file {path} does not exist")]
        target_tokens = _target(parameters, estimator.project).tokens
        if student.tokens != target_tokens:
            return [(given, f"the student reads {student.tokens} tokens; allowed: {target_tokens}, as the target")]
        wrong = _positions(estimator, parameters.get("positions"), student.tokens)
        if wrong:
            return wrong
        return cls.student_problems(estimator, student)

    @classmethod
    def student_problems(cls, estimator, student) -> Iterable[Problem]:
        """Problems of this estimator with the student."""
        return ()

    @classmethod
    def cross_checks(cls, estimator):
        """A ridge is given once, then the checks of target, student and loss."""
        penalised = "ridge" in fields(cls, "model")
        if penalised and "ridge" not in estimator.model and "ridge" not in estimator.grid:
            yield ("grid", "ridge"), "missing; allowed: an axis here, or one value in model"
            return
        yield from super().cross_checks(estimator)

    @classmethod
    def code_files(cls, estimator) -> Iterable[Path]:
        """The files of target, student and loss that belong to the user."""
        names = (estimator.model.get("student", {}).get("link", ""), estimator.model["loss"])
        own = [path for path in (code_file(name, estimator.project) for name in names) if path is not None]
        return [*super().code_files(estimator), *(path for path in own if path.is_file())]

    @classmethod
    def code_modules(cls, estimator) -> Iterable[str]:
        """The modules of target and student."""
        student = code_module(estimator.model.get("student", {}).get("link", ""))
        return [*super().code_modules(estimator), *([] if student is None else [student])]


class ErmStateEvolution(OfErm):
    """State evolution computes the overlaps and errors of empirical risk minimisation with a ridge."""

    model: ErmModel = ErmModel()
    grid: ErmGrid
    solver: ErmStateEvolutionSolver = ErmStateEvolutionSolver()


class ErmOptimalRidge(OfErm):
    """State evolution of empirical risk minimisation with the ridge of the smallest test loss."""

    model: UnpenalisedModel = UnpenalisedModel()
    grid: UnpenalisedGrid
    solver: OptimalRidgeSolver = OptimalRidgeSolver()

    @classmethod
    def cross_checks(cls, estimator):
        """The range of the ridge is not empty, and the checks of target, student and loss."""
        least, largest = estimator.solver.least, estimator.solver.largest
        if not least < largest:
            yield ("solver", "largest"), f"{largest:g}: allowed: more than least = {least:g}"
        else:
            yield from super().cross_checks(estimator)


class ErmTransition(OfErm):
    """State evolution determines where the semantic solution beats another one, and where it beats the best constant output."""

    model: ErmModel = ErmModel()
    grid: TransitionGrid = TransitionGrid()
    solver: TransitionSolver = TransitionSolver()

    @classmethod
    def student_problems(cls, estimator, student):
        """The positional solution needs tokens with positions."""
        if "positions" in estimator.model or estimator.solver.against == "agnostic":
            return []
        return [(("model", "positions"), "missing; allowed: M rows of numbers, or solver.against: agnostic")]

    @classmethod
    def cross_checks(cls, estimator):
        """The range of alpha is not empty, and the checks of target, student and loss."""
        smallest, largest = estimator.solver.smallest, estimator.solver.largest
        if not smallest < largest:
            yield ("solver", "largest"), f"{largest:g}: allowed: more than smallest = {smallest:g}"
        else:
            yield from super().cross_checks(estimator)


def _positions(estimator, given, tokens) -> list[Problem]:
    """Problems of the positions, and of what needs them."""
    if given is None:
        branch, start = (getattr(estimator.solver, key, None) for key in ("branch", "start"))
        if branch in ("semantic", "positional", "agnostic"):
            return [(("solver", "branch"), f"{branch}: allowed without model.positions: free, diagonal")]
        return [(("solver", "start"), "positions: needs model.positions")] if start == "positions" else []
    widths = {len(row) for row in given}
    if len(given) != tokens or len(widths) != 1 or not 1 <= min(widths) <= tokens:
        return [(("model", "positions"), f"{given}: allowed: {tokens} rows (tokens) of the same 1 to {tokens} numbers")]
    if not np.all(np.isfinite(given)):
        return [(("model", "positions"), f"{given}: allowed: finite numbers")]
    return []


class FitGrid(ErmGrid):
    """Scanned parameters."""

    start_size: (
        Axis[Annotated[float, Field(gt=0, le=100, description="Standard deviation of the weights of a random start.")]]
        | None
    ) = None


class StartSolver(Section):
    """First weights of a student."""

    start: Annotated[Literal["target", "positions", "random"], Field(description=(
        "First weights: those of the target, where student and target have the same rows; along the positions, sqrt(D) sum_k "
        "u_k; or normal ones of standard deviation start_size, by default 1."
    ))] = "target"  # fmt: skip


class MinimisationSolver(StartSolver):
    """Numerical parameters of the minimisation."""

    tolerance: Annotated[float, Field(gt=0, le=0.1, description=(
        "Norm of the gradient of L divided by the norm of lambda W: L-BFGS ends where no entry of the gradient exceeds this "
        "value times lambda, and `converged` accepts a norm of up to ten times this value."
    ))] = 1e-4  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=100000, description="Largest number of iterations.")] = 500


class ErmMinimisationSolver(MinimisationSolver):
    """Numerical parameters of L-BFGS and of the comparison of its minima."""

    further_starts: Annotated[Whole, Field(ge=0, le=64, description=(
        "Number of further starts, from normal weights of standard deviation start_size, by default 1; the minima of all "
        "starts are stored beside that of `start`."
    ))] = 0  # fmt: skip
    profile: Annotated[bool, Field(description=(
        "Whether the objective is minimised again with the overlap of one layer held 0.1 closer to zero: `objective_rise`."
    ))] = False  # fmt: skip


class ErmOnlineSgdSolver(StartSolver):
    """Numerical parameters of one pass of stochastic gradient descent."""

    learning_rate: Annotated[float, Field(gt=0, le=1000, description=(
        "Learning rate eta: W <- (1 - eta lambda / n) W - eta grad l(y, W x / sqrt(D)) at every sample."
    ))] = 1.0  # fmt: skip


class ErmGampSolver(MinimisationSolver):
    """Numerical parameters of GAMP."""

    tolerance: Annotated[
        float, Field(gt=0, le=0.1, description="Relative change of W_hat per iteration at convergence.")
    ] = 1e-4
    damping: Annotated[float, Field(ge=0, lt=1, description="Weight of the OLD iterate and of the OLD g.")] = 0.5


class OnDataSets(OfErm, OfDataSets, Specification):
    """An estimator of empirical risk minimisation on simulated data sets."""

    model: ErmModel = ErmModel()
    grid: FitGrid
    reads: Annotated[Literal["gaussian_sequences"], Field(description="The data sets.")]

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in single and in double precision."""
        return 1.5 * data.numbers, data.text


class ErmMinimisation(OnDataSets):
    """L-BFGS minimises the empirical risk on simulated data sets."""

    solver: ErmMinimisationSolver = ErmMinimisationSolver()

    @classmethod
    def student_problems(cls, estimator, student):
        """A loss with a kink, and a start or a profile at the target that the student does not have."""
        solver = estimator.solver
        problems = [*_kinks(estimator), *_starts(estimator, student, random=solver.further_starts > 0)]
        rows = _target(estimator.model, estimator.project).rows
        if solver.profile and student.rows != rows:
            text = f"true: the target has {rows} rows and the student {student.rows}; allowed: false"
            problems.append((("solver", "profile"), text))
        return problems


class ErmOnlineSgd(OnDataSets):
    """Stochastic gradient descent goes once through simulated data sets, on the objective of empirical risk minimisation."""

    solver: ErmOnlineSgdSolver = ErmOnlineSgdSolver()

    @classmethod
    def student_problems(cls, estimator, student):
        """A start at the target that the student does not have."""
        return _starts(estimator, student)


class ErmGamp(OnDataSets):
    """GAMP minimises the empirical risk on simulated data sets."""

    solver: ErmGampSolver = ErmGampSolver()

    @classmethod
    def student_problems(cls, estimator, student):
        """A start at the target that the student does not have, and tokens whose law its variances do not hold."""
        if "positions" in estimator.model or estimator.model["sigma"] != 1.0:
            key = "positions" if "positions" in estimator.model else "sigma"
            return [(("model", key), "erm_gamp accepts standard normal tokens only; allowed: erm_minimisation")]
        return _starts(estimator, student)


def _target(model, project):
    """The target without noise."""
    return student_of({key: x for key, x in model.items() if key != "student"}, project)


def _kinks(estimator) -> list[Problem]:
    kink = "hinge: allowed: differentiable losses; erm_gamp and erm_state_evolution accept the hinge"
    return [(("model", "loss"), kink)] if estimator.model["loss"] == "hinge" else []


def _starts(estimator, student, random=False) -> list[Problem]:
    """Problems of the starts; `random`: whether some are random beside `start`."""
    if "start_size" in estimator.grid and estimator.solver.start != "random" and not random:
        return [(("grid", "start_size"), "allowed only with a random start")]
    rows = _target(estimator.model, estimator.project).rows
    if estimator.solver.start == "target" and student.rows != rows:
        text = f"target: the target has {rows} rows and the student {student.rows}; allowed: random"
        return [(("solver", "start"), text)]
    return []
