"""GAMP while one layer is held at a fixed overlap with the teacher; one replica is one teacher with its data."""

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.data.sequences import sample_count
from attention_limits.sequence_multi_index.estimators.at_point import completed, link_at, rows_from_one
from attention_limits.sequence_multi_index.gamp import gamp


def run(spec, streams):
    """Overlaps that GAMP reaches with each layer held in turn (see `variables`)."""
    solver, rows = spec["solver"], rows_from_one(spec)
    size = len(rows)
    settings = completed(solver, informed_start=None, side_information=0.0, regularization=0.0, variance="average")

    def compute(at, replica):
        link, alpha = link_at(spec, at), at["alpha"]
        dimension = solver.dimension
        data = gamp.gaussian_dataset(
            link, dimension, sample_count(alpha, dimension), streams.generator("data", replica, alpha=alpha)
        )
        channel = Channel(link, solver.resolution, streams.generator("channel", replica))
        teacher_norm = np.mean(data.teacher**2, axis=1)
        overlap, residual, resolved, converged = np.empty((size, size)), *np.empty((2, size)), np.zeros(size, bool)
        for row in range(size):
            held = np.full(size, np.nan)
            held[row] = at["held"]
            generator = streams.generator("start", replica, held_layer=int(rows[row]), **at)
            found = gamp.run(channel, data, generator, settings, held=held)
            overlap[row] = np.abs(np.diag(found.overlap[-1])) / teacher_norm
            residual[row], resolved[row], converged[row] = found.residual, found.resolved, found.converged
        return {
            "layer_overlap": overlap, "held_residual": residual, "held_converged": converged, "held_resolved": resolved,
            "realised_alpha": len(data.sequences) / dimension,
        }  # fmt: skip

    one = ("held_layer",)
    dims = {"layer_overlap": (*one, "layer"), "held_residual": one, "held_converged": one, "held_resolved": one}
    return collect(spec, compute, dims, {"layer": rows, "held_layer": rows})
