"""Checks beyond single keys: the link exists, is sound and offers what the solver needs; sizes fit; files are required."""

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from attention_limits.pipeline.base.files import canonical_json
from attention_limits.pipeline.experiments.specification import Problem, Section, fields
from attention_limits.sequence_multi_index.data.sequences import sample_count
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import FINITE_SUM, GRADIENT, POSTERIOR, Link, require
from attention_limits.sequence_multi_index.links.loading import code_file, code_module, load_link
from attention_limits.sequence_multi_index.priors.loading import load_prior, prior_file, spectrum_file
from attention_limits.sequence_multi_index.priors.prior import Prior

# A Sobol sequence has at most this many dimensions: the Gaussian variables of a node.
MAX_VARIABLES = 21201
# Beyond this the quick check alone takes minutes, and no number of nodes samples the posterior.
MAX_SAMPLED_ROWS = 128
# The program that JAX compiles grows with the number of layers, and so does the time to compile it.
MAX_TRAINED_ROWS = 64
# Megabytes of a job without its arrays, and numbers that a posterior holds for each output, in units of (P M)^2.
BASE_MEGABYTES, POSTERIOR_COPIES = 300, 14
# The generalisation errors take sixteen times the nodes, three times over.
ERROR_COPIES = 3 * 16


@functools.cache
def _problems_of(parameters: str, project: Path, code: bytes) -> list[str]:
    """The problems of a link from its `parameters` in JSON: many experiments, estimators and scales share it.

    A file of the user may change, so the bytes of the file of a link, `code`, belong to the key; a provided link has none.
    """
    return problems_of(load_link(json.loads(parameters), project))


class OfLink:
    """An estimator, or data, of a link."""

    # The needs of its solver (`links.link.require`); without POSTERIOR it only runs the link forward.
    needs: ClassVar[frozenset[str]] = frozenset()
    # Laws of weights and tokens that change the problem, unless the model of the class has them.
    refuses: ClassVar[frozenset[str]] = frozenset({"prior", "covariance", "token_covariance"})

    @classmethod
    def sizes(cls, estimator, link: Link) -> Iterable[Problem]:
        """Sizes that exceed the memory of a job."""
        return ()

    @classmethod
    def of_prior(cls, link: Link, prior: Prior) -> str:
        """The reason why the solver cannot use a prior with a link, or an empty text."""
        return ""

    @classmethod
    def cross_checks(cls, estimator) -> Iterable[Problem]:
        """Problems of the link at every value of each of its scanned parameters."""
        own = cast("type[Section]", cls)
        scanned = {key: values for key, values in estimator.grid.items() if key in fields(own, "model")}
        first = {**estimator.model, **{key: values[0] for key, values in scanned.items()}}
        found = list(cls._at(estimator, first, ("model",)))
        yield from found
        for key, values in scanned.items() if not found else ():
            for value in values[1:]:
                for keys, text in cls._at(estimator, {**first, key: value}, ("grid", key)):
                    yield keys, f"{value!r}: {text}"

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """The average over the nodes."""
        return {"nodes": 1}

    @classmethod
    def _at(cls, estimator, parameters: Mapping, keys: tuple[str, ...]) -> Iterable[Problem]:
        infers = POSTERIOR in cls.needs
        try:
            link = load_link(parameters, estimator.project)
            if infers and link.rows > MAX_SAMPLED_ROWS:
                allowed = f"allowed: at most {MAX_SAMPLED_ROWS}, for more no number of nodes samples the posterior"
                return [(keys, f"{parameters['link']} has {link.rows} rows: {allowed}")]
            if GRADIENT in cls.needs and link.rows > MAX_TRAINED_ROWS:
                text = f"{parameters['link']} has {link.rows} rows: allowed for gradient descent: at most {MAX_TRAINED_ROWS}"
                return [(keys, text)]
            # A provided link runs forward at every parameter; whether its output can be inverted depends on them.
            file = code_file(parameters["link"], estimator.project)
            place = (Path(), b"") if file is None else (estimator.project, file.read_bytes())
            found = _problems_of(canonical_json(dict(parameters)), *place) if infers or file is not None else []
            if not found:
                require(link, cls.needs)
                found = [link.no_moments] if link.no_moments else []
        except ValueError as error:
            return [(keys, str(error))]
        return [(keys, text) for text in found] or [
            *_prior_problems(cls, estimator, link, parameters),
            *cls.sizes(estimator, link),
        ]

    @classmethod
    def code_files(cls, estimator) -> Iterable[Path]:
        """The files of the user that define link, prior and covariance of the dimensions, where they exist."""
        model, project = estimator.model, estimator.project
        paths = code_file(model["link"], project), prior_file(model, project), spectrum_file(model, project)
        return [path for path in paths if path is not None and path.is_file()]

    @classmethod
    def code_modules(cls, estimator) -> Iterable[str]:
        """The module that defines the link, if it is a provided one."""
        module = code_module(estimator.model["link"])
        return [] if module is None else [module]


