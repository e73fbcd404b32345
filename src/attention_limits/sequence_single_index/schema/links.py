"""The parameters of the estimators of any target and student: ranges, defaults and normalisation (arXiv:2506.02651)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole
from attention_limits.sequence_single_index.links.geometry import gram_problem, overlap_problem
from attention_limits.sequence_single_index.links.names import HERMITE, link_file, name_problem
from attention_limits.sequence_single_index.schema.checks import unequal_outputs, unsound
from attention_limits.sequence_single_index.schema.keys import Batch, Rate, Threshold

# The most Hermite coefficients that an information exponent uses.
MOST_COEFFICIENTS = 10_000

FewTokens = Annotated[Whole, Field(
    ge=1, le=32,
    description=f"Number of tokens M of a sequence. There are (M + order)! / (M! order!) coefficients, at most "
    f"{MOST_COEFFICIENTS}: M ≤ 9 at order 6, M ≤ 19 at order 4, M ≤ 32 at order 3.",
)]  # fmt: skip
LinkName = Annotated[str, Field(pattern=r"^([a-z_]+|.+\.py:[A-Za-z_][A-Za-z0-9_]*)$")]
Degree = Annotated[Whole, Field(ge=0, le=12, description="Degree of the Hermite polynomial of the target.")]
TokenWeight = Annotated[float, Field(
    ge=-1e6, le=1e6, description="Weight of one token. With larger weights rounding loses the other numbers."
)]  # fmt: skip


class LinksModel(Section):
    """Target and student, positional encoding with alternating signs +1, -1, +1 ..."""

    target: Annotated[LinkName, Field(
        description="Target: hermite, constant + sum_l weights_l He_degree(z_l), not normalised; linear_sum, relu_sum, "
        "full_attention or trace_attention; or "
        "file.py:function, from fields (n, M) to outputs (n,) or (n, P), its path from the project folder."
    )] = "hermite"  # fmt: skip
    student: Annotated[LinkName, Field(
        description="Student: linear_sum, relu_sum, full_attention, trace_attention (divided by sqrt M), or file.py:function as "
        "for target."
    )]  # fmt: skip
    degree: Degree
    weights: Annotated[
        list[TokenWeight],
        Field(
            min_length=1,
            max_length=1000,
            description="Weights of the tokens in the target: one weight for all tokens, or one per token.",
        ),
    ] = [1.0]
    constant: Annotated[float, Field(
        ge=-1e6, le=1e6, description="Constant added to the target. With a larger one rounding loses the other numbers."
    )] = 0.0  # fmt: skip


class LandscapeModel(LinksModel):
    """Target and student of few tokens, for which grids of all fields are possible."""

    tokens: Annotated[Whole, Field(ge=1, le=4, description="Number of tokens M of a sequence.")] = 2


class ExponentModel(LinksModel):
    """Target and student of any number of tokens."""

    tokens: FewTokens
    untied: Annotated[bool, Field(description="Whether every token of the student has its own weights.")] = False


class LinkRunModel(LinksModel):
    """Target and student that are functions of the fields of one sequence, and the numbers of their SGD."""

    target: Annotated[LinkName, Field(
        description="Target: hermite, constant + sum_l weights_l He_degree(z_l), not normalised; linear_sum, relu_sum, "
        "full_attention or trace_attention; or "
        "file.py:function, z[0] ... z[M-1] to a number or P numbers, the path from the project folder."
    )] = "hermite"  # fmt: skip
    student: Annotated[LinkName, Field(
        description="Student: a name as for the target; hermite is then the same sum. Its derivatives are automatic, or those of "
        "its attribute gradient, a function of (z, l)."
    )]  # fmt: skip
    degree: Degree = 1
    tokens: Annotated[Whole, Field(ge=1, le=64, description="Number of tokens M of a sequence.")]
    loss: Annotated[
        Literal["half_square", "square", "frobenius", "logistic"],
        Field(description="|y - f|^2 / 2, |y - f|^2, |y - f|, or sum_p log(1 + exp(-y_p f_p))."),
    ] = "half_square"
    dimension: Annotated[Whole, Field(
        ge=5, le=10**9, description="Dimension d of a token, at least three more than the independent positional vectors."
    )]  # fmt: skip
    learning_rate: Annotated[Rate, Field(
        description="Prefactor c of the learning rate c d^(-learning_rate_exponent); below 1e-9 rounding loses a step at large d."
    )]  # fmt: skip
    learning_rate_exponent: Annotated[float, Field(
        ge=0, le=4, description="The learning rate falls with this power of d; (k - 2) / 2 for an information exponent k > 2."
    )] = 0.0  # fmt: skip
    batch: Batch = 1
    threshold: Annotated[Threshold, Field(
        description="A run escapes when e^2 + m^2 exceeds this value; untied: its mean over the tokens."
    )] = 0.25  # fmt: skip


class EncodedModel(LinkRunModel):
    """Target and student with positional vectors."""

    position: Annotated[
        Literal["none", "alternating"] | list[list[float]],
        Field(
            description="Positional vectors: none, alternating +p, -p ... with |p| = 1, or their Gram matrix, M by M."
        ),
    ] = "none"
    position_overlap: Annotated[
        list[Annotated[float, Field(ge=-100, le=100)]],
        Field(
            description="Overlaps of the positional vectors with the teacher: one for all, or one for each token; none are zero."
        ),
    ] = []


class LinkSGDModel(EncodedModel):
    """Any student, with positional vectors and with weights of each token."""

    untied: Annotated[bool, Field(description="Whether every token of the student has its own weights.")] = False
    start: Annotated[Literal["uninformed", "overlapped", "random"], Field(
        description="Overlaps with the teacher and with a basis of the positions at the start: zero, all d^(-1/2), or those of "
        "random weights, drawn for each run, without a flow."
    )] = "overlapped"  # fmt: skip


class EscapeModel(EncodedModel):
    """Any tied student, with positional vectors along at most one direction beside the teacher."""

    start: Annotated[Literal["uninformed", "overlapped"], Field(
        description="Overlaps with the teacher and with the direction of the positions at the start: zero, or both d^(-1/2)."
    )] = "overlapped"  # fmt: skip


class LandscapeGrid(Section):
    """Scanned parameters."""

    degree: Axis[Degree]


class ExponentGrid(Section):
    """One scanned parameter: the degree or the number of tokens."""

    degree: Axis[Degree] | None = None
    tokens: Axis[FewTokens] | None = None


class LinkSGDGrid(Section):
    """Scanned parameters."""

    dimension: Axis[Annotated[Whole, Field(ge=5, le=10**9, description="Dimension d of a token.")]]
    tokens: Axis[Annotated[Whole, Field(ge=1, le=64, description="Number of tokens M of a sequence.")]] | None = None
    learning_rate: Axis[Annotated[Rate, Field(description="Prefactor c of the learning rate.")]] | None = None


class LandscapeSolver(Section):
    """Numerical parameters."""

    points: Annotated[Whole, Field(
        ge=3, le=1001, description="Number n of points of the grid of e from 0 to 1; m from -1 to 1 has 2 n - 1."
    )] = 101  # fmt: skip
    degree: Annotated[Whole, Field(ge=0, le=100, description="Highest order of the series of the loss in m.")] = 8


class ExponentSolver(Section):
    """Numerical parameters."""

    order: Annotated[Whole, Field(ge=1, le=10, description="Highest order of the loss in the overlaps.")] = 6
    tolerance: Annotated[float, Field(
        gt=0, le=0.01, description="Absolute error at which the adaptive quadrature for one or two tokens stops."
    )] = 1e-11  # fmt: skip


class OfLinks(Specification):
    """An estimator of a target and a student that the file names."""

    # Keys whose link may be a sum of Hermite polynomials.
    hermite: ClassVar[tuple[str, ...]] = ("target",)

    @classmethod
    def lengths(cls, estimator):
        """The numbers of tokens that the estimator computes."""
        return estimator.grid.get("tokens", [estimator.model.get("tokens")])

    @classmethod
    def cross_checks(cls, estimator):
        """Links exist and have equal numbers of outputs; weights are one, or one per token."""
        model, lengths = estimator.model, cls.lengths(estimator)
        named = [key for key in ("target", "student") if key not in cls.hermite or model[key] != HERMITE]
        problems = [(("model", key), name_problem(model[key], estimator.project)) for key in named]
        absent = [(keys, text) for keys, text in problems if text]
        yield from absent or unsound(model, named, lengths, estimator.project) or unequal_outputs(model, lengths)
        count = len(model["weights"])
        if count > 1 and any(count != length for length in lengths):
            allowed = ", ".join(f"{length:g}" for length in lengths)
            yield ("model", "weights"), f"{count} weights; allowed: one, or one per token ({allowed})"

    @classmethod
    def code_files(cls, estimator):
        """The files of targets and students."""
        files = (link_file(estimator.model[key], estimator.project) for key in ("target", "student"))
        return [path for path in files if path is not None and path.is_file()]


class OfPositions(OfLinks):
    """An estimator of links with positional vectors."""

    @classmethod
    def cross_checks(cls, estimator):
        """The checks of links; the Gram matrix is one, and allows the overlaps with the teacher."""
        yield from super().cross_checks(estimator)
        model = estimator.model
        if not isinstance(model["position"], str):
            problems = (gram_problem(model["position"], int(tokens)) for tokens in cls.lengths(estimator))
            yield from ((("model", "position"), problem) for problem in problems if problem)
        for tokens in cls.lengths(estimator):
            if problem := overlap_problem(model["position_overlap"], model["position"], int(tokens)):
                yield ("model", "position_overlap"), problem
