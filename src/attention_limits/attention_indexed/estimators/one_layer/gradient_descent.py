"""Adam from several random starts on the same data, and the mean of its estimates; one replica is one data set."""

import numpy as np

from attention_limits.attention_indexed.amp.fresh_data import fresh_errors_of_starts
from attention_limits.attention_indexed.channels.linear import Softmax
from attention_limits.attention_indexed.model.scores import (
    attention,
    attention_matrix,
    draw_sequences,
    draw_weights,
    scores,
)
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.training.gradient_descent import (
    average_sizes,
    averages,
    descend,
    movement,
    settled,
    steps_of_records,
)
from attention_limits.pipeline.cubes.points import collect

_DIMS = {
    "mmse_by_start": ("start",),
    "mmse_average": ("average",),
    "error_plug_in_average": ("average",),
    "training_error": ("start", "step"),
}


def run(spec, streams):
    """Errors of estimates and of their means, also on fresh data, and training errors (see `variables`)."""
    solver = spec["solver"]
    starts = solver.starts
    averaged = average_sizes(starts)

    def compute(at, replica):
        point = {**spec["model"], **at}
        dimension = int(at.get("dimension", solver.dimension))
        size = sizes(point["alpha"], point["ratio"], dimension)
        generator = streams.generator("data", replica, **at)
        _, S = draw_weights(dimension, size.rank, generator)
        sequences = draw_sequences(size.count, point["tokens"], dimension, generator)
        outputs = attention(scores(sequences, S), point["beta"])
        # A separate stream, so more starts do not change the first ones.
        first = streams.generator("start", replica, **at).standard_normal(
            (starts, dimension, size.rank), dtype=np.float32
        )
        runs = descend(sequences, outputs, first, point["beta"], solver)
        errors = averages(runs.weights, S, averaged)
        moved = movement(runs, S)
        plug_in, outputs = fresh_errors_of_starts(
            Softmax(point["tokens"], point["beta"]), S, attention_matrix(np.asarray(runs.weights, float)), averaged,
            solver.fresh_sequences, streams.generator("fresh", replica, **at),
        )  # fmt: skip
        return {
            "error_plug_in_average": plug_in,
            "error_outputs_extrapolated": outputs,
            "mmse_by_start": errors.by_start,
            "mmse_average": errors.average,
            "mmse_extrapolated": errors.extrapolated,
            "mmse_extrapolated_error": errors.extrapolated_error,
            "training_error": runs.training_error,
            "steps_done": runs.steps,
            "movement": moved,
            "settled": settled(moved, errors.by_start),
            "finite": bool(np.all(np.isfinite(errors.by_start))),
            **size.realised(),
        }

    coordinates = {"start": np.arange(1, starts + 1), "average": averaged, "step": steps_of_records(solver)}
    return collect(spec, compute, _DIMS, coordinates)
