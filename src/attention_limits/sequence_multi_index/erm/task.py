"""Target, student, loss and tokens of a grid point, and the variables of a solution.

The tokens with positions are those of Cui et al. 2024 (arXiv:2402.03902). In all functions `spec` is the specification that
`run` gets, `streams` its random streams, `at` the grid values by key, `replica` the number of the replica, `task` a `Task` and
`data` a `DataSet`.
"""

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.fft import idct

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.files import canonical_json
from attention_limits.pipeline.cubes.points import collect, points
from attention_limits.sequence_multi_index.data.sequences import local_fields
from attention_limits.sequence_multi_index.erm.losses import CODES, Loss, checked, checked_student, make_loss
from attention_limits.sequence_multi_index.erm.nodes import anchors_of, make_nodes, outputs_of
from attention_limits.sequence_multi_index.erm.state_evolution import Order, Solution, errors_at
from attention_limits.sequence_multi_index.erm.students import student_of, target_of
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import code_file

# Keys of a grid that are no parameters of the links.
NOT_OF_THE_LINKS = frozenset({"alpha", "ridge", "start_size"})
# The errors of a finite student need no proximal operator: this many nodes cost little.
ERROR_NODES = 16384
# Dimensions of every variable in addition to grid and replica.
DIMS = {
    "overlap": ("layer", "layer_star"),
    "overlap_node_error": ("layer", "layer_star"),
    "student_norm": ("layer", "layer_other"),
    "target_norm": ("layer_star", "layer_star_other"),
    "susceptibility": ("layer", "layer_other"),
    "position_overlap": ("layer", "direction"),
    "objective_by_start": ("init",),
    "overlap_by_start": ("init", "layer", "layer_star"),
    "student_norm_by_start": ("init", "layer", "layer_other"),
    "converged_by_start": ("init",),
    "objective_rise": ("layer",),
}


@dataclass(frozen=True)
class Task:
    """The link `target` gives the outputs; the link `student` is fitted to them by `loss`.

    The tokens are sigma g_a + sum_k B_ak u_k with `positions` B (M, K); the target reads sigma g_a alone.
    """

    target: Link
    student: Link
    loss: Loss
    sigma: float
    positions: np.ndarray

    def nodes(self, count, generator, norm=None):
        """`count` nodes of the channel from `generator`, for a target of overlap `norm` with itself; see `make_nodes`."""
        return make_nodes(self.loss, self.target, self.student, count, generator, self.sigma, self.positions, norm)

    def overlaps(self, order: Order) -> dict:
        """The overlaps in the `order` parameters: W W*^T / D, W W^T / D, and with positions W U / sqrt(D)."""
        found = {"overlap": order.m / self.sigma**2, "student_norm": order.q / self.sigma**2}
        return found | ({"position_overlap": order.mu} if self.positions.size else {})


def task_at(spec: dict, at: Mapping) -> Task:
    """Links and loss at the grid values `at`. Raises SpecError for a loss or a student of the user that fails its check."""
    scanned = {key: value for key, value in at.items() if key not in NOT_OF_THE_LINKS}
    model, project = {**spec["model"], **scanned}, Path(spec["project"])
    names = model.get("link", ""), model.get("student", {}).get("link", ""), model["loss"]
    files = (code_file(name, project) for name in names)
    return _task(canonical_json(model), project, tuple(path.read_bytes() for path in files if path and path.is_file()))


@functools.lru_cache(maxsize=16)
def _task(parameters: str, project: Path, code: tuple[bytes, ...]) -> Task:
    """The task of a model from its `parameters` in JSON and the bytes `code` of the files of the user.

    Replicas and points share it: numba compiles a loss of the user for seconds, and the files are checked once.
    """
    model = json.loads(parameters)
    target, student = target_of(model, project), student_of(model, project)
    if student.student is None:
        _check_student(student)
    loss = (
        make_loss(model["loss"], student, project)
        if model["loss"] in CODES
        else _own_loss(model, target, student, project)
    )
    positions = np.array(model.get("positions", np.zeros((student.tokens, 0))), dtype=float)
    return Task(target, student, loss, float(model.get("sigma", 1.0)), positions)


def _check_student(student: Link) -> None:
    """Raises SpecError with the example where the output of a student of the user is ill-posed or its derivatives are wrong."""
    problems = problems_of(student)
    if not problems:
        try:
            make_loss("square", student)
            problems = [checked_student(student)]
        except ValueError as error:
            problems = [str(error)]
    if any(problems):
        raise SpecError([f"model.student: {problem}" for problem in problems])


def _own_loss(model: Mapping, target: Link, student: Link, project: Path) -> Loss:
    """The loss of the user, checked at outputs of the target. Raises SpecError with the example that fails."""
    rng = np.random.default_rng(0)
    fields = rng.standard_normal((64, target.rows, target.tokens))
    try:
        outputs = outputs_of(target, fields, rng.standard_normal((64, target.noise_dimension)))[1]
        loss = make_loss(model["loss"], student, project, outputs.shape[1])
        problem = checked(loss, outputs)
    except ValueError as error:
        problem = str(error)
    if problem:
        raise SpecError([f"model.loss: {model['loss']!r}: {problem}"])
    return loss


def ridge_at(spec: dict, at: Mapping) -> float:
    """lambda, scanned or of the model."""
    return float(at["ridge"] if "ridge" in at else spec["model"]["ridge"])


