"""Keys of gradient descent, of question classification and of the limit of many layers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.sequence_multi_index.links.link import GRADIENT, NORMAL_TOKENS
from attention_limits.sequence_multi_index.schema import checks as check
from attention_limits.sequence_multi_index.schema.checks import OfDataSets, OfLink
from attention_limits.sequence_multi_index.schema.keys import (
    AttentionLayers,
    Beta,
    Dimension,
    LinkGrid,
    LinkModel,
    Nodes,
    Noise,
    Omega,
    Ratio,
    Skip,
    SomeAlpha,
    Tokens,
)
from attention_limits.sequence_multi_index.training.signs import changes_of_sign


class DescentGrid(Section):
    """Scanned parameters. The data that are read fix the number of tokens."""

    skip: Axis[Skip] | None = None
    beta: Axis[Beta] | None = None
    noise: Axis[Noise] | None = None
    ratio: Axis[Ratio] | None = None
    omega: Axis[Omega] | None = None
    alpha: Axis[SomeAlpha]


class DescentSolver(Section):
    """Numerical parameters of gradient descent."""

    batch: Annotated[Whole, Field(ge=1, le=100000, description="Sequences in a batch.")]
    batches: Annotated[Whole, Field(ge=1, le=10000000, description=(
        "Number of batches. They pass through the data again and again, each time in a new random order."
    ))]  # fmt: skip
    reuse: Annotated[
        Whole, Field(ge=1, le=1000, description="Gradient steps on each batch before the next one is drawn.")
    ] = 3
    learning_rate: Annotated[
        float, Field(gt=0, le=1000, description="Learning rate for the loss sum over the batch of ||y - g(h)||^2 / D.")
    ]
    weight_decay: Annotated[
        float,
        Field(ge=0, le=100, description="Weight decay in units of 1 / D; the rate multiplies it, like the gradient."),
    ] = 0.0
    initial_std: Annotated[
        float,
        Field(ge=1e-10, le=10, description="Standard deviation of the initial weights, in units of the teacher's."),
    ] = 0.9
    starts: Annotated[Whole, Field(ge=1, le=1000, description=(
        "Random starts on each data set. The result is the start with the smallest training error at the end."
    ))] = 1  # fmt: skip
    record_every: Annotated[Whole, Field(ge=1, le=100000, description="Batches between two records.")] = 10


class OnlineSolver(DescentSolver):
    """Numerical parameters of gradient descent on fresh batches."""

    reuse: Annotated[
        Whole, Field(ge=1, le=1000, description="Gradient steps on each batch before the next one is drawn.")
    ] = 1


def starts_numbers(estimator, link, data) -> float:
    """Numbers in double precision of the weights and the gradient steps of all starts on one data set."""
    solver = estimator.solver
    records = solver.batches // solver.record_every + 2
    each = 4 * link.rows * data.dimension + 2 * solver.batch * link.rows * link.tokens + (2 * link.rows + 1) * records
    return solver.starts * each


class OfDescent(OfDataSets):
    """An estimator that runs stochastic gradient descent on all of its replicas together."""

    needs: ClassVar = frozenset({GRADIENT, NORMAL_TOKENS})
    # The data hold whitened tokens. A teacher of another law is no problem: gradient descent knows none.
    refuses: ClassVar = frozenset({"covariance", "token_covariance"})
    replicas_at_once: ClassVar = True

    @classmethod
    def work(cls, estimator):
        """Every step of a start multiplies the tokens of a batch with the weights."""
        return dict.fromkeys(("batches", "reuse", "starts", "batch", "tokens", "dimension"), 1)


class BatchReuseSgd(OfDescent, Specification):
    """Stochastic gradient descent takes several steps on each batch of a fixed data set."""

    model: LinkModel = LinkModel()
    grid: DescentGrid
    solver: DescentSolver
    reads: Annotated[Literal["gaussian_sequences"], Field(description="The data set.")]

    @classmethod
    def cross_checks(cls, estimator):
        """A batch is no larger than the smallest data set, and the checks of the link."""
        found = list(check.batch_problems(estimator))
        yield from found or super().cross_checks(estimator)

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data in single precision, and the order of the batches."""
        batch, batches = estimator.solver.batch, estimator.solver.batches
        numbers = 0.5 * (data.numbers + batches * batch) + starts_numbers(estimator, link, data)
        return numbers, f"{data.text} and the order of {batches} batches of {batch}"


