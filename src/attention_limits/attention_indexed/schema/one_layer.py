"""Specifications of the attention-indexed family. The model: x_a in R^d, S = W W^T / sqrt(r d), W of d x r."""

import itertools
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from attention_limits.attention_indexed.channels.names import code_modules as channel_modules
from attention_limits.attention_indexed.priors.loading import code_modules as prior_modules
from attention_limits.attention_indexed.schema.checks import (
    channel_checks,
    memory_checks,
    size_checks,
    spectrum_checks,
    untied_checks,
)
from attention_limits.attention_indexed.schema.keys import (
    Alpha,
    Aspect,
    Beta,
    DenoisingNoise,
    DescentBeta,
    Dimension,
    FreshAmpSolver,
    FreshIteration,
    FreshSequences,
    LearningRate,
    Noise,
    OneReplica,
    Output,
    OutputOrPublished,
    OutputTokens,
    Parameters,
    Ratio,
    RatioOrLimit,
    RecordEvery,
    RescaledAlpha,
    SampledAlpha,
    Spectrum,
    Starts,
    Steps,
    Tied,
    Tokens,
    TrainingTolerance,
    Untied,
)
from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.specification import Axis, Problem, Section, Specification, Whole


class Layer(Section):
    """The keys of every layer of attention."""

    tokens: Tokens
    ratio: Ratio
    beta: Beta = 1.0


class OneLayer(Layer):
    """One layer of attention."""

    untied: Tied = False


class LayerWithOutput(Layer):
    """One layer of attention and its output."""

    tokens: OutputTokens
    untied: Untied = False
    channel: Output
    output_noise: Noise = 0.0
    parameters: Parameters | None = None


class LayerWithSpectrum(LayerWithOutput):
    """One layer of attention, its output, and the law of S."""

    aspect: Aspect = 1.0
    spectrum: Spectrum | None = None


class OneLayerGrid(Section):
    """Scanned parameters of one layer."""

    alpha: Axis[Alpha]
    ratio: Axis[Ratio] | None = None
    tokens: Axis[Tokens] | None = None


class OutputGrid(OneLayerGrid):
    """Scanned parameters of one layer and of its output."""

    tokens: Axis[OutputTokens] | None = None
    output_noise: Axis[Noise] | None = None


class OneLayerSamples(OneLayerGrid):
    """Scanned parameters of simulated data of one layer."""

    alpha: Axis[SampledAlpha]


class OutputSamples(OutputGrid):
    """Scanned parameters of simulated data of one layer and of its output."""

    alpha: Axis[SampledAlpha]


class SizesGrid(OneLayerSamples):
    """Scanned parameters of simulated data of several dimensions."""

    tokens: Axis[OutputTokens] | None = None
    dimension: Axis[Dimension]


class DescentGrid(OneLayerSamples):
    """Scanned parameters of simulated data of gradient descent."""

    dimension: Axis[Dimension] | None = None


class OfChannel(Specification):
    """An estimator of one layer whose channel may be in a file."""

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """A model without untied form; too many tokens; a channel or spectrum that cannot be loaded, or fails its quick check."""
        return untied_checks(estimator) or [*channel_checks(estimator), *spectrum_checks(estimator)]

    @classmethod
    def code_files(cls, estimator) -> list[Path]:
        """The files of the user that define the channel and the spectrum, where they exist."""
        named = (estimator.model.get(key, "").rpartition(":") for key in ("channel", "spectrum"))
        paths = [user_file(estimator.project, path) for path, separator, _ in named if separator]
        return [path for path in dict.fromkeys(paths) if path.is_file()]

    @classmethod
    def code_modules(cls, estimator) -> list[str]:
        """The modules of the channels and of the laws of S at all points: `load_channel` and `load_prior` import them by name."""
        keys = ("tokens", "output_noise", "untied", "aspect", "spectrum")
        axes = [[(key, value) for value in estimator.grid[key]] for key in keys if key in estimator.grid]
        models = [{**estimator.model, **dict(point)} for point in itertools.product(*axes)]
        channels = (name for model in models for name in channel_modules(model))
        return sorted({*channels, *(name for model in models for name in prior_modules(model))})


class Curve(OfChannel):
    """State evolution of one layer, without random numbers."""

    replicas: OneReplica = 1


