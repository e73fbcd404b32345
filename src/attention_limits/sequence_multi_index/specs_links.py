"""Keys of a link: its parameters, and those of them that a grid scans."""

from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Axis, Section, Whole
from attention_limits.sequence_multi_index.specs_keys import (
    AttentionLayers,
    Beta,
    Exponent,
    Noise,
    Omega,
    Ratio,
    Skip,
    Tokens,
)

Heads = Annotated[Whole, Field(ge=1, le=16, description="Number of attention heads H of a layer.")]
Rank = Annotated[Whole, Field(ge=1, le=16, description="Rank p of an attention layer.")]


class LinkModel(Section):
    """The link y = g(h) and its parameters. The page docs/links.md lists the parameters of each link and their defaults."""

    link: Annotated[str, Field(min_length=1, description=(
        "Name of a provided link (docs/links.md), or path/to/file.py:name of a link of the user, relative to the project folder."
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
    ratio: Ratio | None = None
    omega: Omega | None = None
    positional: Annotated[list[list[float]], Field(description=(
        "Positional attention matrix A, M rows of M numbers >= 0; each row sums to one."
    ))] | None = None  # fmt: skip
    rows: (
        Annotated[Whole, Field(ge=1, le=16, description="Number of fields P that a link of one token reads.")] | None
    ) = None
    exponents: Annotated[list[Exponent], Field(
        min_length=1, max_length=16, description="Exponents of a monomial, one whole number >= 1 per field."
    )] | None = None  # fmt: skip
    parameters: Annotated[dict, Field(description="Other keyword arguments of a link of the user, by name.")] | None = (
        None
    )


class LinkGrid(Section):
    """Scanned parameters of the link. A parameter that changes the number of rows of W cannot be scanned."""

    skip: Axis[Skip] | None = None
    beta: Axis[Beta] | None = None
    tokens: Axis[Tokens] | None = None
    noise: Axis[Noise] | None = None
    ratio: Axis[Ratio] | None = None
    omega: Axis[Omega] | None = None
