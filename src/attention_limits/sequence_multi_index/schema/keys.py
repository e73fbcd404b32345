"""Keys that several estimators of the sequence multi-index family share, with ranges and normalisation."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from attention_limits.pipeline.experiments.specification import Arguments, Axis, Section, Whole

Skip = Annotated[
    float,
    Field(ge=0, le=100, description="Strength c of the residual connection, in units of the attention's row sum."),
]
Beta = Annotated[float, Field(ge=0.001, le=10, description=(
    "Inverse temperature of the softmax, per product of two fields of unit variance. Below the minimum the attention is uniform "
    "up to its last digits, and rounding loses the information in the output."
))]  # fmt: skip
Tokens = Annotated[Whole, Field(ge=1, le=64, description="Number of tokens M.")]
# At the finest resolution a sampled channel hardly resolves less noise, whose posterior few nodes meet.
SMALLEST_NOISE = 1e-6


def _no_noise_or_promised(noise: float) -> float:
    if 0 < noise < SMALLEST_NOISE:
        raise ValueError(f"{noise:g}: allowed: 0, or {SMALLEST_NOISE:g} to 1000")
    return noise


Noise = Annotated[float, AfterValidator(_no_noise_or_promised), Field(ge=0, le=1000, description=(
    "Variance of independent Gaussian noise on every entry of the output; 0 for none, else at least 1e-6. Below 1e-3 a sampled "
    "channel needs more resolution; `resolved` says whether it has it."
))]  # fmt: skip
Ratio = Annotated[float, Field(ge=0.001, le=20, description=(
    "Depth divided by skip strength, kappa = L / c, of layers rescaled by 1 / c. Below the minimum the layers before the last "
    "one change only the last digits of the output."
))]  # fmt: skip
Omega = Annotated[float, Field(ge=0, lt=1, description="Weight omega of the positional part of the attention.")]
Exponent = Annotated[Whole, Field(ge=1, le=16, description="Exponent of one field.")]
AttentionLayers = Annotated[Whole, Field(ge=1, le=10000, description="Number of attention layers L.")]

Alpha = Annotated[float, Field(ge=0, le=100, description="Samples per dimension, n / D.")]
SomeAlpha = Annotated[float, Field(gt=0, le=100, description="Samples per dimension, n / D.")]
Nodes = Annotated[
    Literal[16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576],
    Field(description="Sobol nodes per replica, a power of two."),
]
Resolution = Annotated[float, Field(ge=0.25, le=8, description=(
    "Accuracy of the channel: quadrature nodes per narrowest width, or root of the number of sampling nodes, both relative to "
    "resolution 1. For attention of two layers and two tokens the root mean square error of posterior means, in units of their "
    "prior spread, is 0.06 at 0.25, 0.02 at 0.75, 0.01 at 1, 0.005 at 2 for beta <= 50; for beta = 1 and c >= 0.5 it is at least "
    "ten times smaller."
))]  # fmt: skip
SideInformation = Annotated[float, Field(ge=0, lt=1, description=(
    "Signal strength kappa: in addition to the data the solver observes sqrt(kappa) W + sqrt(1 - kappa) noise."
))]  # fmt: skip
Regularization = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="Constant epsilon added to the diagonal of V, in units of the prior variance; 0 is the model itself.",
    ),
]
Dimension = Annotated[Whole, Field(ge=10, le=100000, description="Dimension D of the weights and tokens.")]
Damping = Annotated[float, Field(ge=0, lt=1, description="Weight of the OLD iterate.")]
StartOverlap = Annotated[float, Field(ge=1e-12, lt=1, description=(
    "Squared norm per dimension q_0 of the random initial estimate, in units of the prior variance. Rounding limits it from "
    "below."
))]  # fmt: skip
GampTolerance = Annotated[float, Field(gt=0, le=0.1, description=(
    "Relative change of every layer's estimate per iteration at convergence, root mean square."
))]  # fmt: skip


Heads = Annotated[Whole, Field(ge=1, le=16, description="Number of attention heads H of a layer.")]
Rank = Annotated[Whole, Field(ge=1, le=16, description="Rank p of an attention layer.")]


class LinkModel(Section):
    """The link y = g(h) and its parameters. The page docs/links.md lists the parameters of each link and their defaults."""

    link: Annotated[str, Field(min_length=1, description=(
        "Name of a provided link (docs/links.md), or path/to/file.py:name of a link or a function of the fields of the user, "
        "relative to the project folder."
    ))] = "deep_attention"  # fmt: skip
    noise: Noise | None = None
    skip: Skip | None = None
    beta: Beta | None = None
    depth: AttentionLayers | None = None
    tokens: Tokens | None = None
    activation: Annotated[
        Literal["softmax", "linear"], Field(description="Function of the attention scores: softmax by rows, or the identity.")
    ] | None = None  # fmt: skip
    heads: Heads | None = None
    rank: Rank | None = None
    readout: Annotated[list[Annotated[float, Field(ge=0.01, le=100, description="Weight of one head.")]], Field(
        min_length=1, max_length=16, description="Fixed readout weights of the heads, one number per head."
    )] | None = None  # fmt: skip
    untied: Annotated[bool, Field(description="Whether a head has queries and keys apart.")] | None = None
    shared: Annotated[bool, Field(description="Whether all heads share one row of values.")] | None = None
    ratio: Ratio | None = None
    omega: Omega | None = None
    positional: Annotated[list[list[float]], Field(description=(
        "Positional attention matrix A, M rows of M numbers >= 0; each row sums to one."
    ))] | None = None  # fmt: skip
    rows: (
        Annotated[
            Whole,
            Field(ge=1, le=16, description="Number P of rows of fields that a function or a link of one token reads."),
        ]
        | None
    ) = None
    exponents: Annotated[list[Exponent], Field(
        min_length=1, max_length=16, description="Exponents of a monomial, one whole number >= 1 per field."
    )] | None = None  # fmt: skip
    parameters: (
        Annotated[Arguments, Field(description="Other keyword arguments of a link of the user, by name.")] | None
    ) = None


class LinkGrid(Section):
    """Scanned parameters of the link. A parameter that changes the number of rows of W cannot be scanned."""

    skip: Axis[Skip] | None = None
    beta: Axis[Beta] | None = None
    tokens: Axis[Tokens] | None = None
    noise: Axis[Noise] | None = None
    ratio: Axis[Ratio] | None = None
    omega: Axis[Omega] | None = None


class GaussianPrior(Section):
    """Independent standard normal weights."""

    name: Annotated[Literal["gaussian"], Field(description="Standard normal weights.")]


class BinaryPrior(Section):
    """Independent weights +1 and -1."""

    name: Annotated[Literal["binary"], Field(description="Weights +1 and -1.")]
    mean: Annotated[float, Field(ge=-0.99, le=0.99, description="Mean of a weight.")] = 0.0


class BernoulliGaussPrior(Section):
    """Independent weights: zero, or normal."""

    name: Annotated[Literal["bernoulli_gauss"], Field(description="Weights that are zero or normal.")]
    density: Annotated[float, Field(ge=0.001, le=0.999, description=(
        "Probability that a weight is not zero; such a weight has the variance 1 / density."
    ))]  # fmt: skip


class MixturePrior(Section):
    """Independent weights from any mixture of points and normal laws."""

    name: Annotated[Literal["mixture"], Field(description="Weights from a mixture of points and normal laws.")]
    shares: Annotated[list[Annotated[float, Field(gt=0.0, le=1.0)]], Field(min_length=1, max_length=64, description=(
        "Probability of each part of the mixture; they sum to one."
    ))]  # fmt: skip
    means: Annotated[list[float], Field(min_length=1, max_length=64, description="Mean of each part.")]
    deviations: Annotated[list[Annotated[float, Field(ge=0.0)]], Field(min_length=1, max_length=64, description=(
        "Standard deviation of each part, 0 for a point; the second moment of a weight, the sum of share (mean² + deviation²), "
        "is one."
    ))]  # fmt: skip


class FilePrior(Section):
    """Independent weights from a mixture that a function of the user lists."""

    name: Annotated[Literal["file"], Field(description="Weights from a mixture that a Python file lists.")]
    path: Annotated[str, Field(pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$", description=(
        "path/to/file.py:function of the user, relative to the project folder. It returns a list of (share, mean, deviation), "
        "one for each part; the second moment of a weight is one. `prior: path/to/file.py:function` is the same."
    ))]  # fmt: skip
    parameters: Annotated[Arguments, Field(description="Keyword arguments of the function, by name.")] | None = None


class CorrelatedPrior(Section):
    """Normal weights; the rows of W are correlated, the dimensions independent."""

    name: Annotated[Literal["correlated"], Field(description="Normal weights with correlated rows.")]
    covariance: Annotated[list[list[float]], Field(min_length=1, description=(
        "Covariance C of the rows of W: P rows of P numbers, positive definite, with ones on the diagonal."
    ))]  # fmt: skip


Block = Annotated[Whole, Field(ge=1, le=16, description="Number of a block.")]


class BlocksPrior(Section):
    """Normal weights; each row of W reads one block of the dimensions, as heads that split the embedding."""

    name: Annotated[
        Literal["blocks"], Field(description="Normal weights in one block of the dimensions, zero elsewhere.")
    ]
    blocks: Annotated[list[Block], Field(min_length=1, max_length=128, description=(
        "Block of each row of W, P numbers from 1 to B; each block has D / B dimensions and at least one row. The weights of a "
        "block have the variance B."
    ))]  # fmt: skip


def _of_file(prior):
    """The name of a function in a file, in the place of a mapping, as the mapping."""
    return {"name": "file", "path": prior} if isinstance(prior, str) and ":" in prior else prior


ParticipationRatio = Annotated[float, Field(gt=0, le=1, description=(
    "Participation ratio (tr Sigma)^2 / (D tr Sigma^2) of the covariance of the dimensions of a token, 1 for independent ones; "
    "only for power_law and two_values."
))]  # fmt: skip
_Share = Annotated[float, Field(gt=0, lt=1)]


class Eigenvalues(Section):
    """Given eigenvalues."""

    name: Annotated[Literal["eigenvalues"], Field(description="Eigenvalues in a list.")]
    values: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1, max_length=4096, description=(
        "Eigenvalues of Sigma: 0, or at least 1e-4; their mean is one."
    ))]  # fmt: skip
    shares: Annotated[list[Annotated[float, Field(gt=0, le=1)]], Field(min_length=1, max_length=4096, description=(
        "Share of the dimensions that has each eigenvalue; they sum to one. Without this key the shares are equal."
    ))] | None = None  # fmt: skip


class EigenvalueFile(Section):
    """Eigenvalues in a file."""

    name: Annotated[Literal["file"], Field(description="Eigenvalues in a text file.")]
    path: Annotated[str, Field(min_length=1, description=(
        "Path from the project folder: one eigenvalue per line, or an eigenvalue and its share; # begins a comment."
    ))]  # fmt: skip


class PowerLaw(Section):
    """Eigenvalues that fall with their rank like a power."""

    name: Annotated[Literal["power_law"], Field(description="Eigenvalues k^-a, up to a factor, k = 1 ... count.")]
    count: Annotated[Whole, Field(ge=2, le=4096, description="Number of different eigenvalues, of equal shares.")] = 64


class TwoValues(Section):
    """One large and one small eigenvalue."""

    name: Annotated[Literal["two_values"], Field(description="One large and one small eigenvalue.")]
    share: Annotated[_Share, Field(description="Share of the dimensions that has the large eigenvalue.")]


class TeacherModel(LinkModel):
    """The link y = g(h), its parameters, and the laws of the weights and of the tokens."""

    prior: Annotated[
        GaussianPrior | BinaryPrior | BernoulliGaussPrior | MixturePrior | FilePrior | CorrelatedPrior | BlocksPrior,
        Field(discriminator="name", description=(
            "Law of the weights W of the teacher, which the solver knows; second moment one. Without this key the weights are "
            "standard normal. path/to/file.py:function stands for {name: file, path: path/to/file.py:function}."
        )),
        BeforeValidator(_of_file),
    ] | None = None  # fmt: skip
    token_covariance: Annotated[list[list[float]], Field(min_length=1, description=(
        "Covariance T between the tokens of a sequence, the same in every dimension: M rows of M numbers, positive definite, "
        "with ones on the diagonal. Without this key the tokens are independent."
    ))] | None = None  # fmt: skip
    covariance: Annotated[
        Eigenvalues | EigenvalueFile | PowerLaw | TwoValues,
        Field(discriminator="name", description=(
            "Spectrum of the covariance Sigma between the D dimensions of a token, tr Sigma / D = 1; the weights must be "
            "Gaussian, and the solver knows Sigma. Without this key the dimensions are independent."
        ))
    ] | None = None  # fmt: skip
    participation_ratio: ParticipationRatio | None = None


class TeacherGrid(LinkGrid):
    """Scanned parameters of the link, and of the covariance of the dimensions of a token."""

    participation_ratio: Axis[ParticipationRatio] | None = None
