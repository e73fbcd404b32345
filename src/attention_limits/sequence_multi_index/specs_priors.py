"""Keys of the law of the weights."""

from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Section
from attention_limits.sequence_multi_index.specs_links import LinkModel


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


class CorrelatedPrior(Section):
    """Normal weights; the rows of W are correlated, the dimensions independent."""

    name: Annotated[Literal["correlated"], Field(description="Normal weights with correlated rows.")]
    covariance: Annotated[list[list[float]], Field(min_length=1, description=(
        "Covariance C of the rows of W: P rows of P numbers, positive definite, with ones on the diagonal."
    ))]  # fmt: skip


class TeacherModel(LinkModel):
    """The link y = g(h), its parameters, and the laws of the weights and of the tokens."""

    prior: Annotated[
        GaussianPrior | BinaryPrior | BernoulliGaussPrior | CorrelatedPrior, Field(discriminator="name", description=(
            "Law of the weights W of the teacher, which the solver knows; second moment one. Without this key the weights are "
            "standard normal."
        ))
    ] | None = None  # fmt: skip
    token_covariance: Annotated[list[list[float]], Field(min_length=1, description=(
        "Covariance T between the tokens of a sequence, the same in every dimension: M rows of M numbers, positive definite, "
        "with ones on the diagonal. Without this key the tokens are independent."
    ))] | None = None  # fmt: skip
