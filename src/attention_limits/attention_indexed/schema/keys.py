"""Keys of the attention-indexed family, with ranges, meanings and normalisation."""

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from attention_limits.attention_indexed.channels.names import NAMES, WITH_POSTERIOR
from attention_limits.attention_indexed.model.sizes import ASPECTS
from attention_limits.pipeline.base.errors import did_you_mean
from attention_limits.pipeline.experiments.specification import Arguments, Section, Whole

# Below it the limit of small width is right to 1e-5, and the state evolution is not promised.
SMALLEST_RATIO = 1e-9


# Two layers: with more tokens too few nodes carry an output (docs/attention_indexed_two_layers.md). Matrix AMP needs accurate
# posterior variances.
MOST_TOKENS_OF_LAYERS, MOST_TOKENS_OF_AMP = 4, 3


def _one_of(name: str, names: tuple[str, ...]) -> str:
    path, separator, wanted = name.rpartition(":")
    if name not in names and not (separator and path.endswith(".py") and wanted.isidentifier()):
        known = ", ".join(json.dumps(item) for item in names)
        more = f"{known}, or path/to/file.py:name{did_you_mean(name, names)}"
        raise ValueError(f"{json.dumps(name)}: allowed: one of {more}")
    return name


def _posterior_or_file(name: str) -> str:
    return _one_of(name, WITH_POSTERIOR)


def _name_or_file(name: str) -> str:
    return _one_of(name, NAMES)


# Smaller noise would need state evolution below the least noise D that it follows.
SMALLEST_NOISE = 1e-9


def _no_noise_or_promised(noise: float) -> float:
    if 0 < noise < SMALLEST_NOISE:
        raise ValueError(f"{noise:g}: allowed: 0, or {SMALLEST_NOISE:g} to 1000")
    return noise


def _zero_or_promised(ratio: float) -> float:
    if 0 < ratio < SMALLEST_RATIO:
        raise ValueError(f"{ratio:g}: allowed: 0, or {SMALLEST_RATIO:g} to 100")
    return ratio


def _square_or_promised(aspect: float) -> float:
    low, high = ASPECTS
    if aspect != 1 and not low <= max(aspect, 1.0 / aspect) <= high:
        raise ValueError(f"{aspect:g}: allowed: 1, {low:g} to {high:g}, or the inverse of such a number")
    return aspect


# fmt: off
Alpha = Annotated[float, Field(ge=0, le=1000, description="Samples per squared dimension, n / d^2.")]
SampledAlpha = Annotated[float, Field(gt=0, le=1000, description="Samples per squared dimension, n / d^2.")]
RescaledAlpha = Annotated[float, Field(ge=0, le=1000, description="Samples per d r, alpha / rho.")]
Ratio = Annotated[float, Field(ge=SMALLEST_RATIO, le=100, description=
    "Width of the attention over the dimension, rho = r / d. Below 1e-9 use small_width_limit at 0, whose error is below 1e-5.")]
RatioOrLimit = Annotated[float, AfterValidator(_zero_or_promised), Field(ge=0, le=100, description=
    "Width of the attention over the dimension, rho = r / d. 0: the limit of small width.")]
Tokens = Annotated[Whole, Field(ge=2, le=64, description="Number of tokens M of a sequence.")]
OutputTokens = Annotated[Whole, Field(ge=1, le=64, description=
    "Number of tokens M of a sequence; at least 2 for softmax and hardmax, at most 8 for hardmax, 2 for hardmax_published. "
    "One token has the score h = (x^T S x - tr S) / sqrt(d): a quadratic network.")]
Skip = Annotated[float, Field(ge=0, le=1000, description=
    "Strength c of the residual connection between the layers; at least 1 for softmax of more than two tokens.")]
AnySkip = Annotated[float, Field(ge=0, le=1000, description=
    "Strength c of the residual connection between the layers; one layer has none.")]
Layers = Annotated[Whole, Field(ge=1, le=8, description="Number of layers L.")]
LayerTokens = Annotated[Whole, Field(ge=2, le=MOST_TOKENS_OF_LAYERS, description=
    "Number of tokens M of a sequence; 2 for hardmax.")]
AmpLayerTokens = Annotated[Whole, Field(ge=2, le=MOST_TOKENS_OF_AMP, description=
    "Number of tokens M of a sequence; 2 for hardmax.")]
