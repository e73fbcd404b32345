"""Keys of gradient descent, of question classification and of the limit of many layers."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Axis, Section, Specification, Whole
from attention_limits.sequence_multi_index import cross_checks
from attention_limits.sequence_multi_index.cross_checks import OfDataSets
from attention_limits.sequence_multi_index.links.link import GRADIENT
from attention_limits.sequence_multi_index.specs_keys import AttentionLayers, Beta, Ratio, Skip, SomeAlpha, Tokens


class AttentionModel(Section):
    """Deep attention with layers of rank one."""

    link: Literal["deep_attention"] = Field("deep_attention", description="The link.")
    depth: Whole = Field(ge=1, le=8, description="Number of attention layers L.")
    tokens: Whole = Field(ge=2, le=32, description="Number of tokens M of a sequence.")
    skip: Skip
    beta: Beta


class DescentGrid(Section):
    """Scanned parameters."""

    alpha: Axis[SomeAlpha]


class DescentSolver(Section):
    """Numerical parameters of gradient descent."""

    batch: Whole = Field(ge=1, le=100000, description="Sequences in a batch.")
    batches: Whole = Field(
        ge=1,
        le=10000000,
        description="Number of batches. They pass through the data again and again, each time in a new random order.",
    )
    reuse: Whole = Field(3, ge=1, le=1000, description="Gradient steps on each batch before the next one is drawn.")
    learning_rate: float = Field(
        gt=0, le=1000, description="Learning rate for the loss sum over the batch of ||y - g(h)||^2 / D."
    )
    weight_decay: float = Field(
        0.0, ge=0, le=100, description="Weight decay in units of 1 / D; the rate multiplies it, like the gradient."
    )
    initial_std: float = Field(
        0.9, gt=0, le=10, description="Standard deviation of the initial weights, in units of the teacher's."
    )
    record_every: Whole = Field(10, ge=1, le=100000, description="Batches between two records.")


class OnlineSolver(DescentSolver):
    """Numerical parameters of gradient descent on fresh batches."""

    reuse: Whole = Field(1, ge=1, le=1000, description="Gradient steps on each batch before the next one is drawn.")


class BatchReuseSgd(OfDataSets, Specification):
    """Stochastic gradient descent takes several steps on each batch of a fixed data set."""

    needs: ClassVar = frozenset({GRADIENT})
    replicas_at_once: ClassVar = True
    model: AttentionModel
    grid: DescentGrid
    solver: DescentSolver
    reads: Literal["gaussian_sequences"] = Field(description="The data set.")

    @classmethod
    def cross_checks(cls, estimator):
        """A batch is no larger than the smallest data set, and the checks of the link."""
        found = list(cross_checks.batch_problems(estimator))
        yield from found or super().cross_checks(estimator)

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in single precision, and the order of the batches."""
        batch, batches = estimator.solver["batch"], estimator.solver["batches"]
        return 0.5 * (data.numbers + batches * batch), f"{data.text} and the order of {batches} batches of {batch}"


class OnlineSgd(OfDataSets, Specification):
    """Stochastic gradient descent draws every batch fresh. It uses the teachers and starts of the data that it reads."""

    needs: ClassVar = frozenset({GRADIENT})
    replicas_at_once: ClassVar = True
    model: AttentionModel
    grid: DescentGrid
    solver: OnlineSolver
    reads: Literal["gaussian_sequences"] = Field(description="The data with the teachers.")

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data and the fresh sequences between two records, in single precision."""
        fresh = estimator.solver["record_every"] * estimator.solver["batch"]
        numbers = data.numbers + 3 * fresh * link.tokens * data.dimension
        return 0.5 * numbers, f"{data.text} and {fresh} fresh sequences between two records"


class DepthScaling(Specification):
    """Random fields measure the difference between many rescaled attention layers and two limits of them."""

    class Model(Section):
        """Attention layers of rank one, rescaled by 1 / c."""

        beta: Beta
        tokens: Tokens = Field(ge=2)

    class Grid(Section):
        """Scanned parameters; c = depth / ratio."""

        ratio: Axis[Ratio]
        depth: Axis[Annotated[AttentionLayers, Field(ge=2)]]

    class Solver(Section):
        """Numerical parameters."""

        samples: Whole = Field(512, ge=2, le=1000000, description="Random fields per replica.")

    model: Model
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        """The fields of all layers fit into the memory."""
        return cross_checks.depth_problems(estimator)


class Trec(Specification):
    """AdamW trains a classifier of tied attention layers on questions in six classes."""

    class Model(Section):
        """Questions, tokens and network."""

        corpus: str = Field(
            min_length=1,
            description="generated, or the path (from the project folder) of a file in the format of train_5500.label.",
        )
        questions: Annotated[Whole, Field(ge=60, le=100000, description=(
            "Number of questions of the generated corpus; not allowed for a file."
        ))] | None = None  # fmt: skip
        vocabulary: str = Field(
            "words",
            min_length=1,
            description="words, or for word pieces the path (from the project folder) of a vocab.txt of uncased BERT.",
        )
        max_tokens: Whole = Field(
            32, ge=1, le=512, description="Largest number of tokens of a question; the others are cut off."
        )
        test_fraction: float = Field(
            0.1,
            gt=0,
            lt=1,
            description=(
                "Fraction of the distinct questions that is held out for the test, drawn separately for each replica."
            ),
        )
        depth: Whole = Field(ge=1, le=12, description="Number of attention layers L.")
        embedding: Whole = Field(ge=1, le=4096, description="Dimension of a token.")
        hidden: Whole = Field(
            ge=1, le=4096, description="Number of columns of W_l; the scores are divided by its square root."
        )
        skip: Skip
        initial_std: float = Field(
            0.1, gt=0, le=10, description="Standard deviation of the entries of W_l at the start."
        )

    class Grid(Section):
        """Scanned parameters."""

        embedding_std: Axis[Annotated[
            float, Field(gt=0, le=10, description="Standard deviation of the entries of the embedding at the start.")
        ]]  # fmt: skip
        learning_rate: Axis[Annotated[float, Field(gt=0, le=1, description="Step of AdamW, constant.")]]

    class Solver(Section):
        """Training."""

        epochs: Whole = Field(40, ge=1, le=10000, description="Passes over the training questions.")
        batch: Whole = Field(16, ge=1, le=10000, description="Questions per step.")
        records: Whole = Field(
            4,
            ge=1,
            le=1000,
            description=(
                "Records per epoch. They divide an epoch into parts; each part leaves out the questions that do not "
                "fill a batch."
            ),
        )
        weight_decay: float = Field(
            0.01, ge=0, le=10, description="Decay of all weights per step, in units of the learning rate."
        )

    model: Model
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        """Files are required, no part of the questions is empty, and the trajectory fits into the memory."""
        return cross_checks.training_problems(estimator)


ESTIMATORS = {"batch_reuse_sgd": BatchReuseSgd, "online_sgd": OnlineSgd, "depth_scaling": DepthScaling, "trec": Trec}
