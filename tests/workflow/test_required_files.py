"""Experiments that need a file which cannot be shipped: left out while it is missing, current with it afterwards."""

import pytest

from toy import EXPERIMENT, FIGURES

pytestmark = pytest.mark.slow

SPEC = "config/toy/experiments/from_file.yaml"
FILE = "data/heights.txt"
REQUIRES = "requires: {data/heights.txt: 'heights.txt of https://example.org'}\n"


@pytest.fixture
def project(toy):
    """The toy with a second experiment and figure, which require a file."""
    toy.write(SPEC, REQUIRES + EXPERIMENT)
    toy.write(
        "config/toy/figures.yaml",
        FIGURES + "file: {title: Heights, module: heights, cubes: [from_file]}\n",
    )
    toy.write("src/attention_limits/toy/figures/file.rst", "Heights of the file.\n")
    toy.edit("src/attention_limits/toy/figures/heights.py", 'cubes["growth_curve"]', "next(iter(cubes.values()))")
    return toy


def state_of_the_file(project):
    """The states that `list` gives the cube and the figure of the file."""
    lines = [line.split() for line in project.program("list").stdout.splitlines()]
    return [words[1] for words in lines if "from_file" in words[2] or "toy_file" in words[2]]


def test_left_out_while_missing_and_current_afterwards(project):
    dry = project.snakemake("-n")
    (note,) = [line for line in dry.stderr.splitlines() if "left out" in line]
    assert note == (
        f"{project.folder / SPEC}: left out, with its figures: {project.folder / FILE} is missing: "
        "save there heights.txt of https://example.org"
    )
    assert "growth_curve" in dry.stdout
    assert "from_file" not in dry.stdout
    assert "toy_file" not in dry.stdout
    assert state_of_the_file(project) == []
    assert "left out" in project.program("list").stderr
    checked = project.program("check", SPEC)
    assert checked.returncode == 0
    assert "heights.txt is missing: save there" in checked.stdout
    for command in (["run", SPEC, "--estimator", "growth"], ["merge", SPEC]):
        refused = project.program(*command)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{SPEC}: requires: {project.folder / FILE} is missing" in refused.stderr

    project.write(FILE, "1 2 3\n")
    assert state_of_the_file(project) == ["absent", "absent"]
    done = project.snakemake("toy_file")
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    assert state_of_the_file(project) == ["complete", "complete"]

    project.write(FILE, "1 2 4\n")
    assert project.planned("toy_file") == [
        "draw results/figures/toy/toy_file.pdf",
        "toy/from_file: counting",
        *["toy/from_file: growth"] * 2,
        "toy/from_file: merge",
    ]
    assert state_of_the_file(project) == ["stale", "stale"]

    (project.folder / FILE).unlink()
    assert state_of_the_file(project) == []
    assert project.program("list", "--stale").stdout == ""