class OfNodes(OfLink):
    """An estimator that averages over the channel on Sobol nodes."""

    needs: ClassVar[frozenset[str]] = frozenset({POSTERIOR})

    @classmethod
    def of_prior(cls, link, prior):
        """Too many rows whose posteriors are coupled."""
        return coupled_problem(link, prior)

    @classmethod
    def sizes(cls, estimator, link):
        """Nodes of more variables than a Sobol sequence has, and posteriors that do not fit into the memory of a job."""
        found = list(too_many_variables(link))
        if found:
            return found
        solver = estimator.solver
        outputs = max(solver.nodes, getattr(solver, "nodes_at_zero", 0))
        numbers = posterior_numbers(link, outputs) + ERROR_COPIES * solver.nodes * node_variables(link)
        return memory_problems(estimator, numbers, f"{outputs} nodes of {link.rows} rows and {link.tokens} tokens")


@dataclass(frozen=True)
class DataSize:
    """The largest data set of an estimator: n sequences of dimension D, and the numbers that a job holds for them."""

    samples: int
    dimension: int
    numbers: int
    text: str


class OfDataSets(OfLink):
    """An estimator that draws or reads sequences, or the sequences themselves."""

    # Whether a job holds the data of all its replicas together.
    replicas_at_once: ClassVar[bool] = False

    @classmethod
    def numbers_held(cls, estimator, link: Link, data: DataSize) -> tuple[float, str]:
        """Numbers in double precision that a job holds for one data set, and a text that names them."""
        raise NotImplementedError

    @classmethod
    def work(cls, estimator) -> dict[str, float]:
        """One pass through the data: n M D, n = alpha D."""
        return {"alpha": 1, "dimension": 2, "tokens": 1}

    @classmethod
    def sizes(cls, estimator, link):
        """Nodes of more variables than a Sobol sequence has, and arrays that do not fit into the memory of a job."""
        found = list(too_many_variables(link)) if POSTERIOR in cls.needs else []
        if found:
            return found
        drawn = estimator if estimator.reads is None else estimator.reads
        dimension, alpha = drawn.solver.dimension, max(estimator.grid["alpha"])
        samples = sample_count(alpha, dimension)
        text = f"n M D = {samples} x {link.tokens} x {dimension} numbers at alpha = {alpha:g}"
        data = DataSize(samples, dimension, 3 * samples * link.tokens * dimension, text)
        numbers, text = cls.numbers_held(estimator, link, data)
        copies = estimator.blocks.get("replicas", estimator.replicas) if cls.replicas_at_once else 1
        return memory_problems(estimator, copies * numbers, text)


def _prior_problems(cls, estimator, link: Link, parameters: Mapping) -> Iterable[Problem]:
    """A prior of other rows than the link, one that the solver cannot use, and a spectrum without whole numbers of dimensions."""
    try:
        prior = load_prior(parameters, link.rows, estimator.project)
    except ValueError as error:
        named = str(error).partition(":")[0]
        if named not in ("covariance", "participation_ratio"):
            named = "prior" if "prior" in parameters else "covariance"
        yield ("grid" if named in estimator.grid else "model", named), str(error)
        return
    if text := spikes_problem(link, prior) or cls.of_prior(link, prior):
        yield ("model", "prior"), text
    if not prior.isotropic:
        yield from _dimension_problems(estimator, prior)


