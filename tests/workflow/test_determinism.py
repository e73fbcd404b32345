"""The real experiments at smoke scale: equal data from one process and from jobs in any order, killed and resumed.

`make soak` runs this. In `make test`, tests of the toy project compare the bytes of resumed runs, and the tutorials run jobs of
real experiments.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import smoke_run
from golden import golden
from toy import REPOSITORY, repository

pytestmark = pytest.mark.soak


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", "-s", str(REPOSITORY / "Snakefile"), "--config", "scale=smoke"]
    return subprocess.Popen(
        [*command, *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def digests(folder):
    return {name: golden.record(path)["digest"] for name, path in golden.cubes(folder / "results" / "smoke").items()}


def test_all_experiments(tmp_path):
    """All lines in one process, and jobs of Snakemake on two cores in random order, killed a few times."""
    project = repository("smoke")
    cubes = [experiment.cube_path(project.run.folder) for experiment in project.all()]
    chunks = [path for experiment in project.all() for path in experiment.chunk_paths(project.run.folder)]
    plain, other = tmp_path / "plain", tmp_path / "other"
    for folder in (plain, other):
        folder.mkdir()
    smoke_run.run(plain, smoke_run.lines(smoke_run.snakemake(plain, "-n", "--config", "scale=smoke", "--", *cubes)))

    random_ = random.Random(5)
    arguments = ["--cores", "2", *cubes]
    for _ in range(4):
        first = random_.sample(chunks, len(chunks) // 2)
        running = snakemake(other, *arguments, "--prioritize", *first)
        time.sleep(random_.uniform(2, 60))
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        assert snakemake(other, "--unlock").wait(120) == 0
    last = random_.sample(chunks, len(chunks) // 2)
    assert snakemake(other, *arguments, "--prioritize", *last).wait(3000) == 0
    assert len(digests(plain)) == len(cubes)
    assert digests(plain) == digests(other)
