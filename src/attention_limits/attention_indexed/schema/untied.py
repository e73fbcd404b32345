"""Specifications of untied softmax attention whose keys read the tokens of the queries, or separate sequences."""

from typing import Annotated

from pydantic import Field

from attention_limits.attention_indexed.schema.checks import memory_checks, size_checks
from attention_limits.attention_indexed.schema.keys import (
    DescentBeta,
    Dimension,
    Iteration,
    SampledAlpha,
    Starts,
    Tokens,
)
from attention_limits.attention_indexed.schema.one_layer import GradientDescent, Layer
from attention_limits.pipeline.experiments.specification import Axis, Problem, Section, Specification

# fmt: off
SelfAttention = Annotated[bool, Field(description=
    "true: queries and keys have separate weights, S = Q K^T / sqrt(r d), and read the same tokens (self-attention), "
    "h_ab = (x_a^T S x_b - delta_ab tr S) / sqrt(d). false: the keys read separate sequences, h_ab = x_a^T S z_b / sqrt(d).")]
# fmt: on


class UntiedSoftmaxLayer(Layer):
    """One layer of softmax attention with separate weights of queries and keys."""

    beta: DescentBeta = 1.0
    self_attention: SelfAttention


class UntiedGrid(Section):
    """Scanned parameters of simulated data of untied attention."""

    alpha: Axis[SampledAlpha]
    tokens: Axis[Tokens] | None = None


class OfUntied(Specification):
    """An algorithm on n simulated sequences of untied attention."""

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Sizes that round to zero, and data that exceed the memory; keys and queries count as two layers."""
        return [*size_checks(estimator), *memory_checks(estimator, layers=2)]


class UntiedDescent(OfUntied):
    """Adam minimises the squared training error of untied softmax attention; the estimator averages its starts."""

    class Solver(GradientDescent.Solver):
        """Numerical parameters of gradient descent of untied attention."""

        dimension: Dimension = 40
        starts: Starts = 8

    model: UntiedSoftmaxLayer
    grid: UntiedGrid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """Every step of a start multiplies all tokens with weights of d x r: n M d r."""
        return {"alpha": 1, "dimension": 4, "tokens": 1, "ratio": 1, "steps": 1, "starts": 1}


class UntiedAmp(OfUntied):
    """Matrix AMP of separate sequences estimates untied softmax attention, also from data of self-attention."""

    class Solver(Iteration):
        """Numerical parameters of matrix AMP of untied attention."""

        dimension: Dimension = 100

    model: UntiedSoftmaxLayer
    grid: UntiedGrid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """One product of all tokens with a d x d matrix: n M d^2, n = alpha d^2."""
        return {"alpha": 1, "dimension": 4, "tokens": 1}
