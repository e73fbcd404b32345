"""Fixed points of order-parameter maps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Largest relative error of the predicted change after a jump; largest number of terms of a jump over the smallest one.
_AGREEMENT, _MOST_TERMS = 0.3, 32
# Largest share of a change that the rule of two modes does not explain; largest ratio of a mode: the sequence does not grow.
_MISFIT, _LARGEST_RATIO = 0.1, 1.0 + 1e-3


@dataclass(frozen=True)
class FixedPoint:
    """Outcome of a fixed-point iteration; not converging is a result, not an exception.

    Attributes
    ----------
    value : array
        Last value F(x), or what the caller makes of it.
    residual : float
        Largest |F(x) - x| of the last iteration.
    iterations : int
        Number of evaluations of F.
    converged : bool
        Whether the residual reached the tolerance or the caller's edge (False also after a non-finite value).
    """

    value: np.ndarray
    residual: float
    iterations: int
    converged: bool


def iterate(
    step: Callable[[np.ndarray], np.ndarray],
    start,
    tolerance: float,
    max_iterations: int,
    lookahead: int = 0,
    longest_jump: float = 2.0,
    arrived: Callable[[np.ndarray], bool] = lambda x: False,
) -> FixedPoint:
    """Iterate x <- F(x), every third time jumping ahead along the sequence that the last changes form.

    Near a continuous transition F approaches its fixed point, or leaves an unstable one, geometrically with a ratio close to
    one. Four successive values give the rule of two modes of F (`_recurrence`), or else the ratio r of each component. The jump
    adds the next terms of the sequence, so that it neither passes the limit it extrapolates (r < 1) nor outruns the growth it
    continues (r >= 1). The number of terms doubles where the change after a jump is the predicted one, and falls back to
    `lookahead` where it is not.

    Parameters
    ----------
    step : callable
        The map F on real vectors.
    start : array (n,)
    tolerance : float
        Converged when no component changes by more than this.
    max_iterations : int
        Largest number of evaluations of F.
    lookahead : int
        Smallest number of terms per jump; 0 is plain iteration.
    longest_jump : float
        Largest change of a component by a jump.
    arrived : callable
        arrived(F(x)) ends the iteration as converged, for fixed points at the edge of the domain of F.
    """
    x = np.asarray(start, dtype=float)
    history, terms, predicted = [x], lookahead, None
    for iteration in range(1, max_iterations + 1):
        new = step(x)
        residual = float(np.max(np.abs(new - x)))
        if not np.isfinite(residual) or residual <= tolerance or arrived(new):
            return FixedPoint(new, residual, iteration, bool(np.isfinite(residual)))
        if predicted is not None:
            held = np.max(np.abs(new - x - predicted)) <= _AGREEMENT * np.max(np.abs(predicted))
            terms, predicted = min(2 * terms, _MOST_TERMS * lookahead) if held else lookahead, None
        history = [*history, new]
        x = new
        if lookahead and iteration % 3 == 0:
            jump, predicted = _continuation(history, terms)
            x = new + np.clip(jump, -longest_jump, longest_jump)
            history = [x]
    return FixedPoint(new, residual, max_iterations, False)


def _continuation(values, terms):
    """Sum of the next terms of the sequence of differences of four vectors, and the term after them; zero without a rule."""
    first, before, last = np.diff(values[-4:], axis=0)
    recurrence = _recurrence(first, before, last)
    if recurrence is not None:
        total = np.zeros_like(last)
        for _ in range(terms):
            before, last = last, recurrence[0] * before + recurrence[1] * last
            total += last
        return total, recurrence[0] * before + recurrence[1] * last
    ratio = np.divide(last, before, out=np.zeros_like(last), where=before != 0)
    # An alternating sequence needs no help, and a ratio far above one is the transient of the previous jump.
    ratio = np.where((ratio > 0.0) & (ratio < 1.5), np.minimum(ratio, 1.0), 0.0)
    powers = ratio[:, None] ** np.arange(1, terms + 2)
    return last * np.sum(powers[:, :-1], axis=1), last * powers[:, -1]


def _recurrence(first, before, last):
    """(a, b) of u_n = a u_(n-2) + b u_(n-1), the sum of two geometric sequences, or None where the vectors follow no such rule.

    Two modes of the map are two such sequences. The larger ratio is positive and at most one.
    """
    basis = np.stack([first, before], axis=1)
    rule = np.linalg.lstsq(basis, last, rcond=1e-8)[0]
    if not np.linalg.norm(basis @ rule - last) <= _MISFIT * np.linalg.norm(last):
        return None
    roots = np.roots([1.0, -rule[1], -rule[0]])
    largest = roots[np.argmax(np.abs(roots))]
    return rule if np.isreal(largest) and 0.0 < largest.real <= _LARGEST_RATIO else None
