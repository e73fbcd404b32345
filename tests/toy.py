"""A project with one tiny family, `toy`, that runs the real machinery in milliseconds.

The estimators write one line for each point that they compute into the file named by TOY_LOG, so that a test can
distinguish computed points from copied ones.
"""

import contextlib
import functools
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import attention_limits
import snakemake_server
from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.experiments.estimator import Estimator
from attention_limits.pipeline.experiments.project import Project, load_project

REPOSITORY = Path(__file__).parent.parent


@functools.cache
def repository(scale: str = "laptop") -> Project:
    """The real project; it takes seconds to load."""
    return load_project(REPOSITORY, {"scale": scale})


EXPERIMENT = """\
title: Growth of a toy
description: >
  A line with noise, by two estimators.
model: {gain: 2.0}
estimators:
  growth:
    grid: {alpha: {start: 0.0, stop: 0.6, num: 4}}
    replicas: 3
    chunk: {alpha: 2}
    solver: {steps: 3}
  counting:
    grid: {alpha: {values: [0.2, 0.4]}}
    replicas: 2
    solver: {tolerance: 1.0e-6}
scales:
  paper: {estimators: {growth: {replicas: 5}}}
  smoke: {estimators: {growth: {grid: {alpha: {num: 2}}}}}
"""

ESTIMATOR = '''\
"""A toy estimator."""

import os
import time

import numpy as np
import xarray as xr

from attention_limits.pipeline.base.progress import progress
from attention_limits.toy.{module} import {function}


def run(spec, streams):
    """One value per point, with noise from the point's own stream."""
    alphas, replicas = spec["grid"]["alpha"], spec["replicas"]
    height = np.zeros((len(alphas), len(replicas)))
    for i, alpha in enumerate(progress(alphas, len(alphas), "toy")):
        for j, replica in enumerate(replicas):
            with open(os.environ["TOY_LOG"], "a") as log:
                log.write(f"{{spec['estimator']}} {{alpha:g}} {{replica}}\\n")
            time.sleep(float(os.environ.get("TOY_SLEEP", 0)))
            noise = streams.generator("noise", replica, alpha=alpha).normal()
            height[i, j] = {function}(alpha, spec["model"]["gain"], noise)
    coords = {{"alpha": alphas, "replica": replicas, "iteration": np.arange(3)}}
    variables = {{
        "height": (("alpha", "replica"), height),
        "converged": (("alpha", "replica"), height > 0),
        {extra}
    }}
    return xr.Dataset(variables, coords)
'''

SOURCES = {
    "toy/__init__.py": "",
    "toy/line.py": '"""A line."""\n\n\ndef line(x, gain, noise):\n    """Up."""\n    return gain * x + noise\n',
    "toy/curve.py": "def curve(x, gain, noise):\n    return gain * x**2 + noise\n",
    "toy/estimators/__init__.py": "",
    "toy/figures/__init__.py": "",
    "toy/estimators/growth.py": ESTIMATOR.format(
        module="line",
        function="line",
        extra='"trace": (("alpha", "replica", "iteration"), height[..., None] ** np.arange(3)),'
        '\n        "steps": (("alpha", "replica"), np.full(height.shape, spec["solver"].steps)),',
    ),
    "toy/estimators/counting.py": ESTIMATOR.format(module="curve", function="curve", extra=""),
    "toy/figures/heights.py": """\
from matplotlib.figure import Figure


def draw(cubes):
    figure = Figure()
    figure.subplots().plot(cubes["growth_curve"].alpha, cubes["growth_curve"].height.mean("replica").T)
    return figure


def numbers(cubes):
    return {"largest": cubes["growth_curve"].height.max().item()}
""",
    "toy/variables.py": """\
from attention_limits.pipeline.base.registry import Coordinate, Variable

SOURCE = "A toy"
COORDINATES = (
    Coordinate("alpha", "sample ratio", "α", "samples / dimension"),
    Coordinate("sample", "sample", "i", "number of the sample, from 0"),
)
VARIABLES = (
    Variable("height", (), "height", "h", "by one", "eq. (1)"),
    Variable("converged", (), "whether it converged", "", "true or false", "eq. (2)"),
    Variable("steps", (), "steps done", "t", "count", "eq. (3)"),
    Variable("value", ("sample",), "drawn number", "x", "by one", "eq. (5)"),
    Variable("sign", ("sample",), "its sign", "s", "by one", "eq. (6)"),
    Variable("trace", ("iteration",), "height by iteration", "h_t", "by one", "eq. (4)"),
)
""",
    "toy/specs.py": """\
from typing import Annotated

from pydantic import Field

from attention_limits.pipeline.experiments.specification import Axis, Section, Specification, Whole

PREFIX = "toy"
Gain = Annotated[float, Field(ge=0, description="Slope.")]


class Model(Section):
    gain: Gain


class Grid(Section):
    alpha: Axis[Annotated[float, Field(ge=0, le=10, description="Samples per dimension.")]]
    gain: Axis[Gain] | None = None


class Steps(Section):
    steps: Annotated[Whole, Field(ge=1, le=9, description="Steps.")]


class Tolerance(Section):
    tolerance: Annotated[float, Field(gt=0, le=0.1, description="Largest change.")] = 0.01


class Growth(Specification):
    '''A line.'''

    model: Model
    grid: Grid
    solver: Steps


class Counting(Specification):
    '''A curve.'''

    model: Model
    grid: Grid
    solver: Tolerance


DATA = {}
ESTIMATORS = {"growth": Growth, "counting": Counting}
""",
}


