"""The parameters of the sequence single-index family: ranges, defaults and normalisation (arXiv:2506.02651)."""

from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Whole

Tokens = Annotated[Whole, Field(ge=1, le=1000, description="Number of tokens M of a sequence.")]
Dimension = Annotated[Whole, Field(ge=5, le=10**9, description="Dimension d of a token.")]
Rate = Annotated[float, Field(ge=1e-9, le=100)]
FeedForwardRate = Annotated[Rate, Field(
    description="Learning rate gamma: a step changes w by gamma times the gradient. Above 2/sqrt(pi)/(M+1) no student escapes; "
    "below 1e-9 rounding loses a step at large d.",
)]  # fmt: skip
HermiteRate = Annotated[Rate, Field(
    description="Prefactor c of the learning rate: c for k = 1, c / log d for k = 2, c d^(-(k-2)/2) for larger k. Below 1e-9 "
    "rounding loses a step at large d.",
)]  # fmt: skip
AttentionRate = Annotated[Rate, Field(
    description="Learning rate gamma: a step changes the normalised weights by gamma/d times the gradient. Below 1e-9 rounding "
    "loses a step at large d.",
)]  # fmt: skip
Batch = Annotated[Whole, Field(ge=1, le=10_000, description="Sequences per step.")]
RateExponent = Annotated[
    float, Field(ge=-2, le=2, description="The learning rate of the tied student is multiplied by M to this power.")
]
Threshold = Annotated[float, Field(ge=1e-6, lt=1)]
HermiteOrder = Annotated[
    Whole, Field(ge=1, le=8, description="Order k of the Hermite polynomial, the information exponent.")
]
Strength = Annotated[float, Field(
    ge=0, le=5,
    description="Strength a of the positional part of the target: its scores are a^2 on and -a^2 off the diagonal.",
)]  # fmt: skip
Weight = Annotated[float, Field(ge=0, le=1, description="Weight omega of the positional part of the target.")]


class StrengthModel(Section):
    """The parameter of the lines of the positional-semantic model."""

    a: Strength


class PositionalSemanticModel(StrengthModel):
    """Target (1 - omega) softmax(z* z*^T) + omega A, student softmax(z z^T), two tokens."""

    omega: Weight


class AttentionModel(PositionalSemanticModel):
    """SGD on the positional-semantic model."""

    loss: Annotated[
        Literal["frobenius", "half_square"], Field(description="SGD descends the norm ||T - S||_F, or half its square.")
    ]
    dimension: Dimension
    learning_rate: AttentionRate
    batch: Batch = 1
    threshold: Annotated[Threshold, Field(
        description="A run escapes when e^2 + m^2 exceeds this value. Smaller values are within the noise of the first steps."
    )] = 0.5  # fmt: skip


class UntiedModel(Section):
    """Feed-forward student relu(M^(-1/2) sum_l w_l x_l), target sum_l He_2 / sqrt 2, squared loss."""

    tokens: Tokens
    dimension: Dimension
    learning_rate: FeedForwardRate
    threshold: Annotated[float | None, Field(
        ge=1e-6, lt=1, description="A run escapes when the overlap exceeds this value; without it 2/sqrt(d), twice the start."
    )] = None  # fmt: skip
    start: Annotated[Literal["overlapped", "random"], Field(
        description="Overlaps at the start: all d^(-1/2), as published, or those of random weights, drawn for each run, without "
        "a flow and a mean escape step."
    )] = "overlapped"  # fmt: skip


class TiedModel(UntiedModel):
    """As `UntiedModel`, with w_l = w."""

    learning_rate_exponent: RateExponent


class HermiteModel(Section):
    """Student and target M^(-1/2) sum_l h_k(z_l), h_k = He_k / sqrt(k!), loss half the squared error."""

    order: HermiteOrder
    tokens: Tokens
    dimension: Dimension
    learning_rate: HermiteRate
    threshold: Annotated[Threshold, Field(
        description="A run escapes when the overlap |m| exceeds this value. It starts at d^(-1/2)."
    )] = 0.5  # fmt: skip


class StrengthGrid(Section):
    """Scanned parameters."""

    a: Axis[Strength]


class WeightGrid(Section):
    """Scanned parameters."""

    omega: Axis[Weight]


class AttentionGrid(Section):
    """One scanned parameter."""

    omega: Axis[Weight] | None = None
    dimension: Axis[Dimension] | None = None
    learning_rate: Axis[AttentionRate] | None = None
    batch: Axis[Batch] | None = None


class PhaseGrid(StrengthGrid, WeightGrid):
    """Scanned parameters."""


class TokenLinesModel(Section):
    """The positional vectors p_l = signs_l p of the positional-semantic model, |p| = 1."""

    position: Annotated[
        Literal["alternating"] | list[Annotated[float, Field(ge=-10, le=10)]],
        Field(
            description="Signs, or other factors, of the tokens: alternating +1, -1, +1 ..., or one number per token."
        ),
    ] = "alternating"


class TokenLinesGrid(StrengthGrid):
    """Scanned parameters."""

    tokens: Axis[Annotated[Whole, Field(ge=2, le=32, description="Number of tokens M of a sequence.")]]


class PositionMinimaModel(Section):
    """Positional vectors in several directions, and the positional part of the target."""

    position: Annotated[
        list[list[Annotated[float, Field(ge=-4, le=4)]]],
        Field(
            min_length=2,
            max_length=8,
            description="Gram matrix of the positional vectors, M by M, of rank at most three. The positional part of the target "
            "is the attention of the fields a t_l, t_l the component of p_l along p_1 (or along the first vector that is not 0).",
        ),
    ]


class PositionMinimaGrid(Section):
    """Scanned parameters."""

    a: Axis[Strength]
    omega: Axis[Annotated[float, Field(
        ge=0, lt=1, description="Weight omega of the positional part of the target; at 1 the loss does not depend on m."
    )]]  # fmt: skip


class UntiedGrid(Section):
    """Scanned parameters."""

    tokens: Axis[Tokens]
    learning_rate: Axis[FeedForwardRate] | None = None
    dimension: Axis[Dimension] | None = None


class TiedGrid(UntiedGrid):
    """Scanned parameters."""

    learning_rate_exponent: Axis[RateExponent]


class HermiteGrid(Section):
    """Scanned parameters."""

    dimension: Axis[Dimension]


class SurfaceSolver(Section):
    """Numerical parameters."""

    points: Annotated[Whole, Field(ge=3, le=2001, description="Points of the grids of e and m from -1 to 1.")] = 201


class NodesSolver(Section):
    """Numerical parameters."""

    nodes: Annotated[
        Literal[256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576],
        Field(description="Sobol nodes per replica, a power of two."),
    ] = 32768


class PositionMinimaSolver(NodesSolver):
    """Numerical parameters."""

    degree: Annotated[Whole, Field(
        ge=7, le=31, description="Degree of the polynomials in each coordinate of the sphere. `truncation` shows their error."
    )] = 15  # fmt: skip


class SGDSolver(Section):
    """Length and record of the runs."""

    steps: Annotated[Whole, Field(ge=1, le=10**13, description="Longest run, in steps of SGD.")]
    records: Annotated[Whole, Field(
        ge=0, le=100_000,
        description="Number of steps, evenly spaced from 0 to the longest run, at which the cube stores the overlaps.",
    )] = 0  # fmt: skip
    stop: Annotated[bool, Field(description="Whether a run ends when it escapes.")] = True
