"""The loop over the steps of SGD, around an update of one of the modules of kernels, for many replicas, eight at once."""

from typing import NamedTuple

import numpy as np
from numba import types

from attention_limits.numerics.compiled import njit
from attention_limits.numerics.probability.random_kernels import fill_chi_squares, fill_normals, fill_waits
from attention_limits.numerics.simd.float64_lanes import WIDTH

# Later than any step of a run.
NEVER = 2**62


class Work(NamedTuple):
    """Work space for the random numbers of a block of steps.

    draws (block * batch * width, lanes), chi (block * chis, lanes), waits (block, lanes) of integers, and bits, enough random
    bits for the longest column.
    """

    draws: np.ndarray
    chi: np.ndarray
    waits: np.ndarray
    bits: np.ndarray


class Law(NamedTuple):
    """Degrees of freedom of each chi^2 draw.

    If `halved`, each step changes nothing with probability 1/2: the run counts these steps, and the update describes the others.
    """

    freedom: float
    halved: bool


class Ends(NamedTuple):
    """threshold of the first row of `learned`; steps of the longest run; stop: whether a run ends at the threshold.

    `records` (n,) are the increasing steps after which the state is stored.
    """

    threshold: float
    steps: int
    stop: bool
    records: np.ndarray


class Found(NamedTuple):
    """Results of all replicas, written.

    escaped (replicas,): the step at which the threshold was first exceeded, 0 if it was not. states (replicas, n): at the end.
    trajectories (replicas, records, n): after the recorded steps.
    """

    escaped: np.ndarray
    states: np.ndarray
    trajectories: np.ndarray


class Lanes(NamedTuple):
    """Arrays (lanes,): replica, -1 without one; step, the number of steps done; row, its next record; event and limit.

    An event is the next step at which something happens: a record or the end. The limit is the threshold, infinite once it was
    exceeded.
    """

    replica: np.ndarray
    step: np.ndarray
    row: np.ndarray
    event: np.ndarray
    limit: np.ndarray


@njit(nogil=True)
def _next_event(lanes, lane, ends):
    """The next record of a lane, or the last step."""
    row = lanes.row[lane]
    return min(ends.steps, ends.records[row]) if row < len(ends.records) else ends.steps


@njit(nogil=True)
def _free(lanes, lane, state):
    """Leave a lane without a replica; its state becomes NaN."""
    lanes.replica[lane], lanes.event[lane], lanes.limit[lane] = -1, NEVER, np.inf
    state[:, lane] = np.nan


@njit(nogil=True)
def _fill(lanes, following, start, state, sources, work, law, ends):
    """Give the replicas from `following` on to free lanes, and draw the random numbers of a block for every lane with one.

    Returns the next replica, and the number of lanes with one.
    """
    running = 0
    for lane in range(WIDTH):
        if lanes.replica[lane] < 0 and following < len(sources):
            lanes.replica[lane], lanes.step[lane], lanes.row[lane] = following, 0, 0
            state[:, lane] = start[:, following]
            lanes.limit[lane], lanes.event[lane] = ends.threshold, _next_event(lanes, lane, ends)
            following += 1
        if lanes.replica[lane] >= 0:
            running += 1
            source = sources[lanes.replica[lane]]
            fill_normals(source, work.bits, work.draws[:, lane])
            fill_chi_squares(source, work.bits, law.freedom, work.chi[:, lane])
            if law.halved:
                fill_waits(source, work.bits, work.waits[:, lane])
    return following, running


@njit(nogil=True)
def _record(lanes, lane, state, ends, found):
    """Store the records before the next step of a lane, and its state if the run is over."""
    replica, step = lanes.replica[lane], lanes.step[lane]
    while lanes.row[lane] < len(ends.records) and ends.records[lanes.row[lane]] < min(step, ends.steps + 1):
        found.trajectories[replica, lanes.row[lane]] = state[:, lane]
        lanes.row[lane] += 1
    lanes.event[lane] = _next_event(lanes, lane, ends)
    if step > ends.steps:
        found.states[replica] = state[:, lane]
        _free(lanes, lane, state)


@njit(nogil=True)
def _escape(lanes, lane, state, ends, found):
    """Store the step at which a lane exceeded the threshold, and its state if the run ends at that step."""
    replica, step, row = lanes.replica[lane], lanes.step[lane], lanes.row[lane]
    found.escaped[replica], lanes.limit[lane] = step, np.inf
    if ends.stop:
        # The state of the step itself belongs to the trajectory.
        if row < len(ends.records) and ends.records[row] == step:
            found.trajectories[replica, row] = state[:, lane]
        found.states[replica] = state[:, lane]
        _free(lanes, lane, state)


@njit(nogil=True, cache=False)
def run_lanes(update, start, sources, parameters, work, law, ends, found):
    """SGD of many replicas, each until its steps are done, or, if `stop`, until the result of `update` exceeds the threshold.

    Each lane runs one replica at a time. When a replica ends, the next one takes its lane at the next block of steps.

    Parameters
    ----------
    update : jitted function
        Of `fixed_students_kernels`, `attention_kernels` or `any_student_kernels`.
    start : array (n, replicas)
    sources : array (replicas, 4, LANES)
        Of `random_kernels.random_state`, one per replica.
    parameters : array
        Those of `update`; the first is eta.
    work : Work
    law : Law
    ends : Ends
    found : Found
    """
    state, learned = np.empty((len(start), WIDTH)), np.zeros((1 + len(start), WIDTH))
    lanes = Lanes(
        np.empty(WIDTH, np.int64), np.zeros(WIDTH, np.int64), np.zeros(WIDTH, np.int64), np.empty(WIDTH, np.int64),
        np.empty(WIDTH),
    )  # fmt: skip
    for lane in range(WIDTH):
        _free(lanes, lane, state)
    step, event, limit, waits = lanes.step, lanes.event, lanes.limit, work.waits
    following = 0
    while True:
        following, running = _fill(lanes, following, start, state, sources, work, law, ends)
        if running == 0:
            return
        for at in range(len(waits)):
            for lane in range(WIDTH):
                step[lane] += 1 + waits[at, lane]
                if step[lane] > event[lane]:
                    _record(lanes, lane, state, ends, found)
            update(state, work.draws, work.chi, at, parameters, learned)
            for lane in range(WIDTH):
                if learned[0, lane] > limit[lane]:
                    _escape(lanes, lane, state, ends, found)


_ROWS, _NUMBERS, _STEPS = types.float64[:, ::1], types.float64[::1], types.int64[::1]
# Type of an update that the function of `make_run` takes.
UPDATE = types.void(_ROWS, _ROWS, _ROWS, types.intp, _NUMBERS, _ROWS)


def make_run():
    """`run_lanes` for every update of the type UPDATE: compiled once, it calls the update by its address."""
    work = types.NamedTuple([_ROWS, _ROWS, types.int64[:, ::1], types.uint64[::1]], Work)
    law = types.NamedTuple([types.float64, types.boolean], Law)
    ends = types.NamedTuple([types.float64, types.int64, types.boolean, _STEPS], Ends)
    found = types.NamedTuple([_STEPS, _ROWS, types.float64[:, :, ::1]], Found)
    sources = types.uint64[:, :, ::1]
    signature = types.void(types.FunctionType(UPDATE), _ROWS, sources, _NUMBERS, work, law, ends, found)
    return njit(signature_or_function=signature, nogil=True)(run_lanes.py_func)
