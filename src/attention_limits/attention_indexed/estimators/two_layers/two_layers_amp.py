"""Matrix AMP for two layers on simulated data; one replica is one pair of teachers with its data."""

from attention_limits.attention_indexed.model.sizes import sizes
from attention_limits.attention_indexed.two_layers.amp import draw_dataset, informed_start
from attention_limits.attention_indexed.two_layers.amp import run as iterate
from attention_limits.attention_indexed.two_layers.fresh_data import fresh_errors
from attention_limits.attention_indexed.two_layers.state_evolution import model_of
from attention_limits.pipeline.cubes.points import collect

_DIMS = {"mmse_by_layer": ("layer",), "predicted_by_layer": ("layer",)}


def run(spec, streams):
    """Errors of both layers at the iteration that counts, actual and predicted, and of outputs (see `variables`)."""
    solver = spec["solver"]

    def compute(at, replica):
        point = {**spec["model"], **at}
        model = model_of(point, int(streams.generator("posterior", replica).integers(2**32)))
        size = sizes(point["alpha"], point["ratio"], int(at.get("dimension", solver.dimension)))
        # Both starts see the same data.
        error = at.get("start_error", 1.0)
        drawn = {key: number for key, number in at.items() if key != "start_error"}
        data = draw_dataset(model, size, streams.generator("data", replica, **drawn))
        start = informed_start(data, error, streams.generator("start", replica, **at)) if error < 1 else None
        found = iterate(model, data, solver, start)
        plug_in, bayes = fresh_errors(
            model, data.teacher, found.estimate, found.variance[found.best], solver.fresh_sequences,
            streams.generator("fresh", replica, **at),
        )  # fmt: skip
        return {
            "mmse_by_layer": found.error[found.best],
            "predicted_by_layer": found.variance[found.best],
            **found.end(),
            **size.realised(),
            "error_plug_in": plug_in,
            "error_bayes": bayes,
        }

    return collect(spec, compute, _DIMS, {"layer": [1, 2]})
