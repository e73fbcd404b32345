"""State evolution of empirical risk minimisation at the best ridge; one replica is one scrambling of the nodes."""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.erm.optimal_ridge import at_ridge, optimal_ridge
from attention_limits.sequence_multi_index.erm.task import DIMS, coordinates, of_solution, task_at
from attention_limits.sequence_multi_index.estimators.erm.node_errors import node_errors


def run(spec, streams):
    """The ridge of the smallest test loss at every point, and its fixed point (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        task = task_at(spec, at)
        nodes = task.nodes(solver.nodes, streams.generator("nodes", replica))
        best, solution = optimal_ridge(task.loss, at["alpha"], nodes, solver)

        def solve_on(some):
            return at_ridge(task.loss, at["alpha"], best, some, solver)

        errors = node_errors(nodes, task.sigma, solution, solve_on)
        return {"best_ridge": best, **of_solution(task, solution), **errors}

    return collect(spec, compute, DIMS, coordinates(spec))
