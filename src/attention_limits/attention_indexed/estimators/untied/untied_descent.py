"""Adam from several random starts on data of untied softmax attention, and the mean of its estimates; a replica is a data set."""

import numpy as np

from attention_limits.attention_indexed.amp.fresh_data import errors_of_starts
from attention_limits.attention_indexed.model.scores import (
    attention,
    draw_sequences,
    draw_untied,
    product_matrix,
    scores,
)
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.model.untied import PARTS, parts
from attention_limits.attention_indexed.training.gradient_descent import (
    average_sizes,
    averages_of,
    relative_change,
    settled,
    steps_of_records,
)
from attention_limits.attention_indexed.training.untied_descent import descend
from attention_limits.pipeline.cubes.points import collect

_DIMS = {
    "mmse_by_start": ("start",),
    "mmse_average": ("average",),
    "mmse_by_part_average": ("part", "average"),
    "mmse_by_part_extrapolated": ("part",),
    "error_plug_in_average": ("average",),
    "training_error": ("start", "step"),
}


def run(spec, streams):
    """Errors of the estimates, of their two parts and of their means, also on fresh data, and training errors (`variables`)."""
    solver, own = spec["solver"], spec["model"]["self_attention"]
    averaged = average_sizes(solver.starts)

    def compute(at, replica):
        point = {**spec["model"], **at}
        size, tokens, beta = sizes(point["alpha"], point["ratio"], solver.dimension), point["tokens"], point["beta"]

        def draw(count, generator):
            drawn = [draw_sequences(count, tokens, size.dimension, generator) for _ in range(1 if own else 2)]
            return drawn[0], None if own else drawn[1]

        generator = streams.generator("data", replica, **at)
        S = draw_untied(size.dimension, size.rank, generator)
        sequences, keys = draw(size.count, generator)
        # A separate stream, so more starts do not change the first ones.
        first = streams.generator("start", replica, **at).standard_normal(
            (solver.starts, 2, size.dimension, size.rank), dtype=np.float32
        )
        outputs = attention(scores(sequences, S, keys), beta)
        runs = descend(sequences, outputs, first.swapaxes(0, 1), beta, solver, keys)
        now, before = (product_matrix(np.asarray(part, float)) for part in (runs.weights, runs.earlier))
        errors, moved = averages_of(now - S, averaged), relative_change(now, before, S)
        of_parts = [averages_of(part, averaged) for part in parts(now - S)]
        fresh, fresh_keys = draw(solver.fresh_sequences, streams.generator("fresh", replica, **at))
        scored = [(scores(fresh, S, fresh_keys), np.stack([scores(fresh, one, fresh_keys) for one in now]))]
        plug_in, of_outputs = errors_of_starts(scored, lambda h: attention(h, beta), averaged, solver.fresh_sequences)
        return {
            "error_plug_in_average": plug_in,
            "error_outputs_extrapolated": of_outputs,
            "mmse_by_start": errors.by_start,
            "mmse_average": errors.average,
            "mmse_extrapolated": errors.extrapolated,
            "mmse_extrapolated_error": errors.extrapolated_error,
            "mmse_by_part_average": np.stack([one.average for one in of_parts]),
            "mmse_by_part_extrapolated": np.array([one.extrapolated for one in of_parts]),
            "training_error": runs.training_error,
            "steps_done": runs.steps,
            "movement": moved,
            "settled": settled(moved, errors.by_start),
            "finite": bool(np.all(np.isfinite(errors.by_start))),
            **size.realised(),
        }

    coordinates = {"start": np.arange(1, solver.starts + 1), "average": averaged, "step": steps_of_records(solver)}
    return collect(spec, compute, _DIMS, {"part": list(PARTS), **coordinates})
