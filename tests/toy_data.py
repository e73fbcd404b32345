"""An experiment of the toy family whose two estimators read the same data."""

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
  paper: {data: {drawn: {replicas: 3}}, estimators: {means: {replicas: 3}}}
"""

DRAWN = """\
import os
import time

import numpy as np
import xarray as xr


def run(spec, streams):
    (alpha,), replicas, samples = spec["grid"]["alpha"], spec["replicas"], spec["solver"].samples
    values = np.zeros((1, len(replicas), samples))
    for place, replica in enumerate(replicas):
        with open(os.environ["TOY_LOG"], "a") as log:
            log.write(f"drawn {alpha:g} {replica}\\n")
        time.sleep(float(os.environ.get("TOY_SLEEP", 0)))
        drawn = streams.generator("drawn", replica, alpha=alpha).normal(size=samples)
        values[0, place] = spec["model"]["gain"] * drawn
    dims = ("alpha", "replica", "sample")
    variables = {"value": (dims, values.astype(np.float32)), "sign": (dims, np.sign(values).astype(np.int8))}
    return xr.Dataset(variables, {"alpha": [alpha], "replica": replicas, "sample": np.arange(samples)})
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

SPECS = """

from typing import Literal

from attention_limits.pipeline.experiments.specification import DataSpecification


class Place(Section):
    alpha: Axis[Annotated[float, Field(description="Place.")]]


class Samples(Section):
    samples: Annotated[Whole, Field(ge=1, le=99, description="Numbers to draw.")] = 5


class Shift(Section):
    shift: Annotated[float, Field(description="Added to the mean.")] = 0


class Drawn(DataSpecification):
    model: Model
    grid: Place
    solver: Samples


class Spreads(Specification):
    model: Model
    grid: Place
    reads: Literal["drawn"]


class Means(Spreads):
    solver: Shift


DATA["drawn"] = Drawn
ESTIMATORS |= {"means": Means, "spreads": Spreads}
"""
SOURCES = {
    "drawn": DRAWN,
    "means": READER.format(expression='values.mean() + spec["solver"].shift'),
    "spreads": READER.format(expression="values.std()"),
}


def share(toy) -> None:
    """Add the experiment `shared` and its estimators to a toy project."""
    specs = toy.source / "toy" / "specs.py"
    specs.write_text(specs.read_text() + SPECS)
    for name, text in SOURCES.items():
        toy.write(f"src/attention_limits/toy/estimators/{name}.py", text)
    toy.write("config/toy/experiments/shared.yaml", SHARED)
