"""Keys of the thresholds of many models: weak recovery, and exact recovery."""

from typing import Annotated, ClassVar

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.sequence_multi_index.links.link import DIAGONAL_OVERLAP, POSTERIOR
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.schema.checks import OfNodes
from attention_limits.sequence_multi_index.schema.keys import (
    Heads,
    LinkGrid,
    LinkModel,
    Nodes,
    Rank,
    Resolution,
    TeacherGrid,
    TeacherModel,
)

Depth = Annotated[Whole, Field(ge=1, le=16, description="Number of attention layers L.")]


class AtlasGrid(LinkGrid):
    """Scanned parameters of the link, those that change the number of rows of W too."""

    depth: Axis[Depth] | None = None
    rank: Axis[Rank] | None = None
    heads: Axis[Heads] | None = None


class TeacherAtlasGrid(AtlasGrid, TeacherGrid):
    """Scanned parameters of the link and of the covariance, those that change the number of rows of W too."""


class GrowthGrid(AtlasGrid):
    """Scanned parameters: those of the link, and the overlap that the last layer has."""

    held: Axis[
        Annotated[
            float, Field(ge=0.01, le=0.99999, description="Overlap of the last layer, in units of the prior variance.")
        ]
    ]


class StaircaseSolver(Section):
    """Numerical parameters of the thresholds."""

    nodes: Annotated[
        Nodes, Field(description="Sobol nodes per replica for all thresholds after the first one, a power of two.")
    ] = 2048
    nodes_at_zero: Annotated[
        Nodes, Field(description="Sobol nodes per replica for the first threshold, a power of two.")
    ] = 16384
    tolerance: Annotated[
        float, Field(gt=0, le=0.1, description="Absolute accuracy of -log det(1 - Q) at a threshold.")
    ] = 0.0001
    resolution: Resolution = 0.75


class AtlasSolver(StaircaseSolver):
    """Numerical parameters of the thresholds, and the size of the table."""

    steps: Annotated[Whole, Field(ge=1, le=64, description="Largest number of thresholds.")] = 5
    layers: Annotated[Whole, Field(ge=1, le=16, description="Number of layers in the table, at least the depth.")] = 5


class GrowthSolver(Section):
    """Numerical parameters of the growth of the layers, and the size of the table."""

    nodes: Nodes = 2048
    resolution: Resolution = 0.75
    layers: Annotated[
        Whole, Field(ge=1, le=16, description="Number of layers in the table, at least the number of rows of W.")
    ] = 5


class RecoverySolver(Section):
    """Numerical parameters of the search for exact recovery."""

    nodes: Nodes = 256
    tolerance: Annotated[
        float,
        Field(gt=0, le=0.1, description="Largest relative change of the precision Q_hat per iteration at convergence."),
    ] = 0.001
    max_iterations: Annotated[Whole, Field(ge=1, le=100000, description="Largest number of iterations.")] = 200
    highest: Annotated[float, Field(gt=0, le=100, description=(
        "Largest number of samples per dimension n / D; the smallest is a hundredth of it."
    ))] = 4.0  # fmt: skip
    width: Annotated[
        float, Field(gt=0, le=1, description="Relative width of the bracket, as a fraction of its lower end.")
    ] = 0.02
    resolution: Resolution = 0.75


class OfAtlas(OfNodes, Specification):
    """An estimator of one model, or of many whose keys are scanned."""

    @classmethod
    def cross_checks(cls, estimator):
        """All layers have a place, and the checks of the link."""
        layers = getattr(estimator.solver, "layers", None)
        deepest = max(estimator.grid.get("depth", [estimator.model.get("depth", 1)]))
        if layers is not None and deepest > layers:
            yield ("solver", "layers"), f"{layers}: allowed: ≥ {deepest}, the largest depth"
            return
        yield from super().cross_checks(estimator)


class Staircase(OfAtlas):
    """Linear stability determines all thresholds of weak recovery, one after the other."""

    model: TeacherModel = TeacherModel()
    grid: TeacherGrid = TeacherGrid()
    solver: StaircaseSolver = StaircaseSolver()


class ThresholdAtlas(OfAtlas):
    """Linear stability determines the thresholds of weak recovery of many models, by layers."""

    model: TeacherModel = TeacherModel()
    grid: TeacherAtlasGrid = TeacherAtlasGrid()
    solver: AtlasSolver = AtlasSolver()


class ExactRecovery(OfAtlas):
    """State evolution brackets the number of samples above which everything is recovered exactly."""

    model: TeacherModel = TeacherModel()
    grid: TeacherAtlasGrid = TeacherAtlasGrid()
    solver: RecoverySolver = RecoverySolver()


class OptimalRecovery(ExactRecovery):
    """State evolution brackets the number of samples above which exact recovery is Bayes-optimal."""


class ShallowGrowth(OfNodes, Specification):
    """Linear stability determines how fast each layer grows where the last layer alone is learned."""

    needs: ClassVar = frozenset({POSTERIOR, DIAGONAL_OVERLAP})
    model: LinkModel = LinkModel(depth=3)
    grid: GrowthGrid
    solver: GrowthSolver = GrowthSolver()

    @classmethod
    def _at(cls, estimator, parameters, keys):
        found = list(super()._at(estimator, parameters, keys))
        rows, layers = load_link(parameters, estimator.project).rows if not found else 1, estimator.solver.layers
        return found or (
            [] if rows <= layers else [(("solver", "layers"), f"{layers}: allowed: ≥ {rows}, the rows of W")]
        )


class Solver(Section):
    """Numerical parameters of the thresholds."""

    nodes: Annotated[
        Nodes,
        Field(description="Sobol nodes per replica, a power of two; eight times as many for the first threshold."),
    ] = 1024
    resolution: Resolution = 0.75


class Thresholds(Section):
    """Keys of a question for thresholds."""

    model: TeacherModel
    solver: Solver = Solver()
    replicas: Annotated[Whole, Field(ge=2, description="Independent scramblings of the nodes.")] = 4
    seed: Annotated[Whole, Field(ge=0, description="Root seed of the nodes.")] = 0