def coordinates(spec: dict) -> dict[str, np.ndarray]:
    """Rows of student and target and directions of the positions, from 1."""
    task = task_at(spec, points(spec)[0][0])
    student, target = np.arange(1, task.student.rows + 1), np.arange(1, task.target.rows + 1)
    rows = {"layer": student, "layer_other": student, "layer_star": target, "layer_star_other": target}
    directions = task.positions.shape[1]
    return rows | ({"direction": np.arange(1, directions + 1)} if directions else {})


def of_solution(task: Task, solution: Solution) -> dict:
    """The variables of a fixed point."""
    return {
        **task.overlaps(solution.order), "susceptibility": solution.order.V / task.sigma**2,
        "objective": solution.objective,
        "free_energy": solution.free_energy, **solution.errors, "replicon": solution.replicon, "jump_index": solution.jump,
        "replica_symmetric": solution.replica_symmetric, "residual": solution.residual,
        "iterations": solution.iterations, "converged": solution.converged, "resolved": solution.ended,
    }  # fmt: skip


@dataclass(frozen=True)
class DataSet:
    """The `sequences` (N, M, D) with their positions, weights of the `teacher` (P*, D), outputs (N, K), and `anchors` (N, S, P M)
    that fit them."""

    sequences: np.ndarray
    teacher: np.ndarray
    outputs: np.ndarray
    anchors: np.ndarray

    @property
    def dimension(self) -> int:
        """D."""
        return self.sequences.shape[2]


def data_at(spec: dict, streams, task: Task, replica: int, at: Mapping) -> DataSet:
    """The data set that a point reads, with the outputs of the target."""
    read = spec["data"](replica, **at)
    centred, teacher = task.sigma * read.sequences.values.astype(float), read.teacher.values
    fields = local_fields(centred, teacher)
    # As in the estimator gamp: both see the same noise.
    noise = streams.generator("output noise", replica, alpha=at["alpha"])
    outputs = outputs_of(task.target, fields, noise.standard_normal((len(fields), task.target.noise_dimension)))[1]
    sequences = centred + task.positions @ directions(task.positions.shape[1], centred.shape[2])
    return DataSet(sequences, teacher, outputs, anchors_of(task.target, task.student, fields))


def directions(count: int, dimension: int) -> np.ndarray:
    """`count` orthonormal directions u_k (K, D) of the positions in `dimension` D: the first rows of the cosine transform.

    u_1 = (1, ..., 1) / sqrt(D), as in Cui et al. 2024 (arXiv:2402.03902).
    """
    return idct(np.eye(count, dimension), axis=1, norm="ortho")


@dataclass(frozen=True)
class Training:
    """What a minimisation of one point gets: its `task`, `data` and `ridge`, and the `starts`, first weights (P, D) of each."""

    task: Task
    data: DataSet
    ridge: float
    starts: list[np.ndarray]


def starts_at(
    spec: dict, streams, task: Task, data: DataSet, replica: int, at: Mapping, further: int
) -> list[np.ndarray]:
    """The start of the solver and `further` random ones, see `_start`."""
    first = _start(spec["solver"].start, streams.generator("erm start", replica, alpha=at["alpha"]), task, data, at)
    generator = streams.generator("further starts", replica, alpha=at["alpha"])
    return [first, *(_start("random", generator, task, data, at) for _ in range(further))]


def _start(kind: str, generator, task: Task, data: DataSet, at: Mapping) -> np.ndarray:
    """First weights (P, D): those of the target, along the positions, or normal ones of standard deviation `start_size`."""
    if kind == "target":
        return data.teacher
    if kind == "positions":
        along = np.sqrt(data.dimension) * directions(task.positions.shape[1], data.dimension).sum(axis=0)
        return np.repeat(along[None], task.student.rows, axis=0)
    return at.get("start_size", 1.0) * generator.standard_normal((task.student.rows, data.dimension))


def collect_fits(spec: dict, streams, fit: Callable, further: int = 0) -> xr.Dataset:
    """The dataset of an estimator that fits simulated data sets.

    `fit(training)` gives the `weights` (P, D) with `objective`, `residual`, `iterations` and `converged`, and a mapping of more
    variables; the `training` has `further` random starts.
    """

    def compute(at, replica):
        task = task_at(spec, at)
        data = data_at(spec, streams, task, replica, at)
        starts = starts_at(spec, streams, task, data, replica, at, further)
        found, more = fit(Training(task, data, ridge_at(spec, at), starts))
        return {
            **of_weights(task, data, found.weights, streams.generator("error nodes", replica, alpha=at["alpha"])), **more,
            "objective": found.objective, "residual": found.residual, "iterations": found.iterations,
            "converged": found.converged,
        }  # fmt: skip

    inits = [spec["solver"].start, *(f"random {k}" for k in range(1, further + 1))]
    return collect(spec, compute, DIMS, coordinates(spec) | ({"init": inits} if further else {}))


def of_weights(task: Task, data: DataSet, weights, generator) -> dict:
    """Overlaps and errors of a student's weights (P, D); the test errors are means over fresh fields from `generator`."""
    dimension, variance = data.dimension, task.sigma**2
    norm = data.teacher @ data.teacher.T / dimension
    along = directions(task.positions.shape[1], dimension)
    order = Order(
        q=variance * weights @ weights.T / dimension, m=variance * weights @ data.teacher.T / dimension,
        mu=weights @ along.T / np.sqrt(dimension), V=variance * np.eye(len(weights)),
    )  # fmt: skip
    nodes = task.nodes(ERROR_NODES, generator, norm)
    return {
        **task.overlaps(order), "target_norm": norm, "realised_alpha": len(data.sequences) / dimension,
        **errors_at(task.loss, nodes, order),
    }  # fmt: skip
