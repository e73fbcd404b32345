"""Growth of every layer where the last one alone is learned; one replica is one scrambling of the nodes, which all layers share.

Source: Troiani et al. 2025, arXiv:2502.00901.
"""

import numpy as np

from attention_limits.pipeline.points import collect
from attention_limits.sequence_multi_index.at_point import channel_at
from attention_limits.sequence_multi_index.branch_growth import growth_by_row


def run(spec, streams):
    """Growth factors of the layers before the last one, and the alpha of the branch (see `variables`)."""
    layers = spec["solver"]["layers"]

    def compute(at, replica):
        channel, nodes = channel_at(spec, streams, at, replica)
        rows = channel.link.rows
        found = growth_by_row(channel, nodes, rows - 1, at["held"])
        factor, error = np.full((2, layers), np.nan)
        factor[: rows - 1], error[: rows - 1] = found.factor, found.error
        return {
            "branch_alpha": found.alpha, "growth_factor": factor, "growth_factor_error": error, "resolved": found.resolved,
        }  # fmt: skip

    layered = dict.fromkeys(("growth_factor", "growth_factor_error"), ("layer",))
    return collect(spec, compute, layered, {"layer": np.arange(1, layers + 1)})
