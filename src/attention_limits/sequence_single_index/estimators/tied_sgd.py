"""SGD of the feed-forward student with tied weights; its learning rate is the base rate times L^learning_rate_exponent."""

import numpy as np
import xarray as xr

from attention_limits.sequence_single_index.estimators.sgd_runs import sgd_dataset
from attention_limits.sequence_single_index.flow import feed_forward_bound, gain
from attention_limits.sequence_single_index.reduced_sgd import overlapped_start, tied, warn_unstable


def run(spec, streams):
    """Escape steps, overlaps, and the gain that the flow predicts (see `variables`)."""

    def simulate(point, schedule, generator):
        tokens, dimension = int(point["tokens"]), int(point["dimension"])
        learning_rate = point["learning_rate"] * tokens ** point["learning_rate_exponent"]
        warn_unstable(learning_rate, feed_forward_bound(tokens), f"tied student, {tokens} tokens")
        return tied(tokens, dimension, learning_rate, overlapped_start(dimension), schedule, generator)

    found = sgd_dataset(
        spec,
        streams,
        simulate,
        lambda point: 2.0 / np.sqrt(point["dimension"]),
        {"overlap": lambda s: np.abs(s[..., 0])},
    )
    keys = ("tokens", "learning_rate", "learning_rate_exponent")
    tokens, base, exponent = (found[key] if key in found.coords else spec["model"][key] for key in keys)
    flow_gain = xr.zeros_like(found.escaped, dtype=float) + gain(tokens, base * tokens**exponent, base)
    return found.assign(flow_gain=flow_gain.transpose(*found.escaped.dims))
