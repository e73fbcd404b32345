"""State evolution of weight decay at the best strength; one replica is one scrambling of the nodes of a softmax."""

from attention_limits.attention_indexed.erm.curves import collect_points
from attention_limits.attention_indexed.erm.optimal import best_linear, best_softmax
from attention_limits.attention_indexed.erm.softmax import score_nodes


def run(spec, streams):
    """The decay of the smallest error at every point, and the variables of the learned attention at it (see `variables`)."""
    solver = spec["solver"]
    key = {"estimation": "mse", "generalisation": "test_loss"}[solver["criterion"]]

    def points_of(task, point, alpha, replica):
        if task.beta is None:
            return best_linear(task, alpha)
        nodes = score_nodes(task.tokens, solver["nodes"], streams.generator("nodes", replica))
        return best_softmax(
            task, alpha, nodes, key, (solver["least"], solver["largest"]), solver["accuracy"], solver["tolerance"],
            solver["max_iterations"],
        )  # fmt: skip

    return collect_points(spec, streams, points_of)