def _dimension_problems(estimator, prior: Prior) -> Iterable[Problem]:
    """Keys that a law that differs between the dimensions does not allow, and dimensions that it does not divide."""
    from attention_limits.sequence_multi_index.priors.correlated_dimensions import CorrelatedDimensions

    correlated = isinstance(prior, CorrelatedDimensions)
    law = "a covariance of the dimensions of a token" if correlated else "prior: blocks"
    hinted = getattr(estimator.solver, "side_information", 0.0)
    if correlated and hinted:
        yield ("solver", "side_information"), f"allowed with {law}: 0"
    if (variance := getattr(estimator.solver, "variance", "average")) != "average":
        yield ("solver", "variance"), f"{variance}: allowed with {law}: average"
    reads = getattr(estimator, "reads", None)
    if reads is not None and "participation_ratio" in estimator.grid:
        yield ("grid", "participation_ratio"), f"allowed: in the model; data.{reads.name} has one covariance"
    dimension = getattr(estimator.solver if reads is None else reads.solver, "dimension", None)
    if dimension is not None:
        try:
            prior.check_dimension(dimension)
        except ValueError as error:
            yield ("solver", "dimension"), str(error)


def spikes_problem(link: Link, prior: Prior) -> str:
    """The reason why a link with spikes cannot have a prior, or an empty text."""
    independent = np.array_equal(prior.second_moment, np.eye(link.rows)) and not hasattr(prior, "spectrum")
    if not hasattr(link, "spikes") or independent:
        return ""
    return (
        f"{link.name} has spikes; allowed: weights whose rows are not correlated, E w w^T = I, and tokens whose "
        "dimensions are not"
    )


def coupled_problem(link: Link, prior: Prior) -> str:
    """The reason why the average over the prior cannot be computed, or an empty text."""
    if prior.symmetry(link) == "rows" or link.rows <= prior.most_coupled_rows:
        return ""
    return (
        f"{link.name} has {link.rows} rows whose signs are not all free; allowed: for this law of the weights at "
        f"most {prior.most_coupled_rows}"
    )


def rotation_problem(link: Link, prior: Prior) -> str:
    """The reason why the overlap of an estimate with the teacher is not defined, or an empty text."""
    if link.rotations == 1 or prior.rotations or prior.symmetry(link) == "rows":
        return ""
    return (
        f"{link.name} does not see rotations of the rows, and the program cannot align an estimate with the teacher; "
        "allowed: gaussian, bernoulli_gauss, and binary of mean 0"
    )


def node_variables(link: Link) -> int:
    """Gaussian variables of a node: omega, h given omega, and the noise of the output."""
    return 2 * link.rows * link.tokens + link.noise_dimension


def posterior_numbers(link: Link, outputs: int) -> int:
    """Numbers that the posterior of `outputs` outputs holds."""
    return outputs * POSTERIOR_COPIES * (link.rows * link.tokens) ** 2


def too_many_variables(link: Link) -> Iterable[Problem]:
    """Nodes of more variables than a Sobol sequence has."""
    count = node_variables(link)
    if count > MAX_VARIABLES:
        sizes = f"{link.rows} rows, {link.tokens} tokens"
        yield ("model",), f"{sizes}: {count} Gaussian variables of a node; allowed: at most {MAX_VARIABLES}"


def memory_problems(estimator, numbers: float, text: str) -> Iterable[Problem]:
    """More numbers in double precision than the memory of a job holds."""
    needed, given = BASE_MEGABYTES + int(8e-6 * numbers), estimator.resources["memory"]
    if needed > given:
        yield ("resources", "memory"), f"{given}: allowed: ≥ {needed}, the megabytes that {text} need"


