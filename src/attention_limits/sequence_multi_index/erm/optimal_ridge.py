"""The ridge of the smallest test loss, by state evolution."""

import numpy as np
from scipy.optimize import minimize_scalar

from attention_limits.sequence_multi_index.erm.nodes import Nodes
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, Solution, informed, solve


def optimal_ridge(
    loss, alpha: float, nodes: Nodes, least: float, largest: float, accuracy: float, branch="free", overlap=0.9,
    tolerance=1e-6, max_iterations=150,
) -> tuple[float, Solution]:  # fmt: skip
    """The ridge in [least, largest] of the smallest test loss of `loss` at `alpha`, and its fixed point on `nodes`.

    `accuracy` is that of log lambda. Every fixed point starts at the same place, near the target, so that the test loss is a
    function of lambda alone. A result at an end of the range is a bound. `branch`, the `overlap` of the start, `tolerance` and
    `max_iterations` are those of `state_evolution`.

    Raises
    ------
    ValueError
        Unless 0 < least < largest.
    """
    if not 0 < least < largest:
        raise ValueError(f"need 0 < least < largest, got {least!r} and {largest!r}")
    found: dict[float, Solution] = {}

    def test_loss(logarithm):
        problem = Problem(loss, alpha, float(np.exp(logarithm)), branch)
        found[logarithm] = solve(problem, nodes, informed(problem, nodes, overlap), tolerance, max_iterations)
        return found[logarithm].errors["test_loss"]

    ends = np.log([least, largest])
    minimize_scalar(test_loss, bounds=tuple(ends), method="bounded", options={"xatol": accuracy})
    for end in ends:
        test_loss(end)
    best = min(found, key=lambda logarithm: found[logarithm].errors["test_loss"])
    return float(np.exp(best)), found[best]
