"""State evolution of empirical risk minimisation; one replica is one scrambling of the nodes, which all points share."""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, informed, solve
from attention_limits.sequence_multi_index.erm.task import DIMS, coordinates, of_solution, ridge_at, task_at
from attention_limits.sequence_multi_index.estimators.erm.node_errors import node_errors


def run(spec, streams):
    """Fixed points that start near the target, with energies, errors and stability (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        task = task_at(spec, at)
        nodes = task.nodes(solver.nodes, streams.generator("nodes", replica))
        problem = Problem(task.loss, at["alpha"], ridge_at(spec, at), solver.branch)

        def solve_on(some):
            start = informed(problem, some, solver.start_overlap, solver.start_position)
            return solve(problem, some, start, solver)

        found = solve_on(nodes)
        return {**of_solution(task, found), **node_errors(nodes, task.sigma, found, solve_on)}

    return collect(spec, compute, DIMS, coordinates(spec))
