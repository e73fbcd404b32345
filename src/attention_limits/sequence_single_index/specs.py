"""Specifications of the sequence single-index family: one class per estimator."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from attention_limits.pipeline.specification import Specification
from attention_limits.sequence_single_index.geometry import gram_problem
from attention_limits.sequence_single_index.link_checks import unequal_outputs, unsound
from attention_limits.sequence_single_index.link_names import HERMITE, link_file, name_problem
from attention_limits.sequence_single_index.specs_keys import (
    AttentionGrid,
    AttentionModel,
    HermiteGrid,
    HermiteModel,
    NodesSolver,
    PhaseGrid,
    PositionalSemanticModel,
    PositionMinimaGrid,
    PositionMinimaModel,
    PositionMinimaSolver,
    SGDSolver,
    StrengthGrid,
    StrengthModel,
    SurfaceSolver,
    TiedGrid,
    TiedModel,
    TokenLinesGrid,
    TokenLinesModel,
    UntiedGrid,
    UntiedModel,
    WeightGrid,
)
from attention_limits.sequence_single_index.specs_links import (
    MOST_COEFFICIENTS,
    ExponentGrid,
    ExponentModel,
    ExponentSolver,
    LandscapeGrid,
    LandscapeModel,
    LandscapeSolver,
    LinkRunModel,
    LinkSGDGrid,
    LinkSGDModel,
)

PREFIX = "ssi"
DATA = {}


class Deterministic(Specification):
    """An estimator without random numbers."""

    replicas: Annotated[Literal[1], Field(description="Nothing is random: repetitions would be copies.")] = 1


class OfLinks(Specification):
    """An estimator of a target and a student that the file names."""

    # Keys whose link may be a sum of Hermite polynomials.
    hermite: ClassVar = ("target",)

    @classmethod
    def lengths(cls, estimator):
        """The numbers of tokens that the estimator computes."""
        return estimator.grid.get("tokens", [estimator.model.get("tokens")])

    @classmethod
    def cross_checks(cls, estimator):
        """Links exist and have equal numbers of outputs; weights are one, or one per token."""
        model, lengths = estimator.model, cls.lengths(estimator)
        named = [key for key in ("target", "student") if key not in cls.hermite or model[key] != HERMITE]
        problems = [(("model", key), name_problem(model[key], estimator.project)) for key in named]
        absent = [(keys, text) for keys, text in problems if text]
        yield from absent or unsound(model, named, lengths, estimator.project) or unequal_outputs(model, lengths)
        count = len(model["weights"])
        if count > 1 and any(count != length for length in lengths):
            allowed = ", ".join(f"{length:g}" for length in lengths)
            yield ("model", "weights"), f"{count} weights; allowed: one, or one per token ({allowed})"

    @classmethod
    def code_files(cls, estimator):
        """The files of targets and students."""
        files = (link_file(estimator.model[key], estimator.project) for key in ("target", "student"))
        return [path for path in files if path is not None and path.is_file()]


class SGD(Specification):
    """An estimator that runs SGD."""

    solver: SGDSolver

    @classmethod
    def cross_checks(cls, estimator):
        """No step is stored twice."""
        records, steps = estimator.solver["records"], estimator.solver["steps"]
        if records > steps + 1:
            yield (
                ("solver", "records"),
                f"{records} of a run of {steps} steps; allowed: at most one more than the steps",
            )

    @classmethod
    def work(cls, estimator):
        """The overlaps of all tokens at each step, at any dimension. The time of escape is unknown here."""
        return {} if estimator.solver["stop"] else {"steps": 1, "tokens": 1, "batch": 1}


class Landscape(Deterministic, OfLinks):
    """Computes the population loss of a student of up to four tokens over positional and semantic overlap."""

    model: LandscapeModel
    grid: LandscapeGrid
    solver: LandscapeSolver


class InformationExponent(Deterministic, OfLinks):
    """Computes the lowest orders at which the loss depends on the overlaps, by quadrature with errors."""

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
        order = estimator.solver["order"]
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
        yield from _one_key(estimator)


class AttentionSGD(SGD):
    """Runs online SGD of a softmax attention layer of two tokens on the positional-semantic target."""

    model: AttentionModel
    grid: AttentionGrid

    @classmethod
    def cross_checks(cls, estimator):
        """One key is scanned; no step is stored twice."""
        yield from _one_key(estimator)
        yield from super().cross_checks(estimator)


class TiedSGD(SGD):
    """Runs online SGD of a feed-forward student whose tokens share their weights."""

    model: TiedModel
    grid: TiedGrid


class UntiedSGD(SGD):
    """Runs online SGD of a feed-forward student in which each token has its own weights."""

    model: UntiedModel
    grid: UntiedGrid


class HermiteSGD(SGD):
    """Runs online SGD of a student and a target that are the same sum of Hermite polynomials."""

    model: HermiteModel
    grid: HermiteGrid

    @classmethod
    def work(cls, estimator):
        """Steps to escape at information exponent k, up to logarithms: d for k = 1 and 2, d^(k-1) above."""
        escapes = {"dimension": max(estimator.model["order"] - 1, 1)}
        return escapes if estimator.solver["stop"] else super().work(estimator)


class LinkSGD(SGD, OfLinks):
    """Runs online SGD of any student and target of the fields of a sequence."""

    model: LinkSGDModel
    grid: LinkSGDGrid

    hermite: ClassVar = ("target", "student")

    @classmethod
    def cross_checks(cls, estimator):
        """The checks of links and of runs; the Gram matrix is one."""
        yield from OfLinks.cross_checks.__func__(cls, estimator)
        yield from SGD.cross_checks.__func__(cls, estimator)
        if not isinstance(estimator.model["position"], str):
            problem = gram_problem(estimator.model["position"], int(estimator.model["tokens"]))
            if problem:
                yield ("model", "position"), problem


class EscapeDiffusion(Deterministic, OfLinks):
    """Computes the escape time of SGD of any tied student at large dimension, mean and quantiles, without a run."""

    model: LinkRunModel
    grid: LinkSGDGrid

    hermite: ClassVar = ("target", "student")


ESTIMATORS = {
    "landscape": Landscape,
    "information_exponent": InformationExponent,
    "attention_surface": AttentionSurface,
    "phase_diagram": PhaseDiagram,
    "phase_lines": PhaseLines,
    "token_lines": TokenLines,
    "position_minima": PositionMinima,
    "linear_theory": LinearTheory,
    "attention_sgd": AttentionSGD,
    "tied_sgd": TiedSGD,
    "untied_sgd": UntiedSGD,
    "hermite_sgd": HermiteSGD,
    "link_sgd": LinkSGD,
    "escape_diffusion": EscapeDiffusion,
}


def _rank(gram):
    """Number of directions of vectors with these scalar products."""
    values = np.linalg.eigvalsh(np.array(gram, dtype=float))
    return int(np.sum(values > 1e-7 * max(values[-1], 1e-300)))


def _one_key(estimator):
    if len(estimator.grid) != 1:
        yield ("grid",), f"{len(estimator.grid)} keys; allowed: one of omega, dimension, learning_rate, batch"
