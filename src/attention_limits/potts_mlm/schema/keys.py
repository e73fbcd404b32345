"""Keys and base classes that the specifications of Potts samples and of alignments share."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attention_limits.pipeline.experiments.specification import DataSpecification, Specification, Whole
from attention_limits.potts_mlm.schema import checks as check

Samples = Annotated[
    Whole, Field(ge=1, le=10**7, description="Number M of training sequences, the first M of a random order.")
]
Distance = Annotated[
    float, Field(gt=0, lt=1, description="Mean Hamming distance d_H, fraction of the sites; it sets the temperature.")
]
Tolerance = Annotated[float, Field(gt=0, le=0.1)]


class Sequences(DataSpecification):
    """Training and test sequences."""

    @classmethod
    def counts(cls, data) -> dict[str, int]:
        """Number of `training` and of `test` sequences of expanded data; empty when the file cannot be read."""
        return {"training": data.solver.samples, "test": data.solver.test_samples}


class Learner(Specification):
    """A model learns from sequences that all learners share."""

    # Keys that ask for a number of sequences, and the set to which the sequences belong.
    asks: ClassVar[dict[tuple[str, str], str]]

    reads: Literal["potts_samples", "alignment"] = Field(description="Sequences to learn from.")

    @classmethod
    def cross_checks(cls, estimator):
        return check.enough_sequences(estimator, cls.asks)


Attention = Annotated[Literal["raw", "softmax"], Field(description="A itself, or the softmax of its rows.")]
