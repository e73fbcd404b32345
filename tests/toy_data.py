"""An experiment of the toy family whose two estimators read the same data."""

import json

SHARED = """\
title: Means and spreads
description: >
  Two estimators of the same drawn numbers.
model: {gain: 2.0}
data:
  drawn:
    grid: {alpha: {values: [0.2, 0.4]}}
    replicas: 2
    solver: {samples: 5}
estimators:
  means:
    reads: drawn
    grid: {alpha: {values: [0.2, 0.4]}}
    replicas: 2
    chunk: {alpha: 1}
    solver: {shift: 1}
  spreads:
    reads: drawn
    grid: {alpha: {values: [0.4]}}
    replicas: 2
scales:
  paper: {data: {drawn: {replicas: 3}}, estimators: {means: {replicas: 3, chunk: {replicas: 1}}}}
"""

DRAWN = """\
import os
import time

import numpy as np
import xarray as xr


def run(spec, streams):
    (alpha,), (replica,) = spec["grid"]["alpha"], spec["replicas"]
    with open(os.environ["TOY_LOG"], "a") as log:
        log.write(f"drawn {alpha:g} {replica}\\n")
    time.sleep(float(os.environ.get("TOY_SLEEP", 0)))
    samples = spec["solver"]["samples"]
    values = spec["model"]["gain"] * streams.generator("drawn", replica, alpha=alpha).normal(size=samples)
    shape, dims = (1, 1, samples), ("alpha", "replica", "sample")
    variables = {
        "value": (dims, values.astype(np.float32).reshape(shape)),
        "sign": (dims, np.sign(values).astype(np.int8).reshape(shape)),
    }
    return xr.Dataset(variables, {"alpha": [alpha], "replica": [replica], "sample": np.arange(samples)})
"""

READER = """\
import os

import numpy as np
import xarray as xr


def run(spec, streams):
    alphas, replicas = spec["grid"]["alpha"], spec["replicas"]
    height = np.zeros((len(alphas), len(replicas)))
    for i, alpha in enumerate(alphas):
        for j, replica in enumerate(replicas):
            with open(os.environ["TOY_LOG"], "a") as log:
                log.write(f"{{spec['estimator']}} {{alpha:g}} {{replica}}\\n")
            values = spec["data"](replica, alpha=alpha).value.values
            assert values.shape == (spec["reads"]["solver"]["samples"],)
            height[i, j] = {expression}
    return xr.Dataset({{"height": (("alpha", "replica"), height)}}, {{"alpha": alphas, "replica": replicas}})
"""

KIND = {
    "type": "object",
    "properties": {
        "model": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"gain": {"type": "number", "description": "Scale."}},
        },
        "grid": {
            "type": "object",
            "additionalProperties": False,
            "required": ["alpha"],
            "properties": {"alpha": {"type": "number", "description": "Place."}},
        },
        "solver": {"type": "object", "additionalProperties": False, "properties": {}},
    },
}
SAMPLES = {"type": "integer", "minimum": 1, "maximum": 99, "default": 5, "description": "Numbers to draw."}
SHIFT = {"type": "number", "default": 0, "description": "Added to the mean."}
READS = {"required": ["reads"], "properties": {"reads": {"const": "drawn", "description": "Drawn numbers."}}}
SCHEMAS = {
    "parts/kind.json": KIND,
    "parts/reader.json": {"$ref": "kind.json", **READS},
    "drawn.json": {"$ref": "parts/kind.json", "properties": {"solver": {"properties": {"samples": SAMPLES}}}},
    "means.json": {"$ref": "parts/reader.json", "properties": {"solver": {"properties": {"shift": SHIFT}}}},
    "spreads.json": {"$ref": "parts/reader.json"},
}
SOURCES = {
    "drawn": DRAWN,
    "means": READER.format(expression='values.mean() + spec["solver"]["shift"]'),
    "spreads": READER.format(expression="values.std()"),
}


def share(toy) -> None:
    """Add the experiment `shared` and its kinds to a toy project."""
    for name, schema in SCHEMAS.items():
        toy.write(f"config/schemas/toy/{name}", json.dumps(schema))
    for name, text in SOURCES.items():
        toy.write(f"src/attention_limits/experiments/toy/{name}.py", text)
    toy.write("config/experiments/toy/shared.yaml", SHARED)