def one_dimension(estimator) -> Iterable[Problem]:
    """The dimension is that of the data that are read, or of the solver."""
    if estimator.reads is None and estimator.solver.dimension is None:
        yield (
            ("solver", "dimension"),
            "missing; allowed: a whole number ≥ 10, or left out where the estimator reads data",
        )
    if estimator.reads is not None and estimator.solver.dimension is not None:
        given = estimator.solver.dimension
        yield ("solver", "dimension"), f"{given}: leave it out; data.{estimator.reads.name} sets the dimension"


def variance_problems(estimator, link: Link) -> Iterable[Problem]:
    """A link or a prior that the variances of samples, or relaxed belief propagation, do not take."""
    if hasattr(link, "spikes"):
        yield ("solver", "variance"), f"{estimator.solver.variance}: allowed where tokens are not normal: average"
    if estimator.solver.variance != "message":
        return
    keys, law = ("solver", "variance"), (estimator.model.get("prior") or {"name": "gaussian"})["name"]
    if link.posterior_methods[0] != FINITE_SUM:
        text = f"message: {link.name} samples its fields, N D times in each iteration; allowed: average, sample"
        yield keys, text
    elif law not in ("gaussian", "correlated"):
        yield keys, f"message: the weights are {law}; allowed: gaussian, correlated; for other laws: average, sample"


def batch_problems(estimator) -> Iterable[Problem]:
    """Batches larger than the smallest data set."""
    alpha = min(estimator.grid["alpha"])
    count, batch = sample_count(alpha, estimator.reads.solver.dimension), estimator.solver.batch
    if batch > count:
        yield ("solver", "batch"), f"{batch}: allowed: ≤ {count}, the number of sequences at alpha = {alpha:g}"


def depth_problems(estimator) -> Iterable[Problem]:
    """Fields of all layers and attention matrices beyond the memory."""
    samples, tokens, depth = estimator.solver.samples, estimator.model["tokens"], max(estimator.grid["depth"])
    # Two copies of the fields, and some ten matrices for each sample.
    numbers = 2 * samples * depth * tokens + 10 * samples * tokens**2
    return memory_problems(estimator, numbers, f"{samples} samples of {depth} layers and {tokens} tokens")


def training_problems(estimator) -> Iterable[Problem]:
    """Files that are not required, questions that do not fill an epoch, and trajectories beyond the memory."""
    model, solver = estimator.model, estimator.solver
    for key, built_in in (("corpus", "generated"), ("vocabulary", "words")):
        # If the experiment does not require a file, nothing would notice an edit of it.
        if model[key] not in (built_in, *estimator.requires):
            yield ("model", key), f"{model[key]!r}: allowed: {built_in}, or a file that is listed under `requires`"
    if model["special_tokens"] and model["vocabulary"] == "words":
        yield ("model", "special_tokens"), "true: allowed: false, because words have no special tokens"
    yield from _question_problems(model, solver)
    sizes = [model[key] for key in ("depth", "embedding", "hidden")]
    records = solver.epochs * solver.records + 1
    # A trajectory in single precision, and twice in double precision.
    text = f"{records} records of {' x '.join(map(str, sizes))} weights"
    yield from memory_problems(estimator, 2.5 * records * math.prod(sizes), text)


def _question_problems(model, solver) -> Iterable[Problem]:
    generated = model["corpus"] == "generated"
    if generated != ("questions" in model):
        text = (
            "missing; allowed: a whole number ≥ 60"
            if generated
            else "leave it out; the file sets the number of questions"
        )
        yield ("model", "questions"), text
    elif generated:
        count = model["questions"]
        held_out = round(model["test_fraction"] * count)
        needed = solver.records * solver.batch
        if not 0 < held_out < count:
            empty = "test" if held_out == 0 else "training"
            yield (
                ("model", "test_fraction"),
                f"{model['test_fraction']:g} of {count} questions: the {empty} part is empty",
            )
        elif needed > count - held_out:
            text = f"records * batch = {needed}: allowed: ≤ {count - held_out}, the training questions"
            yield ("solver", "batch"), text
