"""State evolution of weight decay at the best strength; one replica is one scrambling of the nodes of a softmax."""

from attention_limits.attention_indexed.erm.best_decay import at_decay, best_linear, best_softmax
from attention_limits.attention_indexed.erm.estimate import with_node_errors
from attention_limits.attention_indexed.erm.softmax import score_nodes
from attention_limits.attention_indexed.estimators.erm.decay_curves import collect_points
from attention_limits.numerics.probability.statistics import PARTS


def run(spec, streams):
    """The decay of the smallest error at every point, and the variables of the learned attention at it (see `variables`)."""
    solver = spec["solver"]
    key = {"estimation": "mse", "generalisation": "test_loss"}[solver.criterion]

    def points_of(task, point, alpha, replica):
        if task.beta is None:
            return with_node_errors(best_linear(task, alpha), [])
        nodes = score_nodes(task.tokens, solver.nodes, streams.generator("nodes", replica), task.law.symmetric)
        limits = solver.tolerance, solver.max_iterations
        rows = best_softmax(task, alpha, nodes, key, (solver.least, solver.largest), solver.accuracy, *limits)

        def points_on(some):
            """The variables at the decays that are best on all nodes."""
            return [
                at_decay(task, value, row["best_decay"], some, *limits) for value, row in zip(alpha, rows, strict=True)
            ]

        return with_node_errors(rows, [points_on(part) for part in nodes.parts(PARTS)])

    return collect_points(spec, streams, points_of)
