"""Specifications of the attention-indexed family. The model: x_a in R^d, S = W W^T / sqrt(r d), W of d x r."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from attention_limits.attention_indexed.model import MOST_TOKENS, megabytes, sizes
from attention_limits.pipeline.specification import Axis, DataSpecification, Problem, Section, Specification, Whole

PREFIX = "aim"

# Below it the limit of small width is right to 1e-5, and the state evolution is not promised.
SMALLEST_RATIO = 1e-9


def _zero_or_promised(ratio: float) -> float:
    if 0 < ratio < SMALLEST_RATIO:
        raise ValueError(f"{ratio:g}: allowed: 0, or {SMALLEST_RATIO:g} to 100")
    return ratio


# fmt: off
Alpha = Annotated[float, Field(ge=0, le=1000, description="Samples per squared dimension, n / d^2.")]
SampledAlpha = Annotated[float, Field(gt=0, le=1000, description="Samples per squared dimension, n / d^2.")]
RescaledAlpha = Annotated[float, Field(ge=0, le=1000, description="Samples per d r, alpha / rho.")]
Ratio = Annotated[float, Field(ge=SMALLEST_RATIO, le=100, description=
    "Width of the attention over the dimension, rho = r / d. Below 1e-9 use small_width_limit at 0, whose error is below 1e-5.")]
RatioOrLimit = Annotated[float, AfterValidator(_zero_or_promised), Field(ge=0, le=100, description=
    "Width of the attention over the dimension, rho = r / d. 0: the limit of small width.")]
Tokens = Annotated[Whole, Field(ge=2, le=64, description=
    "Number of tokens T of a sequence; at most 8 for hardmax, 2 for hardmax_published.")]
Skip = Annotated[float, Field(ge=1, le=1000, description=
    "Strength c of the residual connection between the layers. For c >= 1 every mixing matrix is invertible.")]
Beta = Annotated[float, Field(ge=0.001, le=1000, description=
    "Inverse temperature of the softmax, per score h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d). "
    "Below 0.001 outputs are linear in the scores.")]
DescentBeta = Annotated[float, Field(ge=0.01, le=30, description=
    "Inverse temperature of the softmax, per score. Outside of the range outputs are too flat or too saturated for the single "
    "precision of the descent, and Adam follows rounding errors.")]
Output = Annotated[Literal["linear", "softmax", "hardmax"], Field(description=
    "Output of the scores h: h itself, its softmax by rows, or the position of the largest entry of each row. "
    "For hardmax_published there is only the state evolution, because it is not a posterior mean.")]
OutputOrPublished = Annotated[Literal["linear", "softmax", "hardmax", "hardmax_published"], Field(description=
    "Output of the scores h: h itself, its softmax by rows, or the position of the largest entry of each row. "
    "hardmax_published follows the published code; its curve is not Bayes-optimal.")]
OneReplica = Annotated[Whole, Field(ge=1, le=1, description="The curve has no random numbers.")]
Dimension = Annotated[Whole, Field(ge=2, le=10_000, description="Dimension d of a token.")]
MaxIterations = Annotated[Whole, Field(ge=1, le=10_000, description=
    "Largest number of iterations. A run ends earlier when it converges or when it makes no progress at any damping.")]
Damping = Annotated[float, Field(ge=0, lt=1, description=
    "First weight of the OLD estimate, variance and Onsager term. Without progress it rises in steps up to 7/8.")]
AmpTolerance = Annotated[float, Field(ge=0, le=1, description=
    "A run converges when the estimate changes less in an undamped step: root mean square, divided by the predicted error.")]
FreshSequences = Annotated[Whole, Field(ge=1, le=1_000_000, description=
    "Fresh sequences of each data set, on which the generalisation errors are measured.")]
Starts = Annotated[Whole, Field(ge=1, le=1000, description="Random starts per data set, with standard normal weights.")]
Steps = Annotated[Whole, Field(ge=1, le=1_000_000, description="Largest number of steps of Adam.")]
LearningRate = Annotated[float, Field(gt=0, le=10, description=
    "Learning rate of Adam on the loss sum over the data of ||y - softmax||^2 / d.")]
RecordEvery = Annotated[Whole, Field(ge=1, le=1_000_000, description="Steps between two records of the training error.")]
TrainingTolerance = Annotated[float, Field(ge=0, le=1, description=
    "A run ends at the first record at which every start has at most this squared training error per sequence.")]
Nodes = Annotated[Literal[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384], Field(description=
    "Sobol nodes of the average over the scores.")]
StartError = Annotated[float, Field(gt=0, le=1, description="Initial error of both layers; 1 is the uninformed start.")]
# fmt: on


class OneLayer(Section):
    """One layer of attention."""

    tokens: Tokens
    ratio: Ratio
    beta: Beta = 1.0


class OneLayerGrid(Section):
    """Scanned parameters of one layer."""

    alpha: Axis[Alpha]
    ratio: Axis[Ratio] | None = None
    tokens: Axis[Tokens] | None = None


class OneLayerSamples(OneLayerGrid):
    """Scanned parameters of simulated data of one layer."""

    alpha: Axis[SampledAlpha]


class SizesGrid(OneLayerSamples):
    """Scanned parameters of simulated data of several dimensions."""

    dimension: Axis[Dimension]


class TwoLayers(Section):
    """Two layers of softmax attention that read two tokens."""

    ratio: Ratio
    skip: Skip
    beta: Beta = 1.0


class TwoLayersGrid(Section):
    """Scanned parameters of two layers."""

    alpha: Axis[Alpha]
    ratio: Axis[Ratio] | None = None
    skip: Axis[Skip] | None = None


class TwoLayersSamples(TwoLayersGrid):
    """Scanned parameters of simulated data of two layers."""

    alpha: Axis[SampledAlpha]


class Iteration(Section):
    """Numerical parameters of the iteration of matrix AMP."""

    max_iterations: MaxIterations = 2000
    damping: Damping = 0.5
    tolerance: AmpTolerance = 0.002


class FreshIteration(Iteration):
    """Numerical parameters of matrix AMP and of its errors on fresh data."""

    fresh_sequences: FreshSequences = 2000


class AmpSolver(Iteration):
    """Numerical parameters of matrix AMP at one dimension."""

    dimension: Dimension = 100


class FreshAmpSolver(FreshIteration):
    """Numerical parameters of matrix AMP at one dimension."""

    dimension: Dimension = 100


class Curve(Specification):
    """State evolution of one layer, without random numbers."""

    replicas: OneReplica = 1

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """More tokens than the channel has."""
        return _tokens_of_channel(estimator)


class Simulation(Specification):
    """An algorithm on n simulated sequences of T tokens of dimension d at every point."""

    LAYERS: ClassVar[int] = 1

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """More tokens than the channel has, sizes that round to zero, and data that exceed the memory."""
        return [*_tokens_of_channel(estimator), *_sizes(estimator), *_memory(estimator, cls.LAYERS)]


class StateEvolution(Curve):
    """State evolution computes the Bayes-optimal error against the number of samples."""

    class Model(OneLayer):
        """One layer of attention and its output."""

        channel: OutputOrPublished

    model: Model
    grid: OneLayerGrid


class SmallWidthLimit(Curve):
    """State evolution computes the Bayes-optimal error against alpha / rho, down to the limit rho = 0."""

    class Model(StateEvolution.Model):
        """One layer of attention and its output, also at rho = 0."""

        ratio: RatioOrLimit

    class Grid(Section):
        """Scanned parameters of one layer, also at rho = 0."""

        rescaled_alpha: Axis[RescaledAlpha]
        ratio: Axis[RatioOrLimit] | None = None
        tokens: Axis[Tokens] | None = None

    model: Model
    grid: Grid


class MatrixAmp(Simulation):
    """Matrix AMP (approximate message passing) estimates the attention matrix."""

    class Model(OneLayer):
        """One layer of attention and its output."""

        channel: Output

    model: Model
    grid: OneLayerSamples
    solver: FreshAmpSolver = FreshAmpSolver()


class MatrixAmpSizes(Simulation):
    """Matrix AMP estimates attention matrices of several dimensions; state evolution gives the limit."""

    model: MatrixAmp.Model
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
        """As of every simulation, and a number of steps that is no multiple of `record_every`, or below four times it."""
        steps, every = estimator.solver["steps"], estimator.solver["record_every"]
        wrong = steps % every or steps < 4 * every
        text = f"{every}: allowed: divisors of the {steps} steps, up to a quarter"
        return super().cross_checks(estimator) + ([(("solver", "record_every"), text)] if wrong else [])


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
    grid: OneLayerSamples
    solver: Solver = Solver()


class TwoLayersStateEvolution(Specification):
    """State evolution computes the Bayes-optimal errors of both layers."""

    class Solver(Section):
        """Numerical parameters of the average over the scores and of the iteration."""

        nodes: Nodes = 1024
        start: StartError = 1.0
        tolerance: Annotated[float, Field(gt=0, le=1, description="Relative change of the errors at convergence.")] = (
            1e-4
        )
        max_iterations: Annotated[Whole, Field(ge=1, le=100_000, description="Largest number of iterations.")] = 500

    model: TwoLayers
    grid: TwoLayersGrid
    solver: Solver = Solver()


class TwoLayersAmp(Simulation):
    """Matrix AMP (approximate message passing) estimates the attention matrices of both layers."""

    LAYERS: ClassVar[int] = 2

    model: TwoLayers
    grid: TwoLayersSamples
    solver: AmpSolver = AmpSolver()


def _values(estimator, key: str) -> list:
    """All values of a parameter of the model, scanned or not; none where the estimator has no such parameter."""
    fixed = [estimator.model[key]] if key in estimator.model else []
    return estimator.grid.get(key, fixed)


def _tokens_of_channel(estimator) -> list[Problem]:
    channel, tokens = estimator.model.get("channel"), _values(estimator, "tokens")
    most = MOST_TOKENS.get(channel)
    if most is None or max(tokens) <= most:
        return []
    return [(("model", "channel"), f"{channel}: allowed with at most {most} tokens, not {max(tokens)}")]


def _dimensions(estimator) -> list[int]:
    """All dimensions of an estimator: the axis of its grid, or the one of its solver."""
    return estimator.grid.get("dimension") or [estimator.solver["dimension"]]


def _sizes(estimator) -> list[Problem]:
    """A number of sequences or a width that rounds to zero."""
    dimension, found = min(_dimensions(estimator)), []
    alpha, ratio = min(_values(estimator, "alpha")), min(_values(estimator, "ratio"))
    if alpha * dimension**2 < 0.5:
        allowed = f"allowed: at least {0.5 / dimension**2:g} at dimension {dimension}"
        found.append((("grid", "alpha"), f"{alpha:g}: {allowed}, or alpha d^2 sequences round to none"))
    if ratio * dimension < 0.5:
        place = "grid" if "ratio" in estimator.grid else "model"
        allowed = f"allowed: at least {0.5 / dimension:g} at dimension {dimension}"
        found.append(((place, "ratio"), f"{ratio:g}: {allowed}, or the width rho d rounds to zero"))
    return found


def _memory(estimator, layers: int) -> list[Problem]:
    """Data that exceed the memory. Two layers always read two tokens."""
    alpha, ratio = max(_values(estimator, "alpha")), max(_values(estimator, "ratio"))
    size, tokens = sizes(alpha, ratio, int(max(_dimensions(estimator)))), max(_values(estimator, "tokens"), default=2)
    needed, allowed = megabytes(size, tokens, layers, estimator.solver.get("starts", 0)), estimator.resources["memory"]
    if needed <= allowed:
        return []
    numbers = f"n T d = {size.count} x {tokens} x {size.dimension} numbers at alpha = {alpha:g} and r = {size.rank}"
    return [(("resources", "memory"), f"{allowed} MB: {numbers} need {needed} MB")]


DATA: dict[str, type[DataSpecification]] = {}
ESTIMATORS: dict[str, type[Specification]] = {
    "state_evolution": StateEvolution,
    "small_width_limit": SmallWidthLimit,
    "matrix_amp": MatrixAmp,
    "matrix_amp_sizes": MatrixAmpSizes,
    "posterior_sampling": PosteriorSampling,
    "gradient_descent": GradientDescent,
    "two_layers_state_evolution": TwoLayersStateEvolution,
    "two_layers_amp": TwoLayersAmp,
}
