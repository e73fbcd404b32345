"""Data that several estimators read: one file is one teacher and its sequences."""

from pathlib import Path

import numpy as np
import xarray as xr

from attention_limits.sequence_multi_index.gaussian_sequences import draw, sample_count
from attention_limits.sequence_multi_index.links.loading import load_link


def run(spec, streams):
    """Sequences and teacher of one point (see `variables`); the readers apply the link."""
    (alpha,), (replica,) = spec["grid"]["alpha"], spec["replicas"]
    link, dimension = load_link(spec["model"], Path(spec["project"])), spec["solver"]["dimension"]
    samples = sample_count(alpha, dimension)
    generator = streams.generator("data", replica, alpha=alpha)
    sequences, teacher = draw(link.rows, link.tokens, dimension, samples, generator)
    point = ("alpha", "replica")
    return xr.Dataset(
        {
            "sequences": ((*point, "sample", "token", "dimension"), sequences[None, None]),
            "teacher": ((*point, "layer", "dimension"), teacher[None, None]),
            "realised_alpha": (point, [[samples / dimension]]),
        },
        {
            "alpha": [alpha],
            "replica": [replica],
            "sample": np.arange(samples),
            "token": np.arange(1, link.tokens + 1),
            "layer": np.arange(1, link.rows + 1),
            "dimension": np.arange(dimension),
        },
    )