class OnlineSgd(OfDescent, Specification):
    """Stochastic gradient descent draws every batch fresh. It uses the teachers and starts of the data that it reads."""

    model: LinkModel = LinkModel()
    grid: DescentGrid
    solver: OnlineSolver
    reads: Annotated[Literal["gaussian_sequences"], Field(description="The data with the teachers.")]

    @classmethod
    def numbers_held(cls, estimator, link, data):
        """Data and the fresh sequences between two records, in single precision."""
        fresh = estimator.solver.record_every * estimator.solver.batch
        numbers = 0.5 * (data.numbers + 3 * fresh * link.tokens * data.dimension) + starts_numbers(
            estimator, link, data
        )
        return numbers, f"{data.text} and {fresh} fresh sequences between two records"


class FlowGrid(LinkGrid):
    """Scanned parameters. The number of samples per dimension names the data set, if the estimator reads data."""

    alpha: Axis[SomeAlpha] | None = None
    rate: Axis[Annotated[float, Field(ge=0, le=100, description=(
        "Learning rate per sequence, epsilon: the rate of online_sgd over the dimension, or that of a mean over a batch over the "
        "size of the batch. 0 is gradient descent on the population loss."
    ))]]  # fmt: skip


class FlowSolver(Section):
    """Numerical parameters of the differential equations of the overlaps."""

    dimension: Annotated[
        Dimension, Field(description="Dimension D of the drawn start and teacher; only if the estimator reads no data.")
    ] | None = None  # fmt: skip
    time: Annotated[float, Field(gt=0, le=1e6, description=(
        "Last time s = epsilon n / D of n sequences; for online_sgd, s = learning_rate batch batches / D^2."
    ))]  # fmt: skip
    records: Annotated[Whole, Field(ge=1, le=10000, description="Records after the start, at equal steps of s.")] = 100
    weight_decay: Annotated[float, Field(ge=0, le=100, description=(
        "Decay of the weights in units of s: weight_decay of online_sgd times D / batch."
    ))] = 0.0  # fmt: skip
    initial_std: Annotated[
        float,
        Field(ge=1e-6, le=10, description="Standard deviation of the initial weights, in units of the teacher's."),
    ] = 0.9
    nodes: Annotated[
        Nodes, Field(description="Sobol nodes per replica with their changes of sign, a power of two.")
    ] = 4096
    tolerance: Annotated[
        float, Field(ge=1e-10, le=0.01, description="Relative error of a step of the integration.")
    ] = 1e-4


class SgdFlow(OfLink, Specification):
    """Differential equations of the overlaps give stochastic gradient descent with one pass in the limit of large dimension."""

    needs: ClassVar = frozenset({GRADIENT})
    model: LinkModel = LinkModel()
    grid: FlowGrid
    solver: FlowSolver
    reads: Annotated[Literal["gaussian_sequences"], Field(description=(
        "The data with the teachers: the flow begins at the start of online_sgd. Without this key the estimator draws both."
    ))] | None = None  # fmt: skip

    @classmethod
    def cross_checks(cls, estimator):
        """The dimension is given exactly once, alpha names a data set that is read; then the checks of the link."""
        found = list(check.one_dimension(estimator))
        if estimator.reads is None and "alpha" in estimator.grid:
            found.append((("grid", "alpha"), "leave it out; it names a data set, and the estimator reads none"))
        yield from found or super().cross_checks(estimator)

    @classmethod
    def sizes(cls, estimator, link):
        """Nodes of more variables than a Sobol sequence has, fewer nodes than changes of sign, and arrays beyond the memory."""
        found = list(check.too_many_variables(link))
        signs, nodes = len(changes_of_sign(link)), estimator.solver.nodes
        if signs > nodes:
            found.append((("solver", "nodes"), f"{nodes}: allowed: ≥ {signs}, the changes of sign of {link.rows} rows"))
        numbers = 12 * nodes * link.rows * link.tokens + 4 * nodes * link.tokens**2 * link.rows
        return found or check.memory_problems(
            estimator, numbers, f"{nodes} nodes of {link.rows} rows and {link.tokens} tokens"
        )

    @classmethod
    def work(cls, estimator):
        """Every step of the integration averages over the nodes."""
        return {"nodes": 1, "time": 1}