LastOutput = Annotated[Literal["softmax", "hardmax"], Field(description=
    "Output of the last layer: softmax of each row of its scores, or the position of the largest score of each row. The first "
    "layer is a softmax.")]
Beta = Annotated[float, Field(ge=0.001, le=1000, description=
    "Inverse temperature of the softmax, per score h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d). "
    "Below 0.001 outputs are linear in the scores.")]
DescentBeta = Annotated[float, Field(ge=0.01, le=30, description=
    "Inverse temperature of the softmax, per score. Outside of the range outputs are too flat or too saturated for the single "
    "precision of the descent, and Adam follows rounding errors.")]
_OUTPUTS = (
    "Output of the scores h: linear, h itself; softmax, of each row; hardmax, the position of the largest entry of each row; "
    "or path/to/file.py:name of a channel of the user, relative to the project folder. ")
Output = Annotated[str, AfterValidator(_posterior_or_file), Field(min_length=1, description=
    _OUTPUTS + "For hardmax_published there is only the state evolution, because it is not a posterior mean.")]
OutputOrPublished = Annotated[str, AfterValidator(_name_or_file), Field(min_length=1, description=
    _OUTPUTS + "hardmax_published follows the published code; its curve is not Bayes-optimal.")]
Noise = Annotated[float, AfterValidator(_no_noise_or_promised), Field(ge=0, le=1000, description=
    "Variance of the Gaussian noise on every entry of the output; 0 for none, else at least 1e-9. A channel of a file with a "
    "likelihood or an exact posterior has no further noise.")]
Spectrum = Annotated[str, Field(pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$", description=
    "path/to/file.py:function of the user, relative to the project folder; function(ratio) returns the law of the eigenvalues "
    "of S. They are scaled to variance one. Without it S = W W^T / sqrt(r d).")]
Untied = Annotated[bool, Field(description=
    "false: S = W W^T / sqrt(r d) and symmetric scores. true: queries and keys have separate weights, S = Q K^T / sqrt(r d), and "
    "read separate sequences of M tokens (cross-attention), h_ab = x_a^T S z_b / sqrt(d); for linear, softmax and hardmax, with "
    "output noise only for linear.")]
Aspect = Annotated[float, AfterValidator(_square_or_promised), Field(gt=0, le=ASPECTS[1], description=
    "Dimension of the keys over that of the queries, d_k / d_q, of untied attention; 1, or from 1.05 to 1000, or the inverse of "
    "such a number. d = sqrt(d_q d_k). Other values than 1 need a ratio of 0.01 to 10.")]
Tied = Annotated[Literal[False], Field(description="Only state evolution and matrix AMP treat untied queries and keys.")]
Parameters = Annotated[Arguments, Field(description="Keyword arguments of a channel of the user, by name.")]
DenoisingNoise = Annotated[float, Field(ge=1e-5, le=1000, description=
    "Variance D of the noise: the matrix is observed as S + sqrt(D) Z, Z_ij of variance 1 / d (tied: symmetric, 2 / d on the "
    "diagonal).")]
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
InformedStart = Annotated[float, Field(ge=1e-6, le=0.5, description=
    "Initial error of both layers at the informed start. The other start is the uninformed one, of error 1.")]
StartError = Annotated[float, Field(ge=1e-6, le=1, description=
    "Error of both layers at the start of matrix AMP. 1: the prior means, the uninformed start. Below 1: the posterior means of "
    "S_l given S_l + sqrt(D) Z, Z of the Gaussian orthogonal ensemble and D of this error, an informed start.")]
Degree = Annotated[Whole, Field(ge=6, le=40, description=
    "Degree of the polynomials in log V_1 and log V_2 that interpolate k_1 and k_2. The stated errors contain the change from "
    "two degrees less.")]
SmallestError = Annotated[float, Field(ge=1e-5, le=0.1, description=
    "Smallest error V of a layer down to which fixed points are followed.")]
# fmt: on


class Iteration(Section):
    """Numerical parameters of the iteration of matrix AMP."""

    max_iterations: MaxIterations = 1500
    damping: Damping = 0.5
    tolerance: AmpTolerance = 0.002


class FreshIteration(Iteration):
    """Numerical parameters of matrix AMP and of its errors on fresh data."""

    fresh_sequences: FreshSequences = 2000


class FreshAmpSolver(FreshIteration):
    """Numerical parameters of matrix AMP at one dimension."""

    dimension: Dimension = 100
