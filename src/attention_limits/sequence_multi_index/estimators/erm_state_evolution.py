"""State evolution of empirical risk minimisation; one replica is one scrambling of the nodes, which all points share."""

from attention_limits.pipeline.points import collect
from attention_limits.sequence_multi_index.erm.at_point import DIMS, coordinates, of_solution, ridge_at, task_at
from attention_limits.sequence_multi_index.erm.state_evolution import Problem, informed, solve


def run(spec, streams):
    """Fixed points that start near the target, with energies, errors and stability (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        task = task_at(spec, at)
        nodes = task.nodes(solver["nodes"], streams.generator("nodes", replica))
        problem = Problem(task.loss, at["alpha"], ridge_at(spec, at), solver["branch"])
        start = informed(problem, nodes, solver["start_overlap"], solver["start_position"])
        return of_solution(task, solve(problem, nodes, start, solver["tolerance"], solver["max_iterations"]))

    return collect(spec, compute, DIMS, coordinates(spec))