class DepthScaling(Specification):
    """Random fields measure the difference between many rescaled attention layers and two limits of them."""

    class Model(Section):
        """Attention layers of rank one, rescaled by 1 / c."""

        beta: Beta
        tokens: Annotated[Tokens, Field(ge=2)]

    class Grid(Section):
        """Scanned parameters; c = depth / ratio."""

        ratio: Axis[Ratio]
        depth: Axis[Annotated[AttentionLayers, Field(ge=2)]]

    class Solver(Section):
        """Numerical parameters."""

        samples: Annotated[Whole, Field(ge=2, le=1000000, description="Random fields per replica.")] = 512

    model: Model
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        """The fields of all layers fit into the memory."""
        return check.depth_problems(estimator)

    @classmethod
    def work(cls, estimator):
        """The fields pass through all layers."""
        return {"samples": 1, "depth": 1}


class Trec(Specification):
    """AdamW trains a classifier of tied attention layers on questions in six classes."""

    @classmethod
    def code_files(cls, estimator) -> Iterable[Path]:
        """The words of the generated questions."""
        return [Path(__file__).parents[1] / "questions" / "words.json"]

    class Model(Section):
        """Questions, tokens and network."""

        corpus: Annotated[str, Field(min_length=1, description=(
            "generated, or the path (from the project folder) of a file in the format of train_5500.label."
        ))]  # fmt: skip
        questions: Annotated[Whole, Field(ge=60, le=100000, description=(
            "Number of questions of the generated corpus; not allowed for a file."
        ))] | None = None  # fmt: skip
        vocabulary: Annotated[str, Field(min_length=1, description=(
            "words, or for word pieces the path (from the project folder) of a vocab.txt of uncased BERT."
        ))] = "words"  # fmt: skip
        special_tokens: Annotated[bool, Field(description=(
            "Whether [CLS] and [SEP] of BERT frame each question; only with a vocabulary of word pieces."
        ))] = False  # fmt: skip
        max_tokens: Annotated[
            Whole, Field(ge=1, le=512, description="Largest number of tokens of a question; the others are cut off.")
        ] = 32
        padding: Annotated[Literal["masked", "attended"], Field(description=(
            "Short questions end in padding. masked: no token attends to it, and the mean over the tokens leaves it out. "
            "attended: padding is a token like the others."
        ))] = "masked"  # fmt: skip
        test_fraction: Annotated[float, Field(gt=0, lt=1, description=(
            "Fraction of the distinct questions that is held out for the test, drawn separately for each replica."
        ))] = 0.1  # fmt: skip
        depth: Annotated[Whole, Field(ge=1, le=12, description="Number of attention layers L.")]
        embedding: Annotated[Whole, Field(ge=1, le=4096, description="Dimension of a token.")]
        hidden: Annotated[Whole, Field(ge=1, le=4096, description=(
            "Number of columns of W_l; the scores are divided by its square root."
        ))]  # fmt: skip
        skip: Skip
        key_bias: Annotated[bool, Field(description="Whether the keys x W_l carry a trainable bias.")] = False
        initial_std: Annotated[
            float, Field(gt=0, le=10, description="Standard deviation of the entries of W_l at the start.")
        ] = 0.1

    class Grid(Section):
        """Scanned parameters."""

        embedding_std: Axis[Annotated[
            float, Field(gt=0, le=10, description="Standard deviation of the entries of the embedding at the start.")
        ]]  # fmt: skip
        learning_rate: Axis[Annotated[float, Field(gt=0, le=1, description="Step of AdamW, constant.")]]

    class Solver(Section):
        """Training."""

        epochs: Annotated[Whole, Field(ge=1, le=10000, description="Passes over the training questions.")] = 40
        batch: Annotated[Whole, Field(ge=1, le=10000, description="Questions per step.")] = 16
        records: Annotated[Whole, Field(ge=1, le=1000, description=(
            "Records per epoch. They divide an epoch into parts; each part leaves out the questions that do not fill a batch."
        ))] = 4  # fmt: skip
        weight_decay: Annotated[
            float, Field(ge=0, le=10, description="Decay of all weights per step, in units of the learning rate.")
        ] = 0.01

    model: Model
    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        """Files are required, no part of the questions is empty, and the trajectory fits into the memory."""
        return check.training_problems(estimator)

    @classmethod
    def work(cls, estimator):
        """Passes through the questions."""
        return {"epochs": 1}
