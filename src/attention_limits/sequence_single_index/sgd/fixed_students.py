"""Online SGD simulated in the overlaps alone: the law of the d-dimensional simulation at a cost independent of d.

Tokens x = g / sqrt d, one fresh batch per step, w <- w - gamma gradient, weights kept on the sphere (for the untied student:
all weights together). `fixed_students_kernels` holds the laws, `tests/sequence_single_index/full_sgd.py` the simulation that
they replace (arXiv:2506.02651).

Every simulation takes the number of tokens M as `tokens`, d as `dimension`, gamma as `learning_rate` (the step of the normalised
weights is gamma / d), the overlap at the `start`, of all runs or of each, a `Schedule` as `schedule`, one numpy.random.Generator
for each run as `generators`, and the number of sequences per step as `batch`. It returns one `Run` for each generator, which does
not depend on the others, and raises ValueError when the start is outside of the unit disk.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attention_limits.numerics.probability.random_kernels import padded, random_state
from attention_limits.numerics.simd.float64_lanes import WIDTH
from attention_limits.sequence_single_index.links.geometry import check_overlaps, fixed_attention
from attention_limits.sequence_single_index.sgd import attention_kernels
from attention_limits.sequence_single_index.sgd import fixed_students_kernels as kernels
from attention_limits.sequence_single_index.sgd.lanes_kernels import Ends, Found, Law, Work

# Random numbers of a run that are drawn at once.
_NUMBERS = 256
LOSSES = {"frobenius": attention_kernels.FROBENIUS, "half_square": attention_kernels.HALF_SQUARE}


@dataclass(frozen=True)
class AttentionProblem:
    """The problem of attention SGD: the loss between student S and positional-semantic target T (`loss`).

    Attributes
    ----------
    a : float
        Strength of the positional part of the target.
    omega : float
        Its weight, in [0, 1].
    loss : "frobenius" or "half_square"
        ||T - S||_F or half its square.
    """

    a: float
    omega: float
    loss: str

    @property
    def numbers(self):
        """(omega, abar, loss) as the kernels take them."""
        return self.omega, float(fixed_attention(self.a)), LOSSES[self.loss]


@dataclass(frozen=True)
class Run:
    """One run of SGD.

    Attributes
    ----------
    escaped : bool
        Whether the threshold was exceeded.
    escape_step : int
        The step at which it was first exceeded; the number of steps done if it was not (a censored time).
    state : array (n,)
        Overlaps at the end.
    trajectory : array (records, n)
        Overlaps after the recorded steps, NaN after the end of the run.
    """

    escaped: bool
    escape_step: int
    state: np.ndarray
    trajectory: np.ndarray


@dataclass(frozen=True)
class Schedule:
    """Length and record of a run.

    Attributes
    ----------
    steps : int
        Longest run.
    threshold : float
        Of |m| (tied), sqrt(sum m_l^2 / M) (untied) or e^2 + m^2 (attention), at which a run has escaped.
    stop : bool
        End the run at the threshold.
    records : array of int
        Increasing steps at which the state is stored.
    """

    steps: int
    threshold: float
    stop: bool = True
    records: np.ndarray = ()


class Update(NamedTuple):
    """An update of a module of kernels, whose names these are.

    Attributes
    ----------
    run : callable
        `lanes_kernels.run_lanes` with the update.
    parameters : list of float
    draws : int
        Rows of its draws in one step.
    freedom : float
        Degrees of freedom of its chi^2 draws; `chi` is their number.
    chi : int
    halved : bool
        Only half of the steps, at random, change the state.
    block : int
        Steps whose random numbers are drawn at once; chosen by `runs_of` if zero.
    """

    run: Callable
    parameters: list[float]
    draws: int
    freedom: float
    chi: int = 1
    halved: bool = False
    block: int = 0


def runs_of(update, start, generators, schedule) -> list[Run]:
    """Runs of the Update `update` from the states `start` (n,) or (n, runs) by a `schedule`, one for each of `generators`."""
    count, start = len(generators), np.array(start, dtype=float)
    start = np.array(np.broadcast_to(start if start.ndim == 2 else start[:, None], (len(start), count)), order="C")
    records = np.array(schedule.records, dtype=np.int64)
    sources = np.array([random_state(generator) for generator in generators])
    numbers = max(update.draws, update.chi)
    block = update.block or max(1, _NUMBERS // numbers)
    work = Work(
        np.zeros((block * update.draws, WIDTH)), np.zeros((block * update.chi, WIDTH)), np.zeros((block, WIDTH), dtype=np.int64),
        np.empty(padded(block * numbers), dtype=np.uint64),
    )  # fmt: skip
    found = Found(
        np.zeros(count, dtype=np.int64), np.empty((count, len(start))), np.full((count, len(records), len(start)), np.nan)
    )  # fmt: skip
    law, parameters = Law(float(update.freedom), update.halved), np.array(update.parameters, dtype=float)
    ends = Ends(float(schedule.threshold), int(schedule.steps), bool(schedule.stop), records)
    update.run(start, sources, parameters, work, law, ends, found)
    return [
        Run(step > 0, int(step) if step else schedule.steps, state, trajectory)
        for step, state, trajectory in zip(*found, strict=True)
    ]


def tied(tokens, dimension, learning_rate, start, schedule, generators, batch=1) -> list[Run]:
    """Feed-forward student relu(M^-1/2 sum_l w . x_l), target sum_l He_2(z*_l) / sqrt 2, loss (y - f)^2; state (m,).

    The module describes the parameters; `start` is m, a number or an array (runs,).
    """
    _check_starts(start)
    # relu passes half of the sequences: a run with single sequences counts the others and does not draw them.
    single = batch == 1
    update = Update(
        kernels.run_tied_active if single else kernels.run_tied, [learning_rate / dimension, batch, tokens],
        draws=batch * (tokens + 1), freedom=dimension - 2, halved=single,
    )  # fmt: skip
    return runs_of(update, np.broadcast_to(start, (1, len(generators))), generators, schedule)


def untied(tokens, dimension, learning_rate, start, schedule, generators) -> list[Run]:
    """As `tied`, each token with its own weights; state (m_1 ... m_M, r_1^2 ... r_M^2).

    `start` is m_l, a number or an array (M, runs); r_l = 1 at first.
    """
    _check_starts(start)
    overlaps = np.broadcast_to(start, (tokens, len(generators)))
    state = np.concatenate([overlaps, np.ones_like(overlaps)])
    update = Update(
        kernels.run_untied_active, [learning_rate / dimension, 1], draws=2 * tokens, freedom=dimension - 2, chi=tokens,
        halved=True,
    )  # fmt: skip
    return runs_of(update, state, generators, schedule)


def attention(problem, dimension, learning_rate, start, schedule, generators, batch=1) -> list[Run]:
    """Softmax attention of two tokens with positional encoding, positional-semantic target; state (e, m).

    Parameters
    ----------
    problem : AttentionProblem
    start : (e, m)
    dimension, learning_rate, schedule, generators, batch
        See the module.
    """
    check_overlaps(*start)
    parameters = [learning_rate / dimension, batch, *problem.numbers]
    update = Update(attention_kernels.run_attention, parameters, draws=6 * batch, freedom=dimension - 3)
    return runs_of(update, start, generators, schedule)


def matched_hermite(order, tokens, dimension, learning_rate, start, schedule, generators, batch=1) -> list[Run]:
    """Student and target M^-1/2 sum_l h_k(z_l) with k = `order`, the information exponent; loss 1/2 (y - f)^2, state (m,)."""
    check_overlaps(0.0, start)
    parameters = [learning_rate / dimension, batch, tokens, order]
    update = Update(kernels.run_hermite, parameters, draws=2 * batch * tokens, freedom=dimension - 2)
    return runs_of(update, [start], generators, schedule)


def _check_starts(start):
    for overlap in np.ravel(start):
        check_overlaps(0.0, overlap)


def random_starts(dimension, tokens, generators):
    """Overlaps (M, runs) of random weights of M = `tokens` tokens in d = `dimension` with the teacher, from `generators`."""
    along = np.array([generator.standard_normal(tokens) for generator in generators]).T
    across = np.array([generator.chisquare(dimension - 1, tokens) for generator in generators]).T
    return along / np.sqrt(along**2 + across)


def starts(point, dimension, tokens, generators):
    """Overlaps with the teacher at the start that the key `start` of a `point` names: a number, or an array (M, runs)."""
    return random_starts(dimension, tokens, generators) if point["start"] == "random" else overlapped_start(dimension)


def overlapped_start(dimension):
    """Overlap at the start of the published runs of the feed-forward students: o / sqrt(o^2 + (1 - o)^2), o = d^(-1/2)."""
    o = 1.0 / np.sqrt(dimension)
    return o / np.hypot(o, 1.0 - o)


def warn_unstable(learning_rate, bound, opening):
    """Warn when `learning_rate` is above the `bound` beyond which the uninformed start is stable; `opening` names the run."""
    if learning_rate > bound:
        warnings.warn(
            f"{opening}: the learning rate {learning_rate:g} is above the stability bound {bound:g}: "
            "noise keeps the student from escaping",
            stacklevel=2,
        )
