"""Growth of every layer where the last one alone is learned; one replica is one scrambling of the nodes, which all layers share.

Source: Troiani et al. 2025, arXiv:2502.00901.
"""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.estimators.at_point import channel_at
from attention_limits.sequence_multi_index.weak_recovery.growth import growth_by_row

ALPHA = ("branch_alpha", "branch_alpha_error", "branch_alpha_node_error")
FACTOR = ("growth_factor", "growth_factor_error", "growth_factor_node_error")


def run(spec, streams):
    """Growth factors of the layers before the last one, and the alpha of the branch (see `variables`)."""
    layers = spec["solver"].layers

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        rows = channel.link.rows
        found = growth_by_row(channel, nodes, rows - 1, at["held"])
        layered = np.full((3, layers), np.nan)
        layered[:, : rows - 1] = found.factor, found.error, found.shift
        numbers = found.alpha, found.alpha_error, found.alpha_shift
        values = dict(zip(ALPHA, numbers, strict=True)) | dict(zip(FACTOR, layered, strict=True))
        return values | {"resolved": found.resolved}

    dims = dict.fromkeys(FACTOR, ("layer",))
    return collect(spec, compute, dims, {"layer": np.arange(1, layers + 1)})
