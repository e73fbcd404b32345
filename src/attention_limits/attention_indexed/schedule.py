"""When message passing is damped more, and when it ends: at a fixed point, without progress, or after a largest number.

Where few samples meet few columns the plain iteration ends in a cycle, and the same iteration with more damping at its fixed
point. There is no progress where the smallest residual of a window of 20 / (1 - damping) iterations is less than a tenth below
that of those before: 1 - damping is halved then, down to 1/8, and after that the iteration has stagnated.
"""

import math

_WINDOW, _PROGRESS, _STRONGEST = 20.0, 0.9, 0.875


class Schedule:
    """The damping of the next step, and whether there is one.

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
