"""Learning curve from the state evolution; one replica is one scrambling of the nodes.

All points of a replica share its nodes: a curve is smooth, and the spread over replicas is its error.
"""

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.estimators.at_point import channel_at, prior_of, rows_from_one
from attention_limits.sequence_multi_index.state_evolution.fixed_point import error_of_few_nodes, solve
from attention_limits.sequence_multi_index.state_evolution.free_entropy import free_entropy
from attention_limits.sequence_multi_index.state_evolution.generalization import bayes_error, plug_in_error
from attention_limits.sequence_multi_index.state_evolution.information import (
    mean_log_volume,
    mutual_information,
    output_entropy,
)

# The errors need no channel: this many times the nodes cost little.
MORE_ERROR_NODES = 16


def run(spec, streams):
    """Fixed points from the start of the specification, with free entropy and errors (see `variables`)."""
    solver, rows = spec["solver"], rows_from_one(spec)

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica, isotropic=True)
        prior = prior_of(spec, channel.link, at)
        point = solve(channel, at["alpha"], nodes, solver.start, solver, prior=prior)
        error = point.node_error
        if solver.warm_up == 1:
            error = error_of_few_nodes(channel, at["alpha"], nodes, solver.start, solver, point.value, prior)
        found = {
            "overlap": point.value, "overlap_node_error": error,
            "free_entropy": np.nan, "entropy": np.nan, "mutual_information": np.nan,
            "error_plug_in": np.nan, "error_bayes": np.nan, "residual": point.residual, "iterations": point.iterations,
            "converged": point.converged, "resolved": 0.0,
        }  # fmt: skip
        if not np.all(np.isfinite(point.value)):
            return found
        link, Q = channel.link, point.value
        averages = channel_averages(channel, Q, nodes, solver.regularization, prior)
        count, alpha = MORE_ERROR_NODES * solver.nodes, at["alpha"]
        error_nodes = gaussian_nodes(2 * link.rows * link.tokens, count, streams.generator("error nodes", replica))
        phi = free_entropy(Q, alpha, averages.log_z, solver.side_information, prior, point.precision)
        found |= _information(link, prior, Q, alpha, phi, solver, error_nodes)
        return found | {
            "free_entropy": phi,
            "error_plug_in": plug_in_error(link, prior.second_moment, Q, Q, error_nodes),
            "error_bayes": bayes_error(link, Q, error_nodes, prior),
            "resolved": averages.resolved,
        }

    dims = dict.fromkeys(("overlap", "overlap_node_error"), ("layer", "layer_star"))
    return collect(spec, compute, dims, {"layer": rows, "layer_star": rows})


def _information(link, prior, overlap, alpha, phi, solver, nodes):
    """Entropy of the outputs and mutual information; missing with side information, regularisation or spikes, which change it."""
    if solver.side_information or solver.regularization or hasattr(link, "spikes"):
        return {}
    if prior.recovered(overlap) and np.isneginf(link.output_entropy):
        # Then the outputs lie on a surface.
        return {"entropy": -np.inf, "mutual_information": prior.entropy}
    volume = mean_log_volume(link, nodes.without_first(link.rows * link.tokens), prior)
    entropy = output_entropy(phi, alpha, volume)
    return {"entropy": entropy, "mutual_information": mutual_information(link, entropy, alpha, prior)}
