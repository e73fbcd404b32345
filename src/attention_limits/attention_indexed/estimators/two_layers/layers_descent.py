"""Adam from several random starts on data of several layers, and the mean of its estimates; one replica is one data set."""

import numpy as np

from attention_limits.attention_indexed.model.scores import attention_matrix, draw_sequences, draw_weights, traceless
from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.priors.denoisers.wishart import effective_dimension
from attention_limits.attention_indexed.training.gradient_descent import (
    average_sizes,
    averages_of,
    relative_change,
    settled,
    steps_of_records,
)
from attention_limits.attention_indexed.training.layers_descent import (
    descend,
    output,
    raw_scores,
)
from attention_limits.attention_indexed.two_layers.fresh_data import fresh_errors_of_starts
from attention_limits.pipeline.cubes.points import collect

_DIMS = {
    "mmse_by_layer_start": ("layer", "start"),
    "mmse_by_layer_average": ("layer", "average"),
    "mmse_by_layer_extrapolated": ("layer",),
    "mmse_by_layer_extrapolated_error": ("layer",),
    "error_plug_in_average": ("average",),
    "training_error": ("start", "step"),
}


def run(spec, streams):
    """Errors of the estimates of each layer and of their means, also on fresh data, and training errors (see `variables`)."""
    solver, layers = spec["solver"], spec["model"]["layers"]
    averaged = average_sizes(solver.starts)

    def compute(at, replica):
        point = {**spec["model"], **at}
        size = sizes(point["alpha"], point["ratio"], int(at.get("dimension", solver.dimension)))
        tokens, skip, beta = point["tokens"], point["skip"], point["beta"]
        generator = streams.generator("data", replica, **at)
        teachers = np.stack([draw_weights(size.dimension, size.rank, generator)[1] for _ in range(layers)])
        sequences = draw_sequences(size.count, tokens, size.dimension, generator)
        outputs = output(raw_scores(sequences, teachers), skip, beta)
        # A separate stream, so more starts do not change the first ones.
        first = streams.generator("start", replica, **at).standard_normal(
            (solver.starts, layers, size.dimension, size.rank), dtype=np.float32
        )
        runs = descend(sequences, outputs, first, skip, beta, solver)
        truth, now, before = (
            traceless(matrices)
            for matrices in (
                teachers, *(attention_matrix(np.asarray(part, float)) for part in (runs.weights, runs.earlier))
            )
        )  # fmt: skip
        errors = [averages_of(now[:, k] - S, averaged) for k, S in enumerate(truth)]
        moved, by_start = relative_change(now, before, truth), np.stack([one.by_start for one in errors])
        plug_in, of_outputs = fresh_errors_of_starts(
            lambda raw: output(raw, skip, beta), truth, now, averaged, solver.fresh_sequences, tokens,
            streams.generator("fresh", replica, **at),
        )  # fmt: skip
        return {
            "error_plug_in_average": plug_in,
            "error_outputs_extrapolated": of_outputs,
            "mmse_by_layer_start": by_start,
            "mmse_by_layer_average": np.stack([one.average for one in errors]),
            "mmse_by_layer_extrapolated": np.array([one.extrapolated for one in errors]),
            "mmse_by_layer_extrapolated_error": np.array([one.extrapolated_error for one in errors]),
            "training_error": runs.training_error,
            "steps_done": runs.steps,
            "movement": moved,
            "settled": settled(moved, by_start),
            "finite": bool(np.all(np.isfinite(by_start))),
            "recovery_threshold": 2.0 * layers * effective_dimension(point["ratio"]) / (tokens * (tokens + 1) - 2),
            **size.realised(),
        }

    coordinates = {"start": np.arange(1, solver.starts + 1), "average": averaged, "step": steps_of_records(solver)}
    return collect(spec, compute, _DIMS, {"layer": np.arange(1, layers + 1), **coordinates})
