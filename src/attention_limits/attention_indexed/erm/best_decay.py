"""The weight decay of the smallest error."""

import numpy as np
from scipy.optimize import minimize_scalar

from attention_limits.attention_indexed.erm.estimate import Task, limit_points, of_linear, softmax_points
from attention_limits.attention_indexed.erm.linear import best
from attention_limits.attention_indexed.erm.softmax import Nodes

# The search avoids a decay at which the iteration does not converge.
_UNKNOWN = 1e3


def best_linear(task: Task, alpha) -> list[dict]:
    """The variables of `estimate` at the best decay of linear outputs of the `task`, with `best_decay`, at each alpha (n,)."""
    equations = task.equations * np.asarray(alpha, dtype=float)
    found = best(equations, task.law, task.score_noise)
    rows = of_linear(task, equations, found)
    return [{**row, "best_decay": float(decay)} for row, decay in zip(rows, found.decay, strict=True)]


def best_softmax(
    task: Task,
    alpha,
    nodes: Nodes,
    key: str,
    ends: tuple[float, float],
    accuracy: float,
    tolerance: float,
    max_iterations: int,
) -> list[dict]:
    """The variables of `estimate` of a softmax of the `task` at the decay of the smallest variable `key`, at each alpha (n,).

    Brent's method searches the logarithm of the decay between `ends`, to the `accuracy`; `nodes`, `tolerance` and
    `max_iterations` are those of the fixed point. Without score noise the limit of vanishing decay competes.
    """
    return [_best_at(task, value, nodes, key, ends, accuracy, tolerance, max_iterations) for value in alpha]


def at_decay(task: Task, alpha: float, decay: float, nodes: Nodes, tolerance: float, max_iterations: int) -> dict:
    """The variables of `estimate` of a softmax of the `task` at one `alpha` and `decay`; zero is the limit of vanishing decay.

    `nodes`, `tolerance` and `max_iterations` of the fixed point are as in `softmax.solve`.
    """
    if decay == 0:
        return limit_points(task, np.array([alpha]), nodes)[0]
    return softmax_points(task, np.array([alpha]), decay, nodes, tolerance, max_iterations)[0]


def _best_at(task, alpha, nodes, key, ends, accuracy, tolerance, max_iterations):
    tried: dict[float, dict] = {}

    def value(log_decay):
        decay = float(np.exp(log_decay))
        row = tried[decay] = at_decay(task, alpha, decay, nodes, tolerance, max_iterations)
        return row[key] if row["converged"] else _UNKNOWN

    minimize_scalar(value, bounds=np.log(ends), method="bounded", options={"xatol": accuracy})
    if task.score_noise == 0:
        tried[0.0] = at_decay(task, alpha, 0.0, nodes, tolerance, max_iterations)
    sure = {decay: row for decay, row in tried.items() if row["converged"]} or tried
    best_decay = min(sure, key=lambda decay: sure[decay][key])
    return {**sure[best_decay], "best_decay": best_decay}
