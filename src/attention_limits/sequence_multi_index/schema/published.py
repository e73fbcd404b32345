"""Keys of the map of the public program of Troiani et al. 2025 (arXiv:2502.00901)."""

from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.sequence_multi_index.schema.checks import OfNodes
from attention_limits.sequence_multi_index.schema.keys import Damping, Nodes, Regularization, Resolution, SomeAlpha

# Rounding of a grid.
SAME_ALPHA = 1e-9


class PublishedModel(Section):
    """The models of the public program: softmax attention of rank one, two or three layers, two tokens, beta = 1."""

    link: Annotated[Literal["deep_attention"], Field(description="Deep attention.")] = "deep_attention"
    depth: Annotated[Literal[2, 3], Field(description="Number of attention layers L.")] = 2
    tokens: Annotated[Literal[2], Field(description="Number of tokens M.")] = 2
    skip: Annotated[float, Field(ge=0.1, le=10, description=(
        "Strength c of the residual connection, in units of the attention's row sum."
    ))] = 1.0  # fmt: skip
    beta: Annotated[float, Field(ge=1, le=1, description="Inverse temperature of the softmax.")] = 1.0


class PublishedGrid(Section):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]


class PublishedSolver(Section):
    """Numerical parameters of the map."""

    channel: Annotated[Literal["published", "exact"], Field(description=(
        "published: the quadratures of the public program; exact: the posterior mean, with the same constant added to V."
    ))] = "published"  # fmt: skip
    start: Annotated[list[list[float]], Field(min_length=1, max_length=1000, description=(
        "Overlaps from which the map starts: rows (alpha, Q_11, ..., Q_LL), one for each alpha of the grid."
    ))]  # fmt: skip
    iterations: Annotated[Whole, Field(ge=1, le=1000, description="Number of iterations of the map.")] = 1
    damping: Damping = 0.0
    regularization: Regularization = 0.001
    nodes: Nodes = 256
    resolution: Resolution = 0.75


class PublishedMap(OfNodes, Specification):
    """The map of the state evolution with the quadratures of the public program of Troiani et al. 2025, from given overlaps."""

    model: PublishedModel = PublishedModel()
    grid: PublishedGrid
    solver: PublishedSolver

    @classmethod
    def cross_checks(cls, estimator):
        """The start has one row for each alpha, with L overlaps."""
        yield from super().cross_checks(estimator)
        rows, depth = estimator.solver.start, estimator.model["depth"]
        for row in rows:
            if len(row) != 1 + depth or not all(0 <= overlap <= 0.9999 for overlap in row[1:]):
                allowed = f"allowed: alpha, then {depth} overlaps from 0 to 0.9999"
                yield ("solver", "start"), f"{row}: {allowed}"
                return
        given = [row[0] for row in rows]
        for alpha in estimator.grid["alpha"]:
            if sum(abs(value - alpha) <= SAME_ALPHA for value in given) != 1:
                yield (
                    ("solver", "start"),
                    f"rows at alpha = {given}: allowed: exactly one row at each alpha, also {alpha:g}",
                )

    @classmethod
    def work(cls, estimator):
        """The average over the nodes, at each iteration."""
        return {"nodes": 1, "iterations": 1}
