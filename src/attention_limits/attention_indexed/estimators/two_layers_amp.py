"""Matrix AMP for two layers on simulated data; one replica is one pair of teachers with its data."""

from attention_limits.attention_indexed.estimators.points import collect
from attention_limits.attention_indexed.model import samples, width
from attention_limits.attention_indexed.two_layers import TwoLayers
from attention_limits.attention_indexed.two_layers_amp import draw_dataset
from attention_limits.attention_indexed.two_layers_amp import run as iterate


def run(spec, streams):
    """Errors of both layers after the last iteration, as they are and as predicted (see `variables`)."""
    solver = spec["solver"]
    dimension = solver["dimension"]

    def compute(point, replica):
        model = TwoLayers(point["skip"], point["beta"])
        rank, _ = width(point["ratio"], dimension)
        generator = streams.generator("data", replica, **{key: point[key] for key in spec["grid"]})
        count = samples(point["alpha"], dimension)
        data = draw_dataset(model, rank, dimension, count, generator)
        found = iterate(model, data, solver["max_iterations"], solver["damping"], solver["tolerance"])
        return {
            "mmse_by_layer": found.error[-1],
            "predicted_by_layer": found.variance[-1],
            "residual": found.residual[-1],
            "iterations": len(found.residual),
            "converged": found.converged,
            "diverged": found.diverged,
            "resolved": found.resolved,
            "width": rank,
            "realised_alpha": count / dimension**2,
            "realised_ratio": rank / dimension,
        }

    dims = {"mmse_by_layer": ("layer",), "predicted_by_layer": ("layer",)}
    return collect(spec, compute, dims, {"layer": [1, 2]})