FIGURES = "heights: {title: Heights, cubes: [growth_curve]}\n"


class Toy:
    """The toy project in a folder, and ways to run it.

    `python` is the interpreter of the tests by a path with a space, as in a checkout whose path has one.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        environment = folder.with_name(f"{folder.name} .venv")
        self.python = str(environment / "bin" / "python")
        self.source = folder / "src" / "attention_limits"
        self.experiment = folder / "config" / "toy" / "experiments" / "growth_curve.yaml"
        self.log = folder / "computed.log"

        environment.parent.mkdir(parents=True, exist_ok=True)
        environment.symlink_to(sys.prefix)
        families = [path.parent.name for path in (REPOSITORY / "config").glob("*/experiments")]
        machinery = shutil.ignore_patterns("*.pyc.*", *families)
        shutil.copytree(REPOSITORY / "src" / "attention_limits", self.source, ignore=machinery)
        for name in ("workflow", "profiles", "envs"):
            shutil.copytree(REPOSITORY / name, folder / name)
        # Snakemake ends so many seconds after its last job.
        self.edit("profiles/default/config.yaml", "1000/3s", "1000/1s")
        for name in ("Snakefile", "pyproject.toml", "config/config.yaml"):
            self.write(name, (REPOSITORY / name).read_text(encoding="utf-8"))
        for name, text in SOURCES.items():
            self.write(f"src/attention_limits/{name}", text)
        self.write("config/toy/experiments/growth_curve.yaml", EXPERIMENT)
        self.write("config/toy/figures.yaml", FIGURES)
        self.write("src/attention_limits/toy/figures/heights.rst", "Heights of the toy, at most {largest:.4f}.\n")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        path.write_text(edited(path.read_text(encoding="utf-8"), [(old, new)]), encoding="utf-8")

    def link_python(self, link: Path) -> None:
        """Take the interpreter by a link in a path without a space."""
        self.python = linked_python(link)

    def environment(self, **more: str) -> dict[str, str]:
        """The environment in which the copied package is the one that is imported."""
        return {**os.environ, "PYTHONPATH": str(self.folder / "src"), "TOY_LOG": str(self.log), **more}

    def program(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
        """Run `attention-limits` in the project."""
        return subprocess.run(
            [self.python, "-m", "attention_limits", *arguments],
            cwd=cwd or self.folder,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def snakemake(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
        """Run Snakemake in the project."""
        return snakemake_server.call(arguments, cwd or self.folder, self.environment(**environment), self.python)

    def planned(self, *arguments: str) -> list[str]:
        """The jobs that a dry run of Snakemake announces, by the first two words of their messages, sorted."""
        found = self.snakemake("-n", *arguments)
        assert found.returncode == 0, found.stderr
        text = found.stdout + found.stderr
        jobs = re.findall(r"^Job \d+: (\S+ \S+)", text, flags=re.MULTILINE)
        assert bool(jobs) != ("Nothing to be done" in text)
        return sorted(jobs)

    def computed(self) -> list[str]:
        """The points computed since the last call, sorted: "estimator alpha replica"."""
        points = sorted(self.log.read_text().splitlines()) if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return points

    def chunks(self) -> list[Path]:
        """All chunk files, without those half written."""
        return sorted(self.folder.glob("results/chunks/*/*/*/[!.]*.nc"))


def edited(text: str, edits: Iterable[tuple[str, str]]) -> str:
    """A text after replacements. Each old part must occur in the text."""
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def point_digest(estimator: Estimator, seed: int = 0, code: str = "c") -> str:
    """The digest of the points of an estimator whose code has this digest."""
    vars(estimator)["code"] = code
    return estimator.attributes(estimator.chunks[0], seed)["point_digest"]


def forget_code() -> None:
    """Forget the source files that `pipeline.base.provenance` has read."""
    for function in (provenance.closure, provenance._module, provenance.module_in):
        function.cache_clear()


@contextlib.contextmanager
def imported(toy: Toy) -> Iterator[Toy]:
    """In this process the package is the copy of a project: its family can be imported, its files are those of all digests."""
    source, log = provenance.SOURCE, os.environ.get("TOY_LOG")
    provenance.SOURCE = toy.source
    os.environ["TOY_LOG"] = str(toy.log)
    attention_limits.__path__.append(str(toy.source))
    importlib.invalidate_caches()
    forget_code()
    try:
        yield toy
    finally:
        attention_limits.__path__.remove(str(toy.source))
        for name in [name for name in sys.modules if f"{name}.".startswith("attention_limits.toy.")]:
            del sys.modules[name]
        vars(attention_limits).pop("toy", None)
        provenance.SOURCE = source
        os.environ.pop("TOY_LOG") if log is None else os.environ.update(TOY_LOG=log)
        forget_code()


def linked_python(link: Path) -> str:
    """The interpreter by a new link without a space: Snakemake cannot start another one in jobs of a queue."""
    assert " " not in str(link)
    link.symlink_to(sys.prefix)
    return str(link / "bin" / "python")


def path_with(folder: Path, commands: dict[str, str]) -> str:
    """A PATH on which shell scripts, by name, stand before all other commands; they lie in `folder`."""
    folder.mkdir()
    for name, text in commands.items():
        (folder / name).write_text("#!/bin/sh\n" + text)
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
