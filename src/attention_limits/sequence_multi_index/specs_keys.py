"""Keys that several estimators of the sequence multi-index family share, with ranges and normalisation."""

from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Whole

Skip = Annotated[
    float,
    Field(ge=0, le=100, description="Strength c of the residual connection, in units of the attention's row sum."),
]
Beta = Annotated[float, Field(ge=0.001, le=10, description=(
    "Inverse temperature of the softmax, per product of two fields of unit variance. Below the minimum the attention is uniform "
    "up to its last digits, and rounding loses the information in the output."
))]  # fmt: skip
Tokens = Annotated[Whole, Field(ge=1, le=64, description="Number of tokens M.")]
Noise = Annotated[
    float,
    Field(ge=0, le=1000, description="Variance of independent Gaussian noise on every entry of the output; 0 is none."),
]
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
    "Signal strength lambda: in addition to the data the solver observes sqrt(lambda) W + sqrt(1 - lambda) noise."
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
