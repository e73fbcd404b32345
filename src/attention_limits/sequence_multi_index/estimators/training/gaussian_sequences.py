"""Data that several estimators read: one file is one teacher and its sequences."""

from pathlib import Path

import numpy as np

from attention_limits.pipeline.cubes.points import collect
from attention_limits.sequence_multi_index.data.sequences import draw, sample_count
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.priors.loading import load_prior

_DIMS = {"sequences": ("sample", "token", "dimension"), "teacher": ("layer", "dimension")}


def run(spec, streams):
    """Sequences and teacher of one point (see `variables`); the readers apply the link."""
    link, dimension = load_link(spec["model"], Path(spec["project"])), spec["solver"].dimension
    prior = load_prior(spec["model"], link.rows, Path(spec["project"]))

    def compute(at, replica):
        samples = sample_count(at["alpha"], dimension)
        generator = streams.generator("data", replica, alpha=at["alpha"])
        sequences, teacher = draw(link.rows, link.tokens, dimension, samples, generator, prior)
        return {"sequences": sequences, "teacher": teacher, "realised_alpha": samples / dimension}

    coordinates = {"token": np.arange(1, link.tokens + 1), "layer": np.arange(1, link.rows + 1)}
    return collect(spec, compute, _DIMS, coordinates)
