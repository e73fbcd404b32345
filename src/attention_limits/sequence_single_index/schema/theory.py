"""Specifications of the estimators of the sequence single-index family that run no SGD: one class each."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from attention_limits.pipeline.experiments.specification import Specification
from attention_limits.sequence_single_index.links.geometry import gram_problem
from attention_limits.sequence_single_index.schema.keys import (
    AttentionGrid,
    AttentionModel,
    NodesSolver,
    PhaseGrid,
    PositionalSemanticModel,
    PositionMinimaGrid,
    PositionMinimaModel,
    PositionMinimaSolver,
    StrengthGrid,
    StrengthModel,
    SurfaceSolver,
    TokenLinesGrid,
    TokenLinesModel,
    WeightGrid,
)
from attention_limits.sequence_single_index.schema.links import (
    MOST_COEFFICIENTS,
    EscapeModel,
    ExponentGrid,
    ExponentModel,
    ExponentSolver,
    LandscapeGrid,
    LandscapeModel,
    LandscapeSolver,
    LinkSGDGrid,
    OfLinks,
    OfPositions,
)
from attention_limits.sequence_single_index.schema.sgd import (
    one_key,
)


class Deterministic(Specification):
    """An estimator without random numbers."""

    replicas: Annotated[Literal[1], Field(description="Nothing is random: repetitions would be copies.")] = 1


class Landscape(Deterministic, OfLinks):
    """Computes the population loss of a student of up to four tokens over positional and semantic overlap."""

    model: LandscapeModel
    grid: LandscapeGrid
    solver: LandscapeSolver


class InformationExponent(Deterministic, OfLinks):
    """Computes the lowest orders of the target, of the loss in m, and of a descent in (e, m), by quadrature with errors."""

    model: ExponentModel
    grid: ExponentGrid
    solver: ExponentSolver

    @classmethod
    def cross_checks(cls, estimator):
        """One key is scanned; the Hermite coefficients are not too many."""
        if len(estimator.grid) != 1:
            yield ("grid",), f"{len(estimator.grid)} keys; allowed: one, degree or tokens"
            return
        yield from super().cross_checks(estimator)
        order = estimator.solver.order
        for tokens in cls.lengths(estimator):
            count = math.comb(tokens + order, order)
            if count > MOST_COEFFICIENTS:
                yield (
                    ("solver", "order"),
                    f"{order}: {count} Hermite coefficients of {tokens} tokens up to this order; allowed: {MOST_COEFFICIENTS}",
                )


class AttentionSurface(Deterministic):
    """Computes the population loss of the positional-semantic model over the overlaps, from tables."""

    model: PositionalSemanticModel
    grid: WeightGrid
    solver: SurfaceSolver


class PhaseDiagram(Deterministic):
    """Computes the regions of the positional-semantic model."""

    model: PositionalSemanticModel
    grid: PhaseGrid


class PhaseLines(Deterministic):
    """Computes the exact lines of the phase diagram of the positional-semantic model."""

    model: StrengthModel
    grid: StrengthGrid


class TokenLines(Specification):
    """Computes the lines of the phase diagram of the positional-semantic model for any number of tokens, with errors."""

    model: TokenLinesModel
    grid: TokenLinesGrid
    solver: NodesSolver

    @classmethod
    def cross_checks(cls, estimator):
        """One factor per token; they are not all zero."""
        factors = estimator.model["position"]
        if isinstance(factors, str):
            return
        if any(len(factors) != tokens for tokens in estimator.grid["tokens"]):
            allowed = ", ".join(f"{tokens:g}" for tokens in estimator.grid["tokens"])
            yield ("model", "position"), f"{len(factors)} numbers; allowed: one per token ({allowed}), or alternating"
        if not any(factors):
            yield ("model", "position"), "all numbers are zero; allowed: at least one other number"


class PositionMinima(Specification):
    """Computes all minima of the positional-semantic model for positional vectors in up to three directions, with errors."""

    model: PositionMinimaModel
    grid: PositionMinimaGrid
    solver: PositionMinimaSolver

    @classmethod
    def cross_checks(cls, estimator):
        """The matrix is one of scalar products, of rank one to three."""
        gram = estimator.model["position"]
        problem = gram_problem(gram, len(gram))
        rank = 0 if problem else _rank(gram)
        if problem or not 1 <= rank <= 3:
            yield ("model", "position"), problem or f"the positional vectors span {rank} directions; allowed: 1 to 3"


class LinearTheory(Specification):
    """Computes curvatures and gradient noise of attention SGD at the uninformed start, and P(|m| > |e|) at its escape."""

    model: AttentionModel
    grid: AttentionGrid
    solver: NodesSolver

    @classmethod
    def cross_checks(cls, estimator):
        """One key is scanned."""
        yield from one_key(estimator)


class EscapeDiffusion(Deterministic, OfPositions):
    """Computes the escape time of SGD of any tied student at large dimension, mean and quantiles, without a run."""

    model: EscapeModel
    grid: LinkSGDGrid

    hermite: ClassVar = ("target", "student")

    @classmethod
    def cross_checks(cls, estimator):
        """The checks of positions; the vectors without the teacher have at most one direction."""
        found = list(super().cross_checks(estimator))
        yield from found
        position = estimator.model["position"]
        if found or isinstance(position, str):
            return
        shifts = np.broadcast_to(estimator.model["position_overlap"] or [0.0], len(position))
        rank = _rank(np.array(position) - np.outer(shifts, shifts))
        if rank > 1:
            text = f"the positional vectors have {rank} directions beside the teacher; allowed: at most 1"
            yield ("model", "position"), text


def _rank(gram):
    """Number of directions of vectors with these scalar products."""
    values = np.linalg.eigvalsh(np.array(gram, dtype=float))
    return int(np.sum(values > 1e-7 * max(values[-1], 1e-300)))
