"""Keys of state evolution, phases and GAMP with the true prior and channel, and of the data: one class for each estimator."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, DataSpecification, Section, Specification, Whole
from attention_limits.sequence_multi_index.links.link import DIAGONAL_OVERLAP, EXCHANGEABLE, NORMAL_TOKENS, POSTERIOR
from attention_limits.sequence_multi_index.schema import checks as check
from attention_limits.sequence_multi_index.schema import thresholds
from attention_limits.sequence_multi_index.schema.checks import OfDataSets, OfNodes
from attention_limits.sequence_multi_index.schema.keys import (
    Alpha,
    Damping,
    Dimension,
    GampTolerance,
    LinkGrid,
    LinkModel,
    Nodes,
    Regularization,
    Resolution,
    SideInformation,
    SomeAlpha,
    StartOverlap,
    TeacherGrid,
    TeacherModel,
)

# Messages to and from the samples, and the arrays of their update.
MESSAGE_COPIES = 6


class AlphaGrid(TeacherGrid):
    """Scanned parameters."""

    alpha: Axis[Alpha]


class SomeAlphaGrid(TeacherGrid):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]


class ExchangeableGrid(thresholds.AtlasGrid):
    """Scanned parameters; the depth too."""

    alpha: Axis[Alpha]


class HeldGrid(LinkGrid):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]
    held: Axis[
        Annotated[float, Field(ge=0, le=1, description="Overlap of the held layer, in units of the prior variance.")]
    ]


class DataGrid(Section):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]


class FixedPointSolver(Section):
    """Numerical parameters of a fixed point of the state evolution."""

    nodes: Nodes = 512
    tolerance: Annotated[
        float,
        Field(gt=0, le=0.1, description="Largest relative change of the precision Q_hat per iteration at convergence."),
    ] = 0.001
    max_iterations: Annotated[Whole, Field(ge=1, le=100000, description="Largest number of iterations.")] = 120
    resolution: Resolution = 0.75


class ExchangeableSolver(FixedPointSolver):
    """Numerical parameters of the state evolution of exchangeable layers."""

    start: Annotated[float, Field(gt=0, lt=1, description=(
        "Initial precision Q_hat = start / (1 - start) I, which is Q = start * I for independent weights."
    ))] = 0.001  # fmt: skip


class HeldSolver(FixedPointSolver):
    """Numerical parameters of a fixed point that starts near zero overlap."""

    start: Annotated[
        float, Field(gt=0, lt=0.1, description="Initial overlap Q = start * I, in units of the prior variance.")
    ] = 0.001
    warm_up: Annotated[Literal[1, 2, 4, 8], Field(description=(
        "The iteration starts on 1 / warm_up of the nodes and continues on all. Use 1 near a discontinuous transition."
    ))] = 4  # fmt: skip


class StateEvolutionSolver(HeldSolver):
    """Numerical parameters of the state evolution."""

    side_information: SideInformation = 0.0
    regularization: Regularization = 0.0


class InformedSolver(StateEvolutionSolver):
    """Numerical parameters of the state evolution from the informed start."""

    start: Annotated[
        float, Field(gt=0.9, lt=1, description="Initial overlap Q = start * I, in units of the prior variance.")
    ] = 0.999


class TrajectorySolver(Section):
    """Numerical parameters of a trajectory of the state evolution."""

    nodes: Nodes = 512
    max_iterations: Annotated[Whole, Field(ge=1, le=10000, description="Number of iterations.")] = 60
    start: Annotated[
        float, Field(ge=0, lt=1, description="Initial overlap Q = start * I, in units of the prior variance.")
    ] = 0.001
    floor: Annotated[float, Field(ge=0, lt=0.1, description=(
        "Smallest overlap of a layer. 1 / D is the squared cosine of independent directions, which GAMP has at finite D; 0 is "
        "the state evolution itself."
    ))] = 0.0  # fmt: skip
    side_information: SideInformation = 0.0
    regularization: Regularization = 0.0
    resolution: Resolution = 0.75


class PhasesSolver(FixedPointSolver):
    """Numerical parameters of the fixed points that are compared."""

    max_iterations: Annotated[Whole, Field(ge=1, le=100000, description="Largest number of iterations.")] = 300
    gap: Annotated[float, Field(gt=0, le=0.5, description=(
        "Fixed points count as equal when their overlaps agree within this value, in units of the prior variance. An overlap "
        "below a tenth of it counts as zero."
    ))] = 0.01  # fmt: skip
    starts: Annotated[Whole, Field(ge=0, le=64, description=(
        "Number of random starts besides the uninformed and the informed one, the same in every replica: overlaps with uniform "
        "eigenvalues in random directions, diagonal where the signs of the rows are free."
    ))] = 0  # fmt: skip


class GampSolver(Section):
    """Numerical parameters of GAMP."""

    dimension: Annotated[
        Dimension, Field(description="Dimension D of the weights and tokens; only if the estimator reads no data.")
    ] | None = None  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=10000, description="Largest number of iterations.")] = 120
    damping: Damping = 0.0
    start_overlap: StartOverlap = 0.001
    informed_start: Annotated[float, Field(gt=0, lt=1, description=(
        "Overlap q of an informed start: GAMP begins at the posterior mean of W given sqrt(r) W + N, r = q / (1 - q), which it "
        "does not see later; q is its overlap for standard normal weights. Without this key GAMP begins at a random estimate."
    ))] | None = None  # fmt: skip
    tolerance: GampTolerance = 0.01
    side_information: SideInformation = 0.0
    regularization: Regularization = 0.0
    resolution: Resolution = 0.75
    variance: Annotated[Literal["average", "sample", "message"], Field(description=(
        "average: one variance V of the fields and one precision A of the weights, averages over the data; sample: V of every "
        "sample, with its correlations between tokens, and A of every dimension; message: those of every message, which is "
        "relaxed belief propagation, for links whose channel is a finite sum and for Gaussian weights."
    ))] = "average"  # fmt: skip


class SampleGampSolver(GampSolver):
    """Numerical parameters of GAMP with the variance of every sample."""

    variance: Annotated[Literal["sample"], Field(description="V of every sample and A of every dimension.")] = "sample"


class RelaxedSolver(GampSolver):
    """Numerical parameters of relaxed belief propagation."""

    variance: Annotated[Literal["message"], Field(description="V and A of every message.")] = "message"


class HeldGampSolver(Section):
    """Numerical parameters of GAMP with a layer held."""

    dimension: Dimension
    max_iterations: Annotated[Whole, Field(ge=1, le=10000, description="Largest number of iterations.")] = 120
    damping: Damping = 0.0
    start_overlap: StartOverlap = 0.001
    tolerance: GampTolerance = 0.01
    resolution: Resolution = 0.75


class StateEvolution(OfNodes, Specification):
    """State evolution computes overlaps, free entropy and errors of the AMP fixed point, from the uninformed start."""

    model: TeacherModel = TeacherModel()
    grid: AlphaGrid
    solver: StateEvolutionSolver = StateEvolutionSolver()


class StateEvolutionInformed(StateEvolution):
    """State evolution computes overlaps, free entropy and errors of the fixed point from the informed start."""

    solver: InformedSolver = InformedSolver()


class HeldOverlap(OfNodes, Specification):
    """State evolution computes the overlaps of all layers while it holds one layer, each in turn, at a fixed overlap."""

    needs: ClassVar = frozenset({POSTERIOR, DIAGONAL_OVERLAP})
    model: LinkModel = LinkModel()
    grid: HeldGrid
    solver: HeldSolver = HeldSolver()


class ExchangeableLayers(OfNodes, Specification):
    """State evolution computes the overlaps of layers that may change their places at one fixed point, as four numbers."""

    needs: ClassVar = frozenset({POSTERIOR, EXCHANGEABLE, NORMAL_TOKENS})
    model: TeacherModel = TeacherModel(link="committee_depth", depth=4)
    grid: ExchangeableGrid
    solver: ExchangeableSolver = ExchangeableSolver()

    @classmethod
    def of_prior(cls, link, prior):
        """Weights that are not Gaussian, or whose law changes with a permutation of the exchangeable layers."""
        if not prior.isotropic:
            return "exchangeable layers allow no covariance of the dimensions of a token, and no blocks of them"
        if not prior.gaussian:
            return "the weights of exchangeable layers must be Gaussian; allowed: gaussian, correlated"
        places = [*range(1, link.rows - 1), 0, link.rows - 1]
        moved = [prior.second_moment[np.ix_(order, order)] for order in (places, [1, 0, *range(2, link.rows)])]
        if all(np.array_equal(one, prior.second_moment) for one in moved):
            return ""
        return (
            "its covariance changes with a permutation of the layers before the last one; allowed: equal correlations"
        )


class StateEvolutionTrajectory(OfNodes, Specification):
    """State evolution computes the overlaps of AMP after each iteration."""

    model: TeacherModel = TeacherModel()
    grid: AlphaGrid
    solver: TrajectorySolver = TrajectorySolver()


class PhaseComparison(OfNodes, Specification):
    """State evolution computes the fixed points of several starts and their free entropies, from which the phases follow."""

    model: TeacherModel = TeacherModel()
    grid: AlphaGrid
    solver: PhasesSolver = PhasesSolver()


class Gamp(OfDataSets, Specification):
    """GAMP (generalised approximate message passing) estimates the weights from simulated data sets."""

    needs: ClassVar = frozenset({POSTERIOR})
    model: TeacherModel = TeacherModel()
    grid: SomeAlphaGrid
    solver: GampSolver = GampSolver()
    reads: Annotated[
        Literal["gaussian_sequences"], Field(description="The data sets. Without this key the estimator draws one per point.")
    ] | None = None  # fmt: skip

    @classmethod
    def of_prior(cls, link, prior):
        """The reason why the overlap with the teacher is not defined, or an empty text."""
        return check.rotation_problem(link, prior)

    @classmethod
    def cross_checks(cls, estimator):
        """The dimension is given exactly once; then the checks of the link."""
        found = list(check.one_dimension(estimator))
        yield from found or super().cross_checks(estimator)

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in double precision, and a posterior for each output, or messages between each output and dimension."""
        numbers = data.numbers + check.posterior_numbers(link, data.samples)
        if estimator.solver.variance == "message":
            numbers += MESSAGE_COPIES * data.samples * data.dimension * (link.rows**2 + link.rows)
        return numbers, data.text

    @classmethod
    def sizes(cls, estimator, link):
        """Also: a link or a prior that the variances of samples or messages do not take."""
        if estimator.solver.variance != "average":
            yield from check.variance_problems(estimator, link)
        yield from super().sizes(estimator, link)


class GampSampleVariance(Gamp):
    """GAMP with the variance of every sample estimates the weights; beside `gamp`, on the same data sets."""

    solver: SampleGampSolver = SampleGampSolver()


class RelaxedBeliefPropagation(Gamp):
    """Relaxed belief propagation estimates the weights; beside `gamp`, on the same data sets."""

    solver: RelaxedSolver = RelaxedSolver()


class HeldGamp(OfDataSets, Specification):
    """GAMP estimates the overlaps of all layers while it holds one layer, each in turn, at a fixed overlap."""

    needs: ClassVar = frozenset({POSTERIOR, DIAGONAL_OVERLAP})
    model: LinkModel = LinkModel()
    grid: HeldGrid
    solver: HeldGampSolver

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in double precision, and a posterior for each output."""
        return data.numbers + check.posterior_numbers(link, data.samples), data.text


class GaussianSequences(OfDataSets, DataSpecification):
    """A teacher and its Gaussian sequences, which several estimators read."""

    class Solver(Section):
        """Sizes."""

        dimension: Dimension

    model: TeacherModel = TeacherModel()
    grid: DataGrid
    solver: Solver

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in single precision."""
        return 0.5 * data.numbers, data.text
