"""Shared by the tests of the Potts family: random models and weights, experiment files and their datasets."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import yaml

from attention_limits.pipeline.cubes.chunks import run_chunk
from attention_limits.pipeline.cubes.reader import read
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.potts_mlm.potts.model import Potts, color_couplings, site_couplings

SMALL = {
    "title": "Small", "description": "A small model.",
    "model": {"sites": 4, "colors": 3, "instance": 1, "couplings": {"kind": "gaussian"}},
    "data": {
        "potts_samples": {
            "grid": {"distance": {"values": [0.5]}}, "replicas": 2,
            "solver": {
                "samples": 60, "test_samples": 50, "gap": 3, "tuning_samples": 100, "tuning_gap": 5, "beta_max": 20.0,
                "warm_up": 10,
            },
        }
    },
    "estimators": {
        "equilibrium": {"reads": "potts_samples", "grid": {"distance": {"values": [0.5]}}, "replicas": 2},
        "factored_attention": {
            "reads": "potts_samples", "replicas": 2,
            "grid": {
                "distance": {"values": [0.5]}, "samples": {"values": [20, 60]}, "ridge": {"values": [0.01]},
            },
            "solver": {"attentions": ["softmax", "raw"], "starts": 2},
        },
    },
}  # fmt: skip
ALIGNED = {
    "title": "Family", "description": "A protein family.",
    "model": {"alignment": "family.fasta", "alphabet": "-ACDE"},
    "data": {"alignment": {"grid": {}, "replicas": 2, "solver": {"test_fraction": 0.25}}},
    "estimators": {
        "factored_attention": {
            "reads": "alignment", "replicas": 2, "grid": {"samples": {"values": [20, 30]}, "ridge": {"values": [0.1, 1.0]}},
            "solver": {"starts": 1},
        }
    },
}  # fmt: skip


def random_model(sites, colors, seed, kind="gaussian"):
    rng = np.random.default_rng(seed)
    return Potts(site_couplings(kind, sites, rng), color_couplings("gaussian", colors, rng))


def random_weights(sites, colors, seed):
    rng = np.random.default_rng(seed)
    attention = rng.standard_normal((sites, sites))
    np.fill_diagonal(attention, 0.0)
    return attention, rng.standard_normal((colors, colors)), rng.integers(0, colors, (70, sites)).astype(np.int8)


def write(project, document):
    """The path of an experiment file in the folder `project`."""
    path = project / "config/potts_mlm/experiments/small.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def edited(document, keys, value):
    copy = deepcopy(document)
    node = copy
    for key in keys[:-1]:
        node = node[key]
    if value is None:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return copy


def computed(path, estimator):
    """The dataset of the only chunk of an estimator, after its data."""
    experiment, results = load_experiment(path), path.parents[3] / "results"
    part = experiment.estimators[estimator]
    (chunk,) = part.chunks
    for point in part.data_chunks(chunk):
        file = Path(part.reads.path(str(results), point))
        run_chunk(experiment, part.reads, point, 0, file, str(results))
    output = results / f"{estimator}.nc"
    run_chunk(experiment, part, chunk, 0, output, str(results))
    return read(output, repair="none")
