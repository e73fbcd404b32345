"""The error of a fixed point of empirical risk minimisation from the finite number of its nodes."""

from collections.abc import Callable

import numpy as np

from attention_limits.numerics.probability.statistics import PARTS, node_error
from attention_limits.sequence_multi_index.erm.nodes import Nodes
from attention_limits.sequence_multi_index.erm.state_evolution import Solution


def node_errors(nodes: Nodes, sigma: float, whole: Solution, solve_on: Callable[[Nodes], Solution]) -> dict:
    """Errors of overlap and test loss of the fixed point `whole`, by `node_error` from PARTS parts of its `nodes`.

    `solve_on(nodes)` is the fixed point on other nodes from the same start, and `sigma` the standard deviation of a token. Zero
    where the nodes are those of a rule without error.
    """

    def numbers(solution):
        return solution.order.m / sigma**2, solution.errors["test_loss"]

    found = numbers(whole)
    if nodes.random:
        parts = [numbers(solve_on(part)) for part in nodes.parts(PARTS)]
        errors = [node_error(value, values) for value, values in zip(found, zip(*parts, strict=True), strict=True)]
    else:
        errors = [np.zeros_like(value) for value in found]
    return dict(zip(("overlap_node_error", "test_loss_node_error"), errors, strict=True))
