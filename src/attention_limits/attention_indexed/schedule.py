"""The schedule of message passing: its damping, and its end at a fixed point, without progress, or after a largest number.

With few samples and few columns the plain iteration ends in a cycle; with more damping it reaches its fixed point. An iteration
makes no progress when the smallest residual of a window of 20 / (1 - damping) iterations is less than a tenth below all before.
Then the schedule halves 1 - damping, down to 1/8. Without progress at 1/8 the iteration has stagnated.
"""

import math

# Iterations of a window without damping; largest ratio of residuals that is progress; strongest damping.
_WINDOW, _PROGRESS, _STRONGEST = 20.0, 0.9, 0.875


class Schedule:
    """The damping of the next step, and the end of the iteration.

    Attributes
    ----------
    damping : float
        Weight of the OLD iterate.
    converged : bool
        Whether the last residual reached the tolerance, or the caller has arrived.
    finished : bool
        Whether the iteration ends: converged, stagnated, or `max_iterations` done.

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
        self.damping, self.converged, self.finished = damping, False, False
        self._left, self._tolerance = max_iterations, tolerance
        self._best = math.inf
        self._open()

    def _open(self):
        """A new window."""
        self._least, self._steps = math.inf, math.ceil(_WINDOW / (1.0 - self.damping))

    def note(self, residual: float, arrived: bool = False) -> None:
        """Take the residual of an undamped step; `arrived` where the caller needs no further one."""
        self._left -= 1
        self.converged = residual <= self._tolerance or arrived
        self.finished = self.converged or self._left == 0
        self._least, self._steps = min(self._least, residual), self._steps - 1
        if self.finished or self._steps:
            return
        if self._least <= _PROGRESS * self._best:
            self._best = min(self._best, self._least)
        elif self.damping < _STRONGEST:
            self.damping, self._best = 1.0 - 0.5 * (1.0 - self.damping), math.inf
        else:
            self.finished = True
        self._open()
