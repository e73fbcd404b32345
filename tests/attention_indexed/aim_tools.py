"""Small experiments of the attention-indexed family, loaded and computed through the functions that the workflow uses."""

import importlib
from pathlib import Path

import yaml

from attention_limits.attention_indexed.schema.keys import Iteration
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.experiments.experiment import Estimator, Experiment, load_experiment

FAMILY = "attention_indexed"
ONE_LAYER = {
    "model": {"channel": "softmax", "tokens": 2},
    "estimators": {
        "state_evolution": {"grid": {"alpha": {"values": [0.0, 0.1, 0.3]}, "ratio": {"values": [0.5, 1.0]}}},
        "matrix_amp": {
            "grid": {"ratio": {"values": [0.52]}, "alpha": {"values": [0.1, 0.4]}}, "replicas": 2,
            "solver": {"dimension": 15, "max_iterations": 7},
        },
    },
}  # fmt: skip
GRADIENT_DESCENT = {
    "model": {"tokens": 3, "ratio": 0.5},
    "estimators": {
        "gradient_descent": {
            "grid": {"alpha": {"values": [0.2, 0.4]}}, "replicas": 2,
            "solver": {"dimension": 8, "starts": 3, "steps": 15, "record_every": 10},
        }
    },
}  # fmt: skip
LAYERS_DESCENT = {
    "model": {"layers": 3, "tokens": 2, "ratio": 0.5},
    "estimators": {
        "layers_descent": {
            "grid": {"alpha": {"values": [0.2, 0.4]}}, "replicas": 2,
            "solver": {"dimension": 8, "starts": 3, "steps": 15, "record_every": 10, "fresh_sequences": 20},
        }
    },
}  # fmt: skip
UNTIED = {
    "model": {"tokens": 2, "ratio": 0.5, "self_attention": True},
    "estimators": {
        "untied_descent": {
            "grid": {"alpha": {"values": [0.2, 0.4]}}, "replicas": 2,
            "solver": {"dimension": 8, "starts": 3, "steps": 15, "record_every": 10, "fresh_sequences": 20},
        },
        "untied_amp": {
            "grid": {"alpha": {"values": [0.2, 0.4]}}, "replicas": 2, "solver": {"dimension": 10, "max_iterations": 4}
        },
    },
}  # fmt: skip
SIZES = {
    "model": {"channel": "hardmax", "tokens": 2, "ratio": 0.5},
    "estimators": {
        "matrix_amp_sizes": {
            "grid": {"alpha": {"values": [0.2, 0.4]}, "dimension": {"values": [6, 10]}}, "replicas": 2,
            "solver": {"max_iterations": 5, "fresh_sequences": 30},
        },
        "posterior_sampling": {
            "grid": {"alpha": {"values": [0.2, 0.4]}, "dimension": {"values": [4, 6]}}, "replicas": 2,
            "solver": {"burn_in": 20, "steps": 80},
        },
    },
}  # fmt: skip
TWO_LAYERS = {
    "model": {"ratio": 0.5, "skip": 1.5},
    "estimators": {
        "two_layers_state_evolution": {
            "grid": {"alpha": {"values": [0.0, 0.2]}}, "replicas": 2, "solver": {"nodes": 16, "max_iterations": 5}
        },
        "two_layers_amp": {
            "grid": {"alpha": {"values": [0.2, 0.4]}}, "replicas": 2, "solver": {"dimension": 10, "max_iterations": 4}
        },
    },
}  # fmt: skip
PHASES = {
    "model": {"skip": 0.0, "beta": 10.0, "channel": "hardmax"},
    "estimators": {
        "two_layers_phases": {
            "grid": {"ratio": {"values": [0.003, 0.2]}}, "replicas": 2, "solver": {"nodes": 16, "degree": 6}
        }
    },
}  # fmt: skip


def amp_settings(**changes):
    """Settings of matrix AMP; values may leave their ranges."""
    return Iteration().model_copy(update=changes)


def load(folder: Path, document: dict) -> Experiment:
    """The experiment of a document without title and description."""
    path = folder / "config" / FAMILY / "experiments" / "small.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"title": "Small", "description": "A small model.", **document}))
    return load_experiment(path)


def estimator(name: str, model: dict, grid: dict, replicas: int = 1, **part) -> dict:
    """A document of one estimator; the values of the grid are lists."""
    axes = {key: {"values": values} for key, values in grid.items()}
    return {"model": model, "estimators": {name: {"grid": axes, "replicas": replicas, **part}}}


def computed(part: Estimator, replicas: list[int] | None = None, **grid):
    """The dataset of `run` at all points of an estimator, or at these values of a key and these replicas."""
    spec = part.asked(part.chunks[0])
    spec |= {"grid": {**spec["grid"], **grid}, "replicas": replicas or spec["replicas"]}
    return importlib.import_module(part.module).run(spec, Streams(0, FAMILY, "small"))
