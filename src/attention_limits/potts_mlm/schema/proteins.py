"""Keys of the experiments on alignments of real proteins and RNA."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.potts_mlm.schema import checks_proteins as check
from attention_limits.potts_mlm.schema.checks import evaluations
from attention_limits.potts_mlm.schema.keys import Attention, Learner, Samples, Sequences, Tolerance
from attention_limits.potts_mlm.schema.training import Hidden, Layers, Schedule, Width

_Fraction = Annotated[float, Field(ge=0, le=1)]
Identity = Annotated[
    float,
    Field(
        gt=0, le=1, description="Two sequences share their weight if at least this fraction of their sites is equal."
    ),
]


# The letters of an alignment.
Letters = Annotated[
    str,
    AfterValidator(check.alphabet),
    Field(
        min_length=2,
        max_length=127,
        description="protein, rna, dna, or the letters and the gap -, in the order of the colours.",
    ),
]


class Alignment(Sequences):
    """A random split divides a multiple-sequence alignment into training and test sequences."""

    class Model(Section):
        alignment: str = Field(
            min_length=1, description="FASTA, A2M, A3M or Stockholm file, relative to the project folder."
        )
        alphabet: Letters = "protein"

    class Solver(Section):
        test_fraction: float = Field(0.2, gt=0, lt=1, description="Fraction of the sequences in the test set.")
        format: Literal["auto", "fasta", "a3m", "stockholm"] = Field(
            "auto", description="Format of the file; fasta includes A2M with dots."
        )
        lower_case: Literal["auto", "insertion", "letter"] = Field(
            "auto",
            description="Lower-case letters are insertions (A2M, A3M), or masked letters that count as capitals; auto refuses a "
            "file that does not show which.",
        )
        repeated_names: Literal["keep", "keep_first", "refuse"] = Field(
            "keep",
            description="Sequences of one name, as search results have them: all count, the first one of each name, or none is "
            "allowed.",
        )
        other_letters: Literal["gap", "drop"] = Field(
            "gap", description="Letters outside of the alphabet count as gaps, or their sequences are dropped."
        )
        max_column_gaps: _Fraction = Field(1.0, description="Largest fraction of gaps of a column; others are dropped.")
        max_sequence_gaps: _Fraction = Field(
            1.0, description="Largest fraction of gaps of a sequence in the kept columns; others are dropped."
        )

    model: Model
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        return check.alignment(estimator)

    @classmethod
    def code_files(cls, estimator):
        return [user_file(estimator.project, estimator.model["alignment"])]

    @classmethod
    def counts(cls, data):
        return check.alignment_counts(data)


Distances = Annotated[
    str, Field(min_length=1, description="File of lines `i j distance`, match columns from 1; without it no precision.")
]


class Structure(Section):
    """Known distances of the columns."""

    distances: Distances | None = None
    contact: float = Field(
        8.0, gt=0, le=1000, description="Pairs that are nearer are contacts, in the unit of the file."
    )
    separation: Whole = Field(
        6, ge=1, le=10_000, description="Smallest separation of a pair along the chain that counts."
    )


class OfAlignment(Specification):
    """An estimator reads an alignment."""

    reads: Literal["alignment"] = Field(description="Alignment to read.")

    @classmethod
    def code_files(cls, estimator):
        return check.distance_files(estimator)


class AlignmentSummary(OfAlignment):
    """This estimator keeps the counts of the reader, the effective number of sequences, and the known distances."""

    class Model(Section):
        distances: Distances | None = None

    class Solver(Section):
        identity: Identity = 0.8

    model: Model = Model()
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        return check.distances(estimator)


Heads = Annotated[
    Whole,
    Field(
        ge=0, le=10**5, description="Heads H; 0: fields alone; from C^2 on: full pseudo-likelihood, if rank is free."
    ),
]


_Ridge = Annotated[float, Field(ge=0, le=1000)]
_FieldRidge = Annotated[_Ridge | Literal["plmdca"], Field(description="Ridge of the fields h; plmdca: 0.02 / L.")]
_PseudoCount = Annotated[
    float,
    Field(gt=0, le=10**6, description="Sequences added to the site frequencies of independent sites and of the start."),
]
_Ranks = Annotated[Whole, Field(ge=1, le=10**5, description="Pairs of highest score whose precision is kept.")]


class Fitting(Section):
    """L-BFGS fits fields and couplings; objective: weighted loss per site + half of each ridge times its squared norm."""

    attention: Attention = "raw"
    rank: (
        Annotated[Whole, Field(ge=1, le=1000, description="Rank of each attention matrix; without it free.")] | None
    ) = None
    field_ridge: _FieldRidge = 1e-5
    coupling_ridge: _Ridge | Literal["plmdca"] = Field(
        4e-4, description="Ridge of the couplings J, for any number of heads; plmdca: 0.01 / L."
    )
    weight_ridge: float = Field(
        0.0, ge=0, le=1000, description="Ridge of the attention and value matrices of the heads."
    )
    identity: Identity = 0.8
    pseudo_count: _PseudoCount = 1.0
    starts: Whole = Field(2, ge=1, le=1000, description="Random starts; convex fits have one, which stands for all.")
    max_iterations: Whole = Field(1000, ge=1, le=10**5, description="Largest number of L-BFGS iterations per start.")
    tolerance: Tolerance = Field(
        1e-5,
        description="Largest component of the gradient, in nats per site, of a converged fit; a tenth if J is free.",
    )


class HeadGrid(Section):
    """Sizes of the training set and of the model."""

    samples: Axis[Samples]
    heads: Axis[Heads]


class OfStructure(Learner, OfAlignment):
    """A learner of an alignment that finds contacts."""

    asks = {("grid", "samples"): "training"}
    reads: Literal["alignment"] = Field(description="Sequences to learn from.")
    model: Structure = Structure()

    @classmethod
    def cross_checks(cls, estimator):
        yield from super().cross_checks(estimator)
        yield from check.distances(estimator)


class MultiheadAttention(OfStructure):
    """L-BFGS fits attention with fields and heads, logits h_i(a) + sum_(j != i, h) A^h_ij V^h[a, s_j], and finds contacts."""

    class Solver(Fitting):
        ranks: _Ranks = 100

    grid: HeadGrid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator):
        """Evaluations of the loss of all sequences from each start."""
        return {"samples": 1, "starts": 1}


class SymmetricPseudoLikelihood(OfStructure):
    """L-BFGS fits one J_ij(a, b) = J_ji(b, a) to the conditionals of both sites: the symmetric plmDCA, and finds contacts."""

    class Grid(Section):
        samples: Axis[Samples]

    class Solver(Section):
        field_ridge: _FieldRidge = 1e-5
        coupling_ridge: Annotated[
            _Ridge | Literal["plmdca"], Field(description="Ridge of J_ij and of J_ji; plmdca: 0.01 / L.")
        ] = 4e-4
        identity: Identity = 0.8
        pseudo_count: _PseudoCount = 1.0
        max_iterations: Whole = Field(1000, ge=1, le=10**5, description="Largest number of L-BFGS iterations.")
        tolerance: Tolerance = Field(
            1e-5, description="Largest component of the gradient, in nats per site, of a converged fit."
        )
        ranks: _Ranks = 100

    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator):
        """Evaluations of the loss of all sequences."""
        return {"samples": 1}


class AlignmentTransformer(OfStructure):
    """Adam trains post-layer-norm encoders on an alignment, with sequence weights, and finds contacts."""

    class Grid(Section):
        samples: Axis[Samples]
        layers: Axis[Layers]

    class Solver(Schedule):
        width: Width = 20
        hidden: Hidden = 40
        learning_rate: float = Field(0.003, gt=0, le=1, description="Initial rate of Adam; a cosine anneals it to 0.")
        identity: Identity = 0.8
        references: Whole = Field(
            10, ge=1, le=10**5, description="Test sequences over which the responses to single letters are averaged."
        )
        ranks: _Ranks = 100

    asks = {
        ("grid", "samples"): "training",
        ("solver", "test_sequences"): "test",
        ("solver", "references"): "test",
    }
    grid: Grid
    solver: Solver

    @classmethod
    def cross_checks(cls, estimator):
        yield from super().cross_checks(estimator)
        yield from evaluations(estimator)

    @classmethod
    def work(cls, estimator):
        """Passes of all sequences through all layers."""
        return {"samples": 1, "epochs": 1, "layers": 1}


class GeneratedSequences(Learner):
    """Gibbs sampling of the fitted model; its one- and two-site statistics are compared with those of the alignment."""

    class Solver(Fitting):
        generated: Whole = Field(2000, ge=4, le=10**7, description="Chains; the last state of each is a sequence.")
        sweeps: Whole = Field(200, ge=1, le=10**7, description="Gibbs sweeps of each chain.")

    asks = {("grid", "samples"): "training"}
    reads: Literal["alignment"] = Field(description="Sequences to learn from.")
    grid: HeadGrid
    solver: Solver = Solver()

    @classmethod
    def work(cls, estimator):
        """Sweeps of all chains."""
        return {"generated": 1, "sweeps": 1}


class AlignmentRidge(OfAlignment):
    """Ridge regression of a masked site of an alignment on the others: replica theory for its spectrum, and simulations."""

    class Grid(Section):
        masked: Axis[Annotated[Whole, Field(ge=1, le=10_000, description="Masked site, number of the kept column.")]]
        ridge: Axis[
            Annotated[
                float,
                Field(
                    ge=1e-9, le=1e6, description="lambda in (X^T X + lambda p)^-1 X^T Y; below 1e-9 rounding decides."
                ),
            ]
        ]
        samples: Axis[
            Annotated[
                Whole,
                Field(
                    ge=1, le=10**6,
                    description="Distinct training sequences M; with sequence weights, at most the sum of the weights over the "
                    "largest weight of a distinct sequence.",
                ),
            ]
        ]  # fmt: skip

    class Solver(Section):
        identity: Identity = 0.8

    grid: Grid
    solver: Solver = Solver()

    @classmethod
    def cross_checks(cls, estimator):
        return check.alignment_ridge(estimator)

    @classmethod
    def work(cls, estimator):
        """The matrices of the products of all inputs."""
        return {"samples": 1}
