"""Specifications of the experiments on two and more layers of attention of extensive width."""

from typing import Annotated

from pydantic import Field

from attention_limits.attention_indexed.schema.checks import memory_checks, size_checks, two_layer_checks
from attention_limits.attention_indexed.schema.keys import (
    Alpha,
    AmpLayerTokens,
    AnySkip,
    Beta,
    Degree,
    DescentBeta,
    Dimension,
    FreshAmpSolver,
    InformedStart,
    LastOutput,
    Layers,
    LayerTokens,
    LearningRate,
    Nodes,
    Ratio,
    SampledAlpha,
    Skip,
    SmallestError,
    StartError,
    Starts,
    Steps,
    Tied,
    Tokens,
)
from attention_limits.attention_indexed.schema.one_layer import GradientDescent
from attention_limits.pipeline.experiments.specification import Axis, Problem, Section, Specification, Whole


class TwoLayers(Section):
    """Two layers of attention, the first of them a softmax."""

    ratio: Ratio
    skip: Skip
    beta: Beta = 1.0
    tokens: LayerTokens = 2
    channel: LastOutput = "softmax"
    untied: Tied = False


class TwoLayersGrid(Section):
    """Scanned parameters of two layers."""

    alpha: Axis[Alpha]
    ratio: Axis[Ratio] | None = None
    skip: Axis[Skip] | None = None
    tokens: Axis[LayerTokens] | None = None


class TwoLayersSamples(TwoLayersGrid):
    """Scanned parameters of simulated data of two layers."""

    alpha: Axis[SampledAlpha]
    tokens: Axis[AmpLayerTokens] | None = None
    dimension: Axis[Dimension] | None = None
    start_error: Axis[StartError] | None = None


class OfTwoLayers(Specification):
    """An estimator of two layers."""

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Tokens and skip strengths that the last layer does not allow."""
        return two_layer_checks(estimator)


class TwoLayersStateEvolution(OfTwoLayers):
    """State evolution computes the errors of both layers from both starts, and which fixed point is Bayes-optimal."""

    class Solver(Section):
        """Numerical parameters of the average over the scores and of the iteration."""

        nodes: Nodes = 1024
        informed_start: InformedStart = 1e-3
        tolerance: Annotated[float, Field(gt=0, le=1, description="Relative change of the errors at convergence.")] = (
            1e-4
        )
        max_iterations: Annotated[Whole, Field(ge=1, le=100_000, description="Largest number of iterations.")] = 500

    model: TwoLayers
    grid: TwoLayersGrid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """The average over the scores."""
        return {"nodes": 1}


class TwoLayersPhases(OfTwoLayers):
    """The fixed points of two layers and their free entropies give the thresholds of learning at each width."""

    class Grid(Section):
        """Scanned parameters of the phases of two layers."""

        ratio: Axis[Ratio]
        skip: Axis[Skip] | None = None

    class Solver(Section):
        """Numerical parameters of the average over the scores and of its interpolation."""

        nodes: Nodes = 1024
        degree: Degree = 12
        smallest_error: SmallestError = 0.01

    model: TwoLayers
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """The average over the scores at each point of the table."""
        return {"nodes": 1, "degree": 2}


class TwoLayersAmp(OfTwoLayers):
    """Matrix AMP (approximate message passing) estimates the attention matrices of both layers."""

    class Model(TwoLayers):
        """Two layers of attention, the first of them a softmax."""

        tokens: AmpLayerTokens = 2

    model: Model
    grid: TwoLayersSamples
    solver: FreshAmpSolver = FreshAmpSolver()

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Problems of the state evolution, sizes that round to zero, and data that exceed the memory."""
        return [*super().cross_checks(estimator), *size_checks(estimator), *memory_checks(estimator, layers=2)]

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """As for one layer, n M d^2 with n = alpha d^2."""
        return {"alpha": 1, "dimension": 4, "tokens": 1}


class LayersDescent(Specification):
    """Adam minimises the squared training error of any number of layers; the estimator averages the estimates of its starts."""

    class Model(Section):
        """Layers of softmax attention. Each layer reads the tokens that the layers before it mixed."""

        layers: Layers = 2
        tokens: Tokens = 2
        ratio: Ratio
        skip: AnySkip = 1.0
        beta: DescentBeta = 1.0
        untied: Tied = False

    class Grid(Section):
        """Scanned parameters of simulated data of several layers."""

        alpha: Axis[SampledAlpha]
        ratio: Axis[Ratio] | None = None
        skip: Axis[AnySkip] | None = None
        tokens: Axis[Tokens] | None = None
        dimension: Axis[Dimension] | None = None

    class Solver(GradientDescent.Solver):
        """Numerical parameters of gradient descent of layers."""

        dimension: Dimension = 50
        starts: Starts = 8
        steps: Steps = 2000
        learning_rate: LearningRate = 0.02

    model: Model
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Sizes that round to zero, and data that exceed the memory."""
        return [*size_checks(estimator), *memory_checks(estimator, layers=estimator.model["layers"])]

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """Every step of a start multiplies all tokens with weights of d x r in each layer: n M d r."""
        return {"alpha": 1, "dimension": 4, "tokens": 1, "ratio": 1, "layers": 1, "steps": 1, "starts": 1}
