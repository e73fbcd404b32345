"""Error of the two limits of many rescaled attention layers; one replica is one set of random fields.

The grid keys `ratio` and `depth` together set the skip strength c = depth / ratio.
"""

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.links.attention.large_depth import depth_errors


def run(spec, streams):
    """Mean squared differences of the outputs (see `variables`)."""
    model, samples = spec["model"], spec["solver"].samples

    def compute(at, replica):
        generator = streams.generator("fields", replica, **at)
        committee, limit = depth_errors(at["ratio"], at["depth"], model["beta"], model["tokens"], samples, generator)
        return {"committee_error": committee.mean(), "large_depth_error": limit.mean()}

    return collect(spec, compute, {})
