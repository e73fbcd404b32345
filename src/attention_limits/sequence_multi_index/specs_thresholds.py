"""Keys of a question for the thresholds of one link."""

from typing import Annotated

from pydantic import Field

from attention_limits.pipeline.specification import Section, Whole
from attention_limits.sequence_multi_index.specs_keys import Nodes, Resolution
from attention_limits.sequence_multi_index.specs_priors import TeacherModel


class Solver(Section):
    """Numerical parameters of the thresholds."""

    nodes: Annotated[
        Nodes,
        Field(description="Sobol nodes per replica, a power of two; eight times as many for the first threshold."),
    ] = 1024
    resolution: Resolution = 0.75


class Thresholds(Section):
    """Keys of a question for thresholds."""

    model: TeacherModel
    solver: Solver = Solver()
    replicas: Annotated[Whole, Field(ge=2, description="Independent scramblings of the nodes.")] = 4
    seed: Annotated[Whole, Field(ge=0, description="Root seed of the nodes.")] = 0
