"""Keys of a question for the thresholds of one channel."""

from typing import Annotated

from pydantic import Field

from attention_limits.attention_indexed.schema.one_layer import OneReplica, Ratio, StateEvolution
from attention_limits.pipeline.experiments.specification import Nothing, Section, Whole


class Thresholds(Section):
    """Keys of a question for thresholds."""

    class Model(StateEvolution.Model):
        """One layer of attention and its output; without the width, only the threshold at rho = 0."""

        ratio: Ratio | None = None  # type: ignore[assignment]  # A question may omit the width; a curve may not.

    model: Model
    solver: Nothing = Nothing()
    replicas: OneReplica = 1
    seed: Annotated[Whole, Field(ge=0, le=0, description="Nothing is random.")] = 0
