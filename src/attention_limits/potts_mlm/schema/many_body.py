"""Keys of the experiments on Potts models with terms of two, three and more sites."""

import math
from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.potts_mlm.schema import checks as check
from attention_limits.potts_mlm.schema.keys import Samples, Sequences
from attention_limits.potts_mlm.schema.samples import Instances
from attention_limits.potts_mlm.schema.training import Schedule

# Entries of a tensor of the colours.
MAX_ENTRIES = 10**6

Order = Annotated[Whole, Field(ge=2, le=5, description="Number q of sites of a term.")]


class ManyBodySamples(Sequences):
    """Gibbs sampling draws training and test sequences of a Potts model with terms of q sites, one chain for each sequence."""

    class Model(Section):
        """H = -sum_q sum_(terms of q sites) T_q[s_1, ..., s_q], T_q Gaussian, symmetric, of zero sum over each index."""

        sites: Whole = Field(ge=2, le=100, description="Number of sites L.")
        colors: Whole = Field(ge=2, le=32, description="Number of colours C.")
        instance: Instances = Field(
            0, description="Number of the random terms, in all experiments; a list has one number for each replica."
        )
        terms: Whole = Field(ge=1, le=10**4, description="Number of terms of each order, on random sets of sites.")
        lower_orders: bool = Field(
            False, description="Terms of all orders from 2 to q; otherwise of the order q alone."
        )
        strength: float = Field(
            gt=0, le=20, description="Standard deviation of the local field of each order at random colours."
        )

    class Grid(Section):
        order: Axis[Order]

    class Solver(Section):
        samples: Whole = Field(ge=4, le=10**7, description="Training sequences.")
        test_samples: Whole = Field(ge=4, le=10**7, description="Test sequences.")
        sweeps: Whole = Field(100, ge=1, le=10**7, description="Gibbs sweeps of each chain.")

    model: Model
    grid: Grid
    solver: Solver

    @classmethod
    def cross_checks(cls, estimator):
        yield from check.instances(estimator)
        sites, colors, count = (estimator.model[key] for key in ("sites", "colors", "terms"))
        largest = max(estimator.grid["order"])
        for order in range(2, largest + 1) if estimator.model["lower_orders"] else estimator.grid["order"]:
            order = int(order)
            if count > math.comb(sites, order):
                text = f"{count}: allowed: ≤ {math.comb(sites, order)}, the sets of {order} of {sites} sites"
                yield ("model", "terms"), text
        if colors**largest > MAX_ENTRIES:
            text = (
                f"{colors}: allowed: ≤ {math.floor(MAX_ENTRIES ** (1 / largest) + 1e-9)} for terms of {largest:g} sites"
            )
            yield ("model", "colors"), text

    @classmethod
    def work(cls, estimator):
        """Sweeps of all chains."""
        return {"samples": 0.5, "test_samples": 0.5, "sweeps": 1, "terms": 1}


class StackedAttention(Specification):
    """Adam trains stacked layers of factored attention with the activation x^2; the share of each order in their logits."""

    class Grid(Section):
        order: Axis[Order]
        samples: Axis[Samples]
        depth: Axis[Annotated[Whole, Field(ge=1, le=5, description="Number of layers of factored attention.")]]

    class Solver(Schedule):
        heads: Whole = Field(2, ge=1, le=1000, description="Heads of each layer.")
        width: Whole = Field(16, ge=1, le=4096, description="Dimension d of the embedding, and of what a layer adds.")
        learning_rate: float = Field(0.003, gt=0, le=1, description="Initial rate of Adam; a cosine anneals it to 0.")
        probes: Whole = Field(
            1000, ge=2, le=10**6, description="Sequences of random colours on which the logits are compared."
        )

    reads: Literal["many_body_samples"] = Field(description="Sequences to learn from.")
    grid: Grid
    solver: Solver

    @classmethod
    def cross_checks(cls, estimator):
        asks = {("grid", "samples"): "training", ("solver", "test_sequences"): "test"}
        yield from check.enough_sequences(estimator, asks)
        yield from check.evaluations(estimator)

    @classmethod
    def work(cls, estimator):
        """Passes of all sequences through all layers."""
        return {"samples": 1, "epochs": 1, "depth": 1}
