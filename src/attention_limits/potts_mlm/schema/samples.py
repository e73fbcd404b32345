"""Keys of the experiments on Potts sequences and on masked Gaussian sequences."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.potts_mlm.schema import checks as check
from attention_limits.potts_mlm.schema.keys import Attention, Distance, Learner, Samples, Sequences, Tolerance


class DistanceGrid(Section):
    """The temperature of the Potts model."""

    distance: Axis[Distance]


Ridge = Annotated[
    float, Field(ge=0, le=1000, description="Weight lambda; objective: loss per site + (lambda / 2) |parameters|^2.")
]


_Instance = Annotated[Whole, Field(ge=0, le=10**9)]
Instances = _Instance | Annotated[list[_Instance], Field(min_length=1)]


class Gaussian(Section):
    """Symmetric, entries N(0, 1)."""

    kind: Literal["gaussian"]


class Contact(Section):
    """Entries 0 or 1; neighbours on the chain have 1."""

    kind: Literal["contact"]
    density: float = Field(ge=0, le=1, description="Probability of a contact between other sites than neighbours.")


class LowRank(Section):
    """Sum of `rank` outer products of standard normal vectors, over sqrt(rank); the diagonal is zero."""

    kind: Literal["low_rank"]
    rank: Whole = Field(ge=1, le=1000, description="Number of outer products.")


class Identity(Section):
    """The identity: the Potts model proper."""

    kind: Literal["identity"]


class FromFile(Section):
    """A symmetric matrix: a .npy file, or the only variable of a NetCDF file."""

    kind: Literal["file"]
    file: str = Field(min_length=1, description="NumPy or NetCDF file, relative to the project folder.")


class FromDistances(Section):
    """1 where two sites of a known fold are near, 0 elsewhere."""

    kind: Literal["distances"]
    file: str = Field(
        min_length=1,
        description="Lines `i j distance`, sites from 1, relative to the project folder; later sites are cut.",
    )
    contact: float = Field(8.0, gt=0, le=1000, description="Nearer sites have the coupling 1; unit of the file.")


class PottsSamples(Sequences):
    """Tempered Gibbs sampling draws training and test sequences of a Potts model in equilibrium."""

    class Model(Section):
        """Generalised Potts model H = -1/2 sum_(i != j) J_ij U[s_i, s_j]."""

        sites: Whole = Field(ge=2, le=1000, description="Number of sites L.")
        colors: Whole = Field(ge=2, le=127, description="Number of colours C.")
        instance: Instances = Field(
            0, description="Number of the random couplings, in all experiments; a list has one number for each replica."
        )
        couplings: Gaussian | Contact | LowRank | FromFile | FromDistances = Field(
            discriminator="kind", description="Couplings J."
        )
        color_couplings: Gaussian | Identity | FromFile = Field(
            Gaussian(kind="gaussian"), discriminator="kind", description="Colour couplings U."
        )

    class Solver(Section):
        samples: Whole = Field(ge=40, le=10**7, description="Training sequences, from the first run.")
        test_samples: Whole = Field(ge=40, le=10**7, description="Test sequences, from the second run.")
        gap: Whole = Field(ge=1, le=10**7, description="Sweeps between saved configurations.")
        warm_up: Whole = Field(100, ge=0, le=10**7, description="Configurations that each run discards first.")
        sweep: Literal["cyclic", "random"] = Field("cyclic", description="Sites in order, or L random sites.")
        swap_rate: float = Field(0.4, gt=0, le=0.95, description="Fraction of accepted exchanges; it sets the ladder.")
        tolerance: float = Field(0.01, gt=0, le=0.5, description="Allowed error of d_H, beyond one standard error.")
        beta_max: float = Field(2.5, gt=0, le=1000, description="Largest inverse temperature, in units of 1 / (J U).")
        unreachable: Literal["refuse", "keep"] = Field(
            "refuse",
            description="An instance above the distance even at beta_max: refused, or kept at beta_max and flagged.",
        )
        tuning_samples: Whole = Field(400, ge=40, le=10**7, description="Samples of the first round; then doubled.")
        tuning_gap: Whole = Field(20, ge=1, le=10**7, description="Sweeps between the samples of the tuning.")
        tuning_rounds: Whole = Field(3, ge=1, le=20, description="Largest number of tuning rounds.")
        largest_r_hat: float = Field(1.05, gt=1, le=2, description="Largest split R-hat at which the two runs agree.")

    model: Model
    grid: DistanceGrid
    solver: Solver

    @classmethod
    def cross_checks(cls, estimator):
        yield from check.matrices(estimator)
        yield from check.distances(estimator)
        yield from check.instances(estimator)

    @classmethod
    def code_files(cls, estimator):
        return check.matrix_files(estimator)

    @classmethod
    def work(cls, estimator):
        """Sweeps of the two runs, whose numbers of samples grow together; a sweep is L updates that read L sites."""
        return {"samples": 0.5, "test_samples": 0.5, "gap": 1, "sites": 2}


class Equilibrium(Specification):
    """This estimator keeps the couplings, the temperature and the diagnostics of the samples."""

    grid: DistanceGrid
    reads: Literal["potts_samples"] = Field(description="Samples to describe.")


class Descent(Section):
    """L-BFGS from random starts."""

    attentions: Annotated[list[Attention], AfterValidator(check.each_once)] = Field(
        ["raw"], min_length=1, description="Kinds of attention, each fitted separately."
    )
    starts: Whole = Field(
        3, ge=1, le=1000, description="Random starts; all are kept, figures show the one with the smallest objective."
    )
    max_iterations: Whole = Field(1000, ge=1, le=10**5, description="Largest number of L-BFGS iterations per start.")
    # Softmax attention has plateaus: at 3e-4 fits end up to 0.04 nats above their minimum, at 1e-5 within 1e-4.
    tolerance: Tolerance = Field(
        1e-5, description="Largest component of the gradient, in nats per site, at which a fit has converged."
    )


class SingleChains(Specification):
    """Single chains from random colours at the tempered temperature: whether they reach equilibrium, and what they teach."""

    class Solver(Descent):
        attentions: Annotated[list[Attention], AfterValidator(check.each_once)] = Field(
            ["raw", "softmax"], min_length=1, description="Kinds of attention, each fitted separately."
        )
        chains: Whole = Field(4, ge=2, le=1000, description="Independent chains.")
        learned: Whole = Field(
            1, ge=1, le=1000, description="Number of chains from which factored attention learns, each alone."
        )
        samples: Whole = Field(ge=40, le=10**7, description="Configurations of each chain, all of them for learning.")
        gap: Whole = Field(10_000, ge=1, le=10**7, description="Sweeps between saved configurations.")
        warm_up: Whole = Field(100, ge=0, le=10**7, description="Configurations that each chain discards first.")
        largest_r_hat: float = Field(1.05, gt=1, le=2, description="Largest split R-hat at which the chains agree.")
        ridge: Ridge = 1e-6

    grid: DistanceGrid
    reads: Literal["potts_samples"] = Field(description="Samples that give couplings and temperature.")
    solver: Solver

    @classmethod
    def cross_checks(cls, estimator):
        return check.learned_chains(estimator)

    @classmethod
    def work(cls, estimator):
        """Sweeps of all chains; sixteen are swept at once."""
        return {"samples": 1, "gap": 1}


class FactoredAttention(Learner):
    """L-BFGS fits factored attention, with the logits sum_(j != i) A_ij V[a, s_j]."""

    class Grid(Section):
        distance: Axis[Distance] | None = None
        samples: Axis[Samples]
        ridge: Axis[Ridge]

    asks = {("grid", "samples"): "training"}
    grid: Grid
    solver: Descent = Descent()

    @classmethod
    def work(cls, estimator):
        """Evaluations of the loss of all sequences from each start, at most; fits that converge need fewer."""
        return {"samples": 1, "starts": 1, "max_iterations": 1}


class MixedAttention(Learner):
    """L-BFGS fits attention layers with the input x_j = a s_j + (1 - a) p_j."""

    class Grid(Section):
        distance: Axis[Distance] | None = None
        mixing: Axis[
            Annotated[float, Field(ge=0, le=1, description="Weight a of the colour; 0 is factored, 1 position-free.")]
        ]

    class Solver(Descent):
        samples: Samples
        ridge: Ridge = 1e-6

    asks = {("solver", "samples"): "training"}
    grid: Grid
    solver: Solver

    @classmethod
    def work(cls, estimator):
        """Evaluations of the loss of all sequences from each start, at most; fits that converge need fewer."""
        return {"samples": 1, "starts": 1, "max_iterations": 1}


class RidgeGrid(Section):
    """Ridge regression of one site of Gaussian sequences, with the precision matrix K = gamma + W, on the others."""

    gamma: Axis[Annotated[float, Field(gt=2, le=1000, description="Diagonal gamma of K = gamma + W; W ends at 2.")]]
    ridge: Axis[Annotated[float, Field(ge=0, le=1e6, description="lambda in (X^T X + lambda (L - 1))^-1 X^T y.")]]
    alpha: Axis[Annotated[float, Field(gt=0, le=1e6, description="Samples per input, M / (L - 1).")]]


class Replica(Specification):
    """Replica theory gives the errors of ridge regression in closed form, in the limit of large L."""

    grid: RidgeGrid


class RidgeSimulation(Specification):
    """A simulation measures the errors of ridge regression at finite L."""

    class Solver(Section):
        sites: Whole = Field(ge=2, le=20_000, description="Length L of the sequences.")

    grid: RidgeGrid
    solver: Solver

    @classmethod
    def cross_checks(cls, estimator):
        return check.sequences_fit_into_memory(estimator)
