"""Numerical parameters of matrix AMP, which several specifications share."""

from attention_limits.attention_indexed.specs_keys import (
    AmpTolerance,
    Damping,
    Dimension,
    FreshSequences,
    MaxIterations,
)
from attention_limits.pipeline.specification import Section


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
