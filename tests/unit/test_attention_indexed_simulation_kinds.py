"""Gradient descent and two layers, end to end on tiny problems, and what is refused before any job."""

import importlib

import numpy as np
import pytest
import yaml

from attention_limits.pipeline.cubes import annotate
from attention_limits.pipeline.errors import SpecError
from attention_limits.pipeline.experiment import load_experiment
from attention_limits.pipeline.streams import Streams
from toy import REPOSITORY

FAMILY = "attention_indexed"
GRADIENT_DESCENT = {
    "model": {"tokens": 3, "ratio": 0.5},
    "estimators": {
        "gradient_descent": {
            "grid": {"alpha": {"values": [0.2, 0.4]}}, "replicas": 2,
            "solver": {"dimension": 8, "starts": 3, "steps": 15, "record_every": 10},
        }
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


def load(folder, document):
    """The experiment of a document, with the schemas of the repository."""
    config = folder / "config"
    if not config.exists():
        (config / "experiments" / FAMILY).mkdir(parents=True)
        (config / "schemas").symlink_to(REPOSITORY / "config" / "schemas")
    path = config / "experiments" / FAMILY / "small.yaml"
    path.write_text(yaml.safe_dump({"title": "Small", "description": "A small model.", **document}))
    return load_experiment(path)


def computed(part, grid=None, replicas=None):
    """What the kind returns for a block of the points of an estimator."""
    spec = part.effective(part.chunks[0])
    spec |= {"grid": {"alpha": grid or spec["grid"]["alpha"]}, "replicas": replicas or spec["replicas"]}
    return importlib.import_module(part.module).run(spec, Streams(0, FAMILY, "small"))


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (GRADIENT_DESCENT, "gradient_descent"),
        (TWO_LAYERS, "two_layers_state_evolution"),
        (TWO_LAYERS, "two_layers_amp"),
    ],
)
def test_a_point_is_the_same_in_any_block_and_every_variable_is_registered(tmp_path, document, name):
    part = load(tmp_path, document).estimators[name]
    whole = annotate(computed(part), FAMILY, ["alpha"])
    alpha = part.grid["alpha"][1]
    alone = computed(part, [alpha], [1])
    for variable in alone.data_vars:
        there = whole[variable].sel(alpha=[alpha], replica=[1]).values
        # Single precision sums may be ordered otherwise.
        np.testing.assert_allclose(there, alone[variable].values, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(*(whole.isel(replica=r).to_array().values for r in (0, 1)), equal_nan=True)


def test_more_starts_leave_the_first_ones_as_they_are(tmp_path):
    few = computed(load(tmp_path, GRADIENT_DESCENT).estimators["gradient_descent"], [0.2], [0])
    part = GRADIENT_DESCENT["estimators"]["gradient_descent"]
    more = {**GRADIENT_DESCENT, "estimators": {"gradient_descent": {**part, "solver": {**part["solver"], "starts": 4}}}}
    many = computed(load(tmp_path, more).estimators["gradient_descent"], [0.2], [0])
    assert many.average.values.tolist() == [1, 2, 4]
    assert few.step.values.tolist() == [0, 10, 15]
    np.testing.assert_allclose(many.mmse_by_start[..., :3], few.mmse_by_start, rtol=1e-4)
    np.testing.assert_allclose(many.mmse_average.sel(average=1), many.mmse_by_start.mean("start"), rtol=1e-12)


@pytest.mark.parametrize(
    ("document", "keys", "value", "message"),
    [
        (TWO_LAYERS, ("model", "skip"), 0.5, "model.skip"),
        (GRADIENT_DESCENT, ("model", "beta"), -1.0, "model.beta"),
        (GRADIENT_DESCENT, ("model", "ratio"), 0.0, "model.ratio"),
        (GRADIENT_DESCENT, ("estimators", "gradient_descent", "solver", "learning_rate"), 0.0, "solver.learning_rate"),
        (GRADIENT_DESCENT, ("estimators", "gradient_descent", "solver", "dimension"), 3000, "MB"),
        (TWO_LAYERS, ("estimators", "two_layers_amp", "solver", "dimension"), 3000, "MB"),
    ],
)
def test_refused_before_any_job(tmp_path, document, keys, value, message):
    document = yaml.safe_load(yaml.safe_dump(document))
    inner = document
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    with pytest.raises(SpecError, match=message):
        load(tmp_path, document)
