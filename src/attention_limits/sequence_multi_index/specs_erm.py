"""Keys of empirical risk minimisation."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Axis, Problem, Section, Specification, Whole
from attention_limits.sequence_multi_index.cross_checks import OfDataSets, OfLink
from attention_limits.sequence_multi_index.erm.models import ERM_KEYS, student_of
from attention_limits.sequence_multi_index.erm.requirements import problem_of
from attention_limits.sequence_multi_index.links.loading import code_file, code_module
from attention_limits.sequence_multi_index.specs_keys import Nodes, SomeAlpha
from attention_limits.sequence_multi_index.specs_links import LinkGrid, LinkModel

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


class ErmModel(UnpenalisedModel):
    """The target, with the student, its loss and its ridge."""

    ridge: Ridge | None = None


class UnpenalisedGrid(LinkGrid):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]


class ErmGrid(UnpenalisedGrid):
    """Scanned parameters."""

    ridge: Axis[Ridge] | None = None


class ErmStateEvolutionSolver(Section):
    """Numerical parameters of the replica-symmetric fixed point."""

    nodes: Nodes = 4096
    tolerance: Annotated[float, Field(gt=0, le=0.1, description=(
        "Largest change per iteration of the roots of q and m and of log V at convergence."
    ))] = 1e-6  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=10000, description="Largest number of iterations.")] = 150
    start_overlap: Annotated[
        float, Field(ge=0, le=1, description="Overlap m of the start, in units of the prior variance of a weight.")
    ] = 0.9
    branch: Annotated[Literal["free", "diagonal"], Field(description=(
        "Symmetry that the solution keeps: free, or diagonal, for layers whose signs are free, with diagonal q, m and V."
    ))] = "free"  # fmt: skip


class OptimalRidgeSolver(ErmStateEvolutionSolver):
    """Numerical parameters of the search for the best ridge."""

    least: Annotated[float, Field(ge=1e-6, le=1000, description="Smallest ridge that is tried.")] = 0.001
    largest: Annotated[float, Field(ge=1e-6, le=1000, description="Largest ridge that is tried.")] = 10.0
    accuracy: Annotated[float, Field(gt=0, le=1, description="Accuracy of the logarithm of the best ridge.")] = 0.05


class MinimisationSolver(Section):
    """Numerical parameters of the minimisation."""

    start: Annotated[Literal["target", "random"], Field(description=(
        "First weights: those of the target, where student and target have the same rows, or standard normal ones."
    ))] = "target"  # fmt: skip
    tolerance: Annotated[float, Field(gt=0, le=0.1, description=(
        "Norm of the gradient, relative to that of the ridge's own gradient lambda W, at convergence."
    ))] = 1e-4  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=100000, description="Largest number of iterations.")] = 500


class ErmGampSolver(MinimisationSolver):
    """Numerical parameters of GAMP."""

    damping: Annotated[float, Field(ge=0, lt=1, description="Weight of the OLD iterate and of the OLD g.")] = 0.5


class OfErm(OfLink):
    """An estimator that minimises the empirical risk of a student."""

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
        target_tokens = cls._target_tokens(estimator, parameters)
        if student.tokens != target_tokens:
            return [(given, f"the student reads {student.tokens} tokens; allowed: {target_tokens}, as the target")]
        return cls.student_problems(estimator, student)

    @classmethod
    def student_problems(cls, estimator, student) -> Iterable[Problem]:
        """Problems of this estimator with the student."""
        return ()

    @classmethod
    def _target_tokens(cls, estimator, parameters):
        return student_of({key: x for key, x in parameters.items() if key != "student"}, estimator.project).tokens

    @classmethod
    def cross_checks(cls, estimator):
        """A ridge is given once, then the checks of target, student and loss."""
        penalised = "ridge" in cls.model_fields["model"].annotation.model_fields
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


class ErmStateEvolution(OfErm, Specification):
    """State evolution computes the overlaps and errors of empirical risk minimisation with a ridge."""

    model: ErmModel = ErmModel()
    grid: ErmGrid
    solver: ErmStateEvolutionSolver = ErmStateEvolutionSolver()


class ErmOptimalRidge(OfErm, Specification):
    """State evolution of empirical risk minimisation with the ridge of the smallest test loss."""

    model: UnpenalisedModel = UnpenalisedModel()
    grid: UnpenalisedGrid
    solver: OptimalRidgeSolver = OptimalRidgeSolver()

    @classmethod
    def cross_checks(cls, estimator):
        """The range of the ridge is not empty, and the checks of target, student and loss."""
        least, largest = estimator.solver["least"], estimator.solver["largest"]
        if not least < largest:
            yield ("solver", "largest"), f"{largest:g}: allowed: more than least = {least:g}"
        else:
            yield from super().cross_checks(estimator)


class ErmMinimisation(OfErm, OfDataSets, Specification):
    """L-BFGS minimises the empirical risk on simulated data sets."""

    model: ErmModel = ErmModel()
    grid: ErmGrid
    solver: MinimisationSolver = MinimisationSolver()
    reads: Annotated[Literal["gaussian_sequences"], Field(description="The data sets.")]

    @classmethod
    def student_problems(cls, estimator, student):
        """A loss with a kink, and a start at the target that the student does not have."""
        return [*_kinks(estimator), *_starts(estimator, student)]

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in single and in double precision."""
        return 1.5 * data.numbers, data.text


class ErmGamp(ErmMinimisation):
    """GAMP minimises the empirical risk on simulated data sets."""

    solver: ErmGampSolver = ErmGampSolver()

    @classmethod
    def student_problems(cls, estimator, student):
        """A start at the target that the student does not have."""
        return _starts(estimator, student)


def _kinks(estimator) -> list[Problem]:
    kink = "hinge: allowed: differentiable losses; erm_gamp and erm_state_evolution take the hinge"
    return [(("model", "loss"), kink)] if estimator.model["loss"] == "hinge" else []


def _starts(estimator, student) -> list[Problem]:
    rows = student_of({key: x for key, x in estimator.model.items() if key != "student"}, estimator.project).rows
    if estimator.solver["start"] == "target" and student.rows != rows:
        text = f"target: the target has {rows} rows and the student {student.rows}; allowed: random"
        return [(("solver", "start"), text)]
    return []


ESTIMATORS = {
    "erm_state_evolution": ErmStateEvolution,
    "erm_optimal_ridge": ErmOptimalRidge,
    "erm_minimisation": ErmMinimisation,
    "erm_gamp": ErmGamp,
}
