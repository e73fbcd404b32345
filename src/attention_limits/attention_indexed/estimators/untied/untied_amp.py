"""Matrix AMP of separate sequences on data of untied softmax attention; one replica is one teacher with its data."""

import numpy as np

from attention_limits.attention_indexed.amp.matrix_amp import Dataset, draw_dataset
from attention_limits.attention_indexed.amp.matrix_amp import run as iterate
from attention_limits.attention_indexed.amp.sample_sums import all_scores
from attention_limits.attention_indexed.channels.untied import UntiedSoftmax
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.model.untied import PARTS, parts
from attention_limits.attention_indexed.priors.product import Product
from attention_limits.pipeline.cubes.points import collect

_ALONG = ("mmse_by_iteration", "predicted_by_iteration", "residual_by_iteration")
_DIMS = {**dict.fromkeys(_ALONG, ("iteration",)), "mmse_by_part": ("part",)}


def run(spec, streams):
    """Errors of the estimate and of its two parts, actual and predicted (see `variables`).

    With self-attention the iteration takes the keys for separate sequences, which they are not.
    """
    solver = spec["solver"]
    steps = solver.max_iterations

    def compute(at, replica):
        point = {**spec["model"], **at}
        channel = UntiedSoftmax(point["tokens"], point["beta"])
        size = sizes(point["alpha"], point["ratio"], solver.dimension)
        generator = streams.generator("data", replica, **at)
        data = draw_dataset(channel, size, generator, Product(point["ratio"]).realised(size))
        if point["self_attention"]:
            observed = channel.observe(all_scores(data.sequences, data.teacher, data.sequences))
            data = Dataset(data.sequences, data.teacher, observed, data.prior, data.sequences)
        found = iterate(channel, data, solver)
        of_parts = np.sum(parts(data.teacher - found.estimate) ** 2, axis=(1, 2)) / size.dimension

        def along(values):
            return np.concatenate([values, np.full(steps - len(values), np.nan)])

        return {
            "mmse": found.error[found.best],
            "mmse_predicted": found.variance[found.best],
            "mmse_by_part": np.full(2, np.nan) if found.diverged else of_parts,
            **found.end(),
            **size.realised(),
            **dict(zip(_ALONG, map(along, (found.error, found.variance, found.residual)), strict=True)),
        }

    return collect(spec, compute, _DIMS, {"part": list(PARTS), "iteration": np.arange(1, steps + 1)})