class Simulation(OfChannel):
    """An algorithm on n simulated sequences of M tokens of dimension d at every point."""

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Problems of every channel, sizes that round to zero, and data that exceed the memory."""
        return [*super().cross_checks(estimator), *size_checks(estimator), *memory_checks(estimator, layers=1)]

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """One product of all tokens with a d x d matrix: n M d^2, n = alpha d^2."""
        return {"alpha": 1, "dimension": 4, "tokens": 1}


class StateEvolution(Curve):
    """State evolution computes the error against the number of samples; it is Bayes-optimal where it is unique."""

    class Model(LayerWithSpectrum):
        """One layer of attention, its output, and the law of S."""

        channel: OutputOrPublished

    model: Model
    grid: OutputGrid


class PhaseComparison(Curve):
    """State evolution computes all solutions, and their free entropies say which one is Bayes-optimal."""

    model: LayerWithSpectrum
    grid: OutputGrid


class SmallWidthLimit(Curve):
    """State evolution computes the error against alpha / rho, down to rho = 0; it is Bayes-optimal where it is unique."""

    class Model(LayerWithOutput):
        """One layer of attention and its output, also at rho = 0."""

        channel: OutputOrPublished
        ratio: RatioOrLimit

    class Grid(Section):
        """Scanned parameters of one layer, also at rho = 0."""

        rescaled_alpha: Axis[RescaledAlpha]
        ratio: Axis[RatioOrLimit] | None = None
        tokens: Axis[OutputTokens] | None = None

    model: Model
    grid: Grid


class Denoising(Curve):
    """The Bayes-optimal error of S observed with Gaussian noise: the denoising that state evolution and AMP contain."""

    class Model(Section):
        """The law of S."""

        ratio: Ratio
        untied: Untied = False
        aspect: Aspect = 1.0
        spectrum: Spectrum | None = None

    class Grid(Section):
        """Scanned parameters."""

        denoising_noise: Axis[DenoisingNoise]
        ratio: Axis[Ratio] | None = None

    model: Model
    grid: Grid


class MatrixAmp(Simulation):
    """Matrix AMP (approximate message passing) estimates the attention matrix."""

    model: LayerWithSpectrum
    grid: OutputSamples
    solver: FreshAmpSolver = FreshAmpSolver()


class MatrixAmpSizes(Simulation):
    """Matrix AMP estimates attention matrices of several dimensions; state evolution gives the limit."""

    model: LayerWithSpectrum
    grid: SizesGrid
    solver: FreshIteration = FreshIteration()


class PosteriorSampling(Simulation):
    """Elliptical slice sampling draws the weights from the exact posterior of a hardmax layer of small dimension."""

    class Model(OneLayer):
        """One layer of hardmax attention."""

        channel: Annotated[Literal["hardmax"], Field(description="Position of the largest score of each row.")]

    class Grid(SizesGrid):
        """Scanned parameters of simulated data of several small dimensions."""

        dimension: Axis[Annotated[Whole, Field(ge=2, le=64, description="Dimension d of a token.")]]

    class Solver(Section):
        """Numerical parameters of the chains."""

        burn_in: Annotated[Whole, Field(ge=0, le=10_000_000, description=
            "Steps from the teacher, a sample of the posterior, to the first sample.")] = 5000  # fmt: skip
        steps: Annotated[Whole, Field(ge=4, le=10_000_000, description="Steps of a chain after the burn-in.")] = 40_000
        record_every: Annotated[Whole, Field(ge=1, le=1_000_000, description=
            "Steps between two samples; it divides the steps.")] = 20  # fmt: skip

    model: Model
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Problems of every simulation, and a number of steps that is no multiple of `record_every`, or below four times it."""
        steps, every = estimator.solver.steps, estimator.solver.record_every
        wrong = steps % every or steps < 4 * every
        text = f"{every}: allowed: divisors of the {steps} steps, up to a quarter"
        return super().cross_checks(estimator) + ([(("solver", "record_every"), text)] if wrong else [])

    @classmethod
    def code_modules(cls, estimator) -> list[str]:
        """None: the chains load no channel and no law of S."""
        return []

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """Every step of a chain computes the scores of all sequences."""
        return {**super().work(estimator), "steps": 1}


class GradientDescent(Simulation):
    """Adam minimises the squared training error from several random starts; the estimator averages their estimates."""

    class Model(OneLayer):
        """One layer of softmax attention."""

        beta: DescentBeta = 1.0

    class Solver(Section):
        """Numerical parameters of gradient descent."""

        dimension: Dimension = 100
        starts: Starts = 32
        steps: Steps = 1000
        learning_rate: LearningRate = 0.1
        record_every: RecordEvery = 100
        tolerance: TrainingTolerance = 0.0
        fresh_sequences: FreshSequences = 2000

    model: Model
    grid: DescentGrid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """Every step of a start multiplies all tokens with weights of d x r: n M d r."""
        return {**super().work(estimator), "ratio": 1, "steps": 1, "starts": 1}
