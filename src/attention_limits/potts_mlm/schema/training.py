"""Keys of the learners that are trained by gradient descent, and of full pseudo-likelihood."""

from typing import Annotated

from pydantic import AfterValidator, Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Whole
from attention_limits.potts_mlm.schema import checks as check
from attention_limits.potts_mlm.schema.keys import Attention, Distance, Learner, Samples, Tolerance

TestSequences = Annotated[Whole, Field(ge=1, le=10**7, description="Test sequences, each masked at every site.")]


Layers = Annotated[Whole, Field(ge=1, le=100, description="Number of encoder layers.")]
Width = Annotated[Whole, Field(ge=2, le=4096, description="Dimension d of the embedding.")]
Hidden = Annotated[Whole, Field(ge=1, le=65536, description="Hidden units of the feed-forward block.")]


class Schedule(Section):
    """Passes through the training sequences in batches."""

    batch: Whole = Field(100, ge=1, le=10**5, description="Sequences per step.")
    epochs: Whole = Field(ge=1, le=10**6, description="Passes through the training sequences.")
    evaluations: Whole = Field(20, ge=1, le=10_000, description="Evenly spaced test losses; at most epochs.")
    test_sequences: TestSequences = 500


class Trained(Learner):
    """A learner of a schedule."""

    asks = {("grid", "samples"): "training", ("solver", "test_sequences"): "test"}

    @classmethod
    def cross_checks(cls, estimator):
        yield from super().cross_checks(estimator)
        yield from check.evaluations(estimator)

    @classmethod
    def work(cls, estimator):
        """Passes of all sequences through all layers."""
        return {"samples": 1, "epochs": 1, "layers": 1}


class Transformer(Trained):
    """Stochastic gradient descent and Adam train post-layer-norm encoders to predict masked sites."""

    class Grid(Section):
        distance: Axis[Distance] | None = None
        samples: Axis[Samples]
        layers: Axis[Layers]

    class Solver(Schedule):
        width: Width = 20
        hidden: Hidden = 40
        sgd_learning_rate: float = Field(0.1, gt=0, le=10, description="Initial rate of SGD; a cosine anneals it to 0.")
        adam_learning_rate: float = Field(
            0.003, gt=0, le=1, description="Initial rate of Adam; a cosine anneals it to 0."
        )
        tolerance: Tolerance = Field(
            1e-5, description="Largest gradient component over all training sites, in nats, that counts as converged."
        )

    grid: Grid
    solver: Solver


class FactoredTraining(Trained):
    """Stochastic gradient descent trains factored attention; every site of a batch is masked in turn."""

    class Grid(Section):
        distance: Axis[Distance] | None = None
        samples: Axis[Samples]

    class Solver(Schedule):
        attentions: Annotated[list[Attention], AfterValidator(check.each_once)] = Field(
            ["raw", "softmax"], min_length=1, description="Kinds of attention, each trained separately."
        )
        learning_rate: float = Field(
            0.1, gt=0, le=10, description="Initial rate for the loss summed over sites; a cosine anneals it to 0."
        )

    grid: Grid
    solver: Solver


class PseudoLikelihood(Learner):
    """L-BFGS fits fields and all couplings J_ij(a, b): full pseudo-likelihood."""

    class Grid(Section):
        distance: Axis[Distance] | None = None
        samples: Axis[Samples]

    class Solver(Section):
        field_ridge: float = Field(
            1e-4, ge=0, le=1000, description="Half of it times |h|^2 is added to the loss per site."
        )
        coupling_ridge: float = Field(
            1e-4, ge=0, le=1000, description="Half of it times |J|^2 is added to the loss per site."
        )
        max_iterations: Whole = Field(300, ge=1, le=10**5, description="Largest number of L-BFGS iterations.")
        tolerance: Tolerance = Field(
            1e-4,
            description="Largest gradient component that counts as converged. It bounds the error of the parameters by "
            "sqrt(number of parameters) * tolerance / ridge; separable data at a tiny ridge leave the test loss uncertain.",
        )

    asks = {("grid", "samples"): "training"}
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator):
        """Evaluations of the loss of all sequences."""
        return {"samples": 1}
