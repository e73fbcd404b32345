"""Keys of empirical risk minimisation with weight decay."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from attention_limits.attention_indexed.priors.loading import code_modules as prior_modules
from attention_limits.attention_indexed.schema.checks import (
    memory_checks,
    size_checks,
    spectrum_checks,
    too_few_tokens,
    untied_checks,
)
from attention_limits.attention_indexed.schema.keys import Aspect, Damping, Dimension, FreshSequences, Spectrum
from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.specification import Axis, Problem, Section, Specification, Whole, fields

# Smallest decay and noise beside zero, and the most tokens of a softmax.
SMALLEST_DECAY, SMALLEST_SCORE_NOISE, MOST_SOFTMAX_TOKENS = 1e-4, 1e-4, 6


def _zero_or_promised(smallest: float, largest: float):
    def check(value: float) -> float:
        if 0 < value < smallest:
            raise ValueError(f"{value:g}: allowed: 0, or {smallest:g} to {largest:g}")
        return value

    return AfterValidator(check)


# fmt: off
ErmAlpha = Annotated[float, Field(ge=0.001, le=100, description="Samples per squared dimension, n / d^2.")]
ErmRatio = Annotated[float, Field(ge=0.01, le=10, description=
    "Width of the attention of the teacher over the dimension, rho = r / d.")]
ErmTokens = Annotated[Whole, Field(ge=1, le=64, description=
    "Number of tokens M of a sequence; 2 to 6 for softmax. One token is a quadratic network.")]
ErmBeta = Annotated[float, Field(ge=0.1, le=10, description=
    "Inverse temperature of the softmax of teacher and student, per score.")]
ScoreNoise = Annotated[float, _zero_or_promised(SMALLEST_SCORE_NOISE, 10), Field(ge=0, le=10, description=
    "tau: variance of the symmetric noise on every score off the diagonal, twice as large on it; 0, or 0.0001 to 10. "
    "The teacher's output is that of the noisy scores.")]
ErmUntied = Annotated[bool, Field(description=
    "false: S = W W^T / sqrt(p d) and symmetric scores. true: queries and keys have separate weights, S = Q K^T / sqrt(p d), and "
    "read separate sequences of M tokens (cross-attention); the weight decay is lambda sqrt(d / p) (|Q|^2 + |K|^2) / 2, the "
    "nuclear norm lambda d ||S||_*.")]
TiedStudent = Annotated[Literal[False], Field(description=
    "Message passing for weight decay treats tied weights. For untied ones, erm_state_evolution is the theory and "
    "erm_minimisation the minimum on data sets.")]
_DECAY = (
    "Strength lambda of the weight decay lambda sqrt(d / p) |W|^2 = lambda d tr S, S = W W^T / sqrt(p d) with p >= d columns. "
    "It is added to the sum of the squared errors of all samples and entries.")
WeightDecay = Annotated[float, _zero_or_promised(SMALLEST_DECAY, 1000), Field(ge=0, le=1000, description=
    _DECAY + " 0: the limit of vanishing decay, which a softmax with score noise does not have; else at least 0.0001.")]
PositiveDecay = Annotated[float, Field(ge=SMALLEST_DECAY, le=1000, description=
    _DECAY + " Without decay the minimum is not unique; erm_state_evolution computes the limit.")]
ErmNodes = Annotated[Literal[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384], Field(description=
    "Sobol nodes of the average over the scores of a softmax; each counts with its negative.")]
ErmTolerance = Annotated[float, Field(gt=0, le=0.1, description=
    "Largest change per iteration of the logarithms of q, V and Q + tau - m^2 / q at convergence: q = tr S^2 / d, "
    "m = tr S S* / d, Q = tr S*^2 / d, V the response. Linear scores need no iteration.")]
ErmIterations = Annotated[Whole, Field(ge=1, le=10_000, description="Largest number of iterations.")]
# fmt: on


class BestModel(Section):
    """One layer of attention and its output."""

    channel: Annotated[Literal["linear", "softmax"], Field(description=
        "Output of the scores h: linear, h itself; softmax, of each row.")]  # fmt: skip
    tokens: ErmTokens
    ratio: ErmRatio
    beta: ErmBeta = 1.0
    score_noise: ScoreNoise = 0.0
    untied: ErmUntied = False
    aspect: Aspect = 1.0
    spectrum: Spectrum | None = None


class ErmModel(BestModel):
    """One layer of attention, its output, and the weight decay."""

    weight_decay: WeightDecay | None = None


class BestGrid(Section):
    """Scanned parameters."""

    alpha: Axis[ErmAlpha]
    ratio: Axis[ErmRatio] | None = None
    tokens: Axis[ErmTokens] | None = None
    score_noise: Axis[ScoreNoise] | None = None


class ErmGrid(BestGrid):
    """Scanned parameters."""

    weight_decay: Axis[WeightDecay] | None = None


class FitModel(BestModel):
    """One layer of attention, its output, and the weight decay."""

    weight_decay: PositiveDecay | None = None


class GampModel(FitModel):
    """One layer of tied attention, its output, and the weight decay."""

    untied: TiedStudent = False


class FitGrid(BestGrid):
    """Scanned parameters."""

    weight_decay: Axis[PositiveDecay] | None = None


class ErmSolver(Section):
    """Numerical parameters of the fixed point of softmax outputs."""

    nodes: ErmNodes = 1024
    tolerance: ErmTolerance = 1e-5
    max_iterations: ErmIterations = 100


class BestSolver(ErmSolver):
    """Numerical parameters of the search for the best decay of softmax outputs."""

    criterion: Annotated[Literal["estimation", "generalisation"], Field(description=
        "Error that the best decay makes least: that of S, or the squared error of fresh outputs. Linear outputs have the same "
        "best decay for both.")] = "estimation"  # fmt: skip
    least: Annotated[float, Field(ge=SMALLEST_DECAY, le=1000, description="Smallest decay that is tried.")] = 1e-3
    largest: Annotated[float, Field(ge=SMALLEST_DECAY, le=1000, description="Largest decay that is tried.")] = 1.0
    accuracy: Annotated[float, Field(gt=0, le=1, description="Accuracy of the logarithm of the best decay.")] = 0.1


class MinimisationSolver(Section):
    """Numerical parameters of the minimisation."""

    dimension: Dimension = 100
    method: Annotated[Literal["factor", "proximal"], Field(description=
        "factor: L-BFGS on a square factor W of S = W W^T / d, then proximal steps; proximal: accelerated proximal gradient "
        "on S from zero.")] = "factor"  # fmt: skip
    tolerance: Annotated[float, Field(gt=0, le=0.1, description=
        "Largest change of S by a proximal step at convergence, relative to S.")] = 1e-5  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=100_000, description=
        "Largest number of iterations of L-BFGS, and of proximal steps.")] = 3000  # fmt: skip
    fresh_sequences: FreshSequences = 2000


class ErmGampSolver(Section):
    """Numerical parameters of message passing."""

    dimension: Dimension = 100
    damping: Damping = 0.5
    tolerance: Annotated[float, Field(gt=0, le=0.1, description=
        "Largest change of S by an undamped step at convergence, relative to S.")] = 1e-4  # fmt: skip
    max_iterations: Annotated[Whole, Field(ge=1, le=100_000, description=
        "Largest number of iterations. A run ends earlier when it converges or makes no progress at any damping."
    )] = 1000  # fmt: skip
    fresh_sequences: FreshSequences = 2000


def _values(estimator, key: str, default=()) -> list:
    fixed = [estimator.model[key]] if key in estimator.model else list(default)
    return estimator.grid.get(key, fixed)


class OfDecay(Specification):
    """An estimator of weight decay."""

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """A decay that is missing, or zero with a noisy softmax, and a softmax of too few or too many tokens."""
        softmax, tokens = estimator.model["channel"] == "softmax", _values(estimator, "tokens")
        found, most = too_few_tokens(estimator.model["channel"], tokens), max(tokens)
        if softmax and most > MOST_SOFTMAX_TOKENS:
            text = f"softmax: allowed with at most {MOST_SOFTMAX_TOKENS} tokens, not {most}"
            found.append((("model", "channel"), text))
        found += [*untied_checks(estimator), *spectrum_checks(estimator)]
        if "weight_decay" not in fields(cls, "model"):
            return found
        decays = _values(estimator, "weight_decay")
        if not decays:
            return [*found, (("grid", "weight_decay"), "missing; allowed: an axis here, or one value in model")]
        place = ("grid" if "weight_decay" in estimator.grid else "model", "weight_decay")
        if min(decays) == 0 and softmax and max(_values(estimator, "score_noise")) > 0:
            found.append(
                (place, f"0: a softmax with score noise has no known limit; allowed: at least {SMALLEST_DECAY:g}")
            )
        return found

    @classmethod
    def code_files(cls, estimator) -> list[Path]:
        """The file of the user that defines the spectrum, where it exists."""
        path, separator, _ = (estimator.model.get("spectrum") or "").rpartition(":")
        file = user_file(estimator.project, path)
        return [file] if separator and file.is_file() else []

    @classmethod
    def code_modules(cls, estimator) -> list[str]:
        """The modules of the law of S: `load_prior` imports them by name."""
        return prior_modules(estimator.model)

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """The average over the scores."""
        return {"nodes": 1}


class ErmStateEvolution(OfDecay):
    """State evolution computes the errors, the spectrum and the rank of the attention that weight decay learns."""

    model: ErmModel
    grid: ErmGrid
    solver: ErmSolver = ErmSolver()


class ErmOptimalDecay(OfDecay):
    """State evolution of weight decay at the strength of the smallest error."""

    model: BestModel
    grid: BestGrid
    solver: BestSolver = BestSolver()

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """The range of the decay is not empty, and the checks of the model."""
        least, largest = estimator.solver.least, estimator.solver.largest
        if not least < largest:
            return [(("solver", "largest"), f"{largest:g}: allowed: more than least = {least:g}")]
        return super().cross_checks(estimator)


class OnDataSets(OfDecay):
    """An estimator of weight decay on simulated data sets."""

    model: FitModel
    grid: FitGrid

    @classmethod
    def cross_checks(cls, estimator) -> list[Problem]:
        """Sizes that round to zero, data that exceed the memory, and the checks of the model."""
        found = [*super().cross_checks(estimator), *size_checks(estimator)]
        return found or memory_checks(estimator, 1, 1)

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """One product of all tokens with a d x d matrix: n M d^2, n = alpha d^2."""
        return {"alpha": 1, "dimension": 4, "tokens": 1}


class ErmMinimisation(OnDataSets):
    """L-BFGS or proximal gradient minimises the training error with weight decay on simulated data sets."""

    solver: MinimisationSolver = MinimisationSolver()


class ErmGamp(OnDataSets):
    """Message passing minimises the training error with weight decay on simulated data sets."""

    model: GampModel
    solver: ErmGampSolver = ErmGampSolver()
