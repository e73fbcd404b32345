"""Keys of empirical risk minimisation on simulated data sets."""

from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Axis, Problem, Section, Specification, Whole
from attention_limits.sequence_multi_index.cross_checks import OfDataSets
from attention_limits.sequence_multi_index.erm.models import student_of
from attention_limits.sequence_multi_index.specs_erm import ErmGrid, ErmModel, OfErm


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

    solver: MinimisationSolver = MinimisationSolver()

    @classmethod
    def student_problems(cls, estimator, student):
        """A loss with a kink, and a start at the target that the student does not have."""
        return [*_kinks(estimator), *_starts(estimator, student)]


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


def _kinks(estimator) -> list[Problem]:
    kink = "hinge: allowed: differentiable losses; erm_gamp and erm_state_evolution accept the hinge"
    return [(("model", "loss"), kink)] if estimator.model["loss"] == "hinge" else []


def _starts(estimator, student) -> list[Problem]:
    if "start_size" in estimator.grid and estimator.solver["start"] != "random":
        return [(("grid", "start_size"), "allowed only with solver.start: random")]
    rows = student_of({key: x for key, x in estimator.model.items() if key != "student"}, estimator.project).rows
    if estimator.solver["start"] == "target" and student.rows != rows:
        text = f"target: the target has {rows} rows and the student {student.rows}; allowed: random"
        return [(("solver", "start"), text)]
    return []


ESTIMATORS = {
    "erm_minimisation": ErmMinimisation,
    "erm_online_sgd": ErmOnlineSgd,
    "erm_gamp": ErmGamp,
}
