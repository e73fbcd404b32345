"""Killed again and again at random moments, resumed each time: the data are those of an undisturbed run.

`make soak` kills 60 times, among the data and among their readers.
"""

import random

import pytest

from faults import kill_at_random
from toy import Toy
from toy_data import share

pytestmark = pytest.mark.slow

CUBES = ("results/cubes/toy/growth_curve.nc", "results/cubes/toy/shared.nc")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    project = Toy(tmp_path_factory.mktemp("undisturbed") / "project")
    share(project)
    done = project.snakemake("--cores", "2")
    assert done.returncode == 0, done.stderr
    return {name: (project.folder / name).read_bytes() for name in CUBES}


def soak(folder, undisturbed, kills: int, seed: int) -> dict[str, int]:
    """Kill this many times; compare each run that ends undisturbed, and begin anew. Returns how often each part was killed."""
    random_ = random.Random(seed)
    counted: dict[str, int] = {}
    project, runs = None, 0
    while sum(counted.values()) - counted.get("finished", 0) < kills:
        if project is None:
            runs += 1
            project = Toy(folder / f"run {runs}")
            share(project)
        what = kill_at_random(project, random_, "--cores", "2", longest=3, TOY_SLEEP="0.1")
        counted[what] = counted.get(what, 0) + 1
        project.snakemake("--unlock")
        if what == "finished":
            check(project, undisturbed)
            project = None
    if project is not None:
        check(project, undisturbed)
    return counted


def check(project, undisturbed) -> None:
    """Finish the run: nothing is half, nothing is missing, nothing is left to do."""
    done = project.snakemake("--cores", "2")
    assert done.returncode == 0, done.stderr
    for name, content in undisturbed.items():
        assert (project.folder / name).read_bytes() == content
    assert (project.folder / "results/figures/toy/toy_heights.pdf").exists()
    assert project.planned() == []
    assert len(list(project.folder.glob("results/data/*/*/*/[!.]*.nc"))) == 4


@pytest.mark.soak
def test_many_kills(tmp_path, undisturbed):
    counted = soak(tmp_path, undisturbed, kills=60, seed=2)
    print(f"killed: {counted}")
    assert counted["all"] >= 10
    assert counted["snakemake"] >= 10
    assert counted["worker"] >= 10
