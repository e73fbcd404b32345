"""Lines of the phase diagram of the positional-semantic model for any number of tokens; one replica is one scrambling."""

import functools

import numpy as np

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_single_index.positional_semantic.many_tokens import arc, start_hessian, token_lines
from attention_limits.sequence_single_index.positional_semantic.phase_diagram import LINES


def run(spec, streams):
    """omega on each line (see `variables`)."""

    @functools.cache
    def tables(tokens, replica):
        signs = np.where(np.arange(tokens) % 2, -1.0, 1.0)
        if spec["model"]["position"] != "alternating":
            signs = np.array(spec["model"]["position"])
        # The same nodes for all a: the curves are smooth, and their spread is the error.
        generator = streams.generator("nodes", replica, tokens=tokens)
        nodes = gaussian_nodes(2 * tokens, spec["solver"].nodes, generator, 1.0)
        return start_hessian(nodes, signs[:, None]), arc(nodes, signs), signs

    def compute(at, replica):
        hessian, on_arc, signs = tables(int(at["tokens"]), replica)
        lines = token_lines(at["a"], hessian, on_arc, signs)
        return {"transition": np.array([lines[name] for name in LINES])}

    return collect(spec, compute, {"transition": ("line",)}, {"line": list(LINES)})
