"""Specifications of the estimators of the sequence single-index family that run SGD."""

from typing import ClassVar

from attention_limits.pipeline.experiments.specification import Specification
from attention_limits.sequence_single_index.schema.keys import (
    AttentionGrid,
    AttentionModel,
    HermiteGrid,
    HermiteModel,
    SGDSolver,
    TiedGrid,
    TiedModel,
    UntiedGrid,
    UntiedModel,
)
from attention_limits.sequence_single_index.schema.links import LinkSGDGrid, LinkSGDModel, OfPositions


def one_key(estimator):
    """The problem of a grid with several keys."""
    if len(estimator.grid) != 1:
        yield ("grid",), f"{len(estimator.grid)} keys; allowed: one of omega, dimension, learning_rate, batch"


class SGD(Specification):
    """An estimator that runs SGD."""

    solver: SGDSolver

    @classmethod
    def cross_checks(cls, estimator):
        """The checks of the other bases; no step is stored twice."""
        yield from super().cross_checks(estimator)
        records, steps = estimator.solver.records, estimator.solver.steps
        if records > steps + 1:
            yield (
                ("solver", "records"),
                f"{records} of a run of {steps} steps; allowed: at most one more than the steps",
            )

    @classmethod
    def work(cls, estimator):
        """The overlaps of all tokens at each step, at any dimension. The time of escape is unknown."""
        return {} if estimator.solver.stop else {"steps": 1, "tokens": 1, "batch": 1}


class AttentionSGD(SGD):
    """Runs online SGD of a softmax attention layer of two tokens on the positional-semantic target."""

    model: AttentionModel
    grid: AttentionGrid

    @classmethod
    def cross_checks(cls, estimator):
        """One key is scanned; no step is stored twice."""
        yield from one_key(estimator)
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
        return escapes if estimator.solver.stop else super().work(estimator)


class LinkSGD(SGD, OfPositions):
    """Runs online SGD of any student and target of the fields of a sequence."""

    model: LinkSGDModel
    grid: LinkSGDGrid

    hermite: ClassVar = ("target", "student")
