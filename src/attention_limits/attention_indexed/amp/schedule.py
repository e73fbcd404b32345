"""The schedule of message passing: its damping, and its end at a fixed point, without progress, or after a largest number.

With few samples and few columns the plain iteration ends in a cycle; with more damping it reaches its fixed point. An iteration
makes no progress when the smallest step of a window of 20 / (1 - damping) iterations is less than a tenth below all earlier ones.
Then the schedule halves 1 - damping, down to 1/8. Without progress at 1/8 the iteration has stagnated. With few columns
(r of 10 at d of 100) some iterations pass an unstable fixed point and drift away from it at any damping: the schedule ends them
when all residuals of a window are three times the smallest of all.

A residual is in units of the error. On the way to exact recovery the error itself falls and the residual does not, so the
schedule compares windows by the absolute steps, residual times root of the error.
"""

import math
from typing import Protocol

# Iterations of a window without damping; largest ratio of steps that is progress; strongest damping.
_WINDOW, _PROGRESS, _STRONGEST = 20.0, 0.9, 0.875
# An iteration with more than the first damping ends when the residuals of a window exceed the smallest of all by this factor.
_LEFT = 3.0


class Settings(Protocol):
    """What message passing reads of its settings for its schedule; the section `schema.keys.Iteration` has it all.

    Attributes
    ----------
    max_iterations : int
        Largest number of iterations.
    damping : float
        Weight of the OLD iterate at first, in [0, 1); raised where there is no progress.
    tolerance : float
        Largest residual of an undamped step at which the iteration stops.
    """

    max_iterations: int
    damping: float
    tolerance: float


class Schedule:
    """The damping of the next step, and the end of the iteration.

    Attributes
    ----------
    damping : float
        Weight of the OLD iterate.
    converged : bool
        Whether the last residual reached the tolerance, or the caller has arrived.
    best : int
        Number of the iteration that counts, from 0: the last one where it converged, otherwise that of the smallest residual.
    finished : bool
        Whether the iteration ends: converged, stagnated, drifted away, or `max_iterations` done.

    Raises
    ------
    ValueError
        Unless max_iterations >= 1, 0 <= damping < 1 and tolerance >= 0.
    """

    def __init__(self, max_iterations: int, damping: float, tolerance: float):
        if max_iterations < 1 or not 0 <= damping < 1 or not tolerance >= 0:
            raise ValueError(
                f"need max_iterations >= 1, 0 <= damping < 1 and tolerance >= 0, got {max_iterations}, {damping} and {tolerance}"
            )
        self.damping, self.converged, self.finished, self.best = damping, False, False, -1
        self._first, self._done, self._most, self._tolerance = damping, 0, max_iterations, tolerance
        self._best = self._smallest = math.inf
        self._open()

    def _open(self):
        """A new window."""
        self._least = self._least_step = math.inf
        self._steps = math.ceil(_WINDOW / (1.0 - self.damping))

    def note(self, residual: float, error: float = 1.0, arrived: bool = False) -> None:
        """Take the residual of an undamped step, in units of the root of `error`.

        `arrived` is true where the caller needs no further step.
        """
        self.converged = residual <= self._tolerance or arrived
        if self.converged or residual < self._smallest:
            self.best, self._smallest = self._done, residual
        self._done += 1
        self.finished = self.converged or self._done == self._most
        self._least, self._steps = min(self._least, residual), self._steps - 1
        self._least_step = min(self._least_step, residual * math.sqrt(error))
        if self.finished or self._steps:
            return
        if self.damping > self._first and self._least > _LEFT * self._smallest:
            self.finished = True
        elif self._least_step <= _PROGRESS * self._best:
            self._best = min(self._best, self._least_step)
        elif self.damping < _STRONGEST:
            self.damping, self._best = 1.0 - 0.5 * (1.0 - self.damping), math.inf
        else:
            self.finished = True
        self._open()
