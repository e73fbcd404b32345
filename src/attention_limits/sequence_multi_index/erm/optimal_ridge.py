"""The ridge of the smallest test loss, by state evolution."""

from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar

from attention_limits.sequence_multi_index.erm.nodes import Nodes
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, Settings, Solution, informed, solve


class RidgeSettings(Settings, Protocol):
    """The settings that the search reads; the section `schema.erm.OptimalRidgeSolver` has them.

    Attributes
    ----------
    least, largest : float
        Range of the ridge.
    accuracy : float
        Of log lambda.
    branch : str
        Symmetry of the solution, see `state_evolution.Problem`.
    start_overlap : float
        Overlap m of the start.
    """

    least: float
    largest: float
    accuracy: float
    branch: str
    start_overlap: float


def at_ridge(loss, alpha: float, ridge: float, nodes: Nodes, settings: RidgeSettings) -> Solution:
    """The fixed point of `loss` at `alpha` and one `ridge` on `nodes`, from the start near the target that `settings` gives."""
    problem = Problem(loss, alpha, ridge, settings.branch)
    return solve(problem, nodes, informed(problem, nodes, settings.start_overlap, 0.0), settings)


def optimal_ridge(loss, alpha: float, nodes: Nodes, settings: RidgeSettings) -> tuple[float, Solution]:
    """The ridge in [least, largest] of the smallest test loss of `loss` at `alpha`, and its fixed point on `nodes`.

    `settings` gives the least and the largest ridge. Every fixed point starts at the same place, near the target, so that the
    test loss is a function of lambda alone. A result at an end of the range is a bound.

    Raises
    ------
    ValueError
        Unless 0 < least < largest.
    """
    least, largest = settings.least, settings.largest
    if not 0 < least < largest:
        raise ValueError(f"need 0 < least < largest, got {least!r} and {largest!r}")
    found: dict[float, Solution] = {}

    def test_loss(logarithm):
        found[logarithm] = at_ridge(loss, alpha, float(np.exp(logarithm)), nodes, settings)
        return found[logarithm].errors["test_loss"]

    ends = np.log([least, largest])
    minimize_scalar(test_loss, bounds=tuple(ends), method="bounded", options={"xatol": settings.accuracy})
    for end in ends:
        test_loss(end)
    best = min(found, key=lambda logarithm: found[logarithm].errors["test_loss"])
    return float(np.exp(best)), found[best]
