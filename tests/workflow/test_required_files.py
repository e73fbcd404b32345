"""Experiments that need a file which cannot be shipped: left out while it is missing, current with it afterwards."""

import re

import pytest

from attention_limits.__main__ import main
from toy import FIGURES, imported

pytestmark = pytest.mark.slow

SPEC = "config/toy/experiments/from_file.yaml"
FILE = "data/heights.txt"
EXPERIMENT = """\
title: From a file
description: An estimator that requires a file.
requires: {data/heights.txt: 'heights.txt of https://example.org'}
model: {gain: 2.0}
estimators:
  counting: {grid: {alpha: {values: [0.2]}}}
"""
CUBE = "results/cubes/toy/from_file.nc"


@pytest.fixture
def project(toy):
    """The toy with a second experiment and figure, which require a file."""
    toy.write(SPEC, EXPERIMENT)
    toy.write(
        "config/toy/figures.yaml",
        FIGURES + "file: {title: Heights, module: heights, cubes: [from_file]}\n",
    )
    toy.write("src/attention_limits/toy/figures/file.rst", "Heights of the file.\n")
    toy.edit("src/attention_limits/toy/figures/heights.py", 'cubes["growth_curve"]', "next(iter(cubes.values()))")
    with imported(toy):
        yield toy


def test_left_out_while_missing_and_current_afterwards(project, monkeypatch, capsys):
    monkeypatch.chdir(project.folder)

    def program(*arguments):
        """Exit code, output and errors of a command, in this process."""
        code = main([*arguments])
        return code, *capsys.readouterr()

    def state_of_the_file():
        """The numbers of files that `list` gives the cube and the figure of the file."""
        lines = [re.split("  +", line) for line in program("list")[1].splitlines()]
        return [words[1] for words in lines if "from_file" in words[2] or "toy_file" in words[2]]

    note = (
        f"{project.folder / SPEC}: left out, with its figures: {project.folder / FILE} is missing: "
        "save there heights.txt of https://example.org"
    )
    asked = project.snakemake("-n", "--", "toy_file")
    assert (asked.returncode, asked.stderr.splitlines()[-1]) == (1, note)
    dry = project.snakemake("-n")
    assert "left out" not in dry.stderr
    assert "growth_curve" in dry.stdout
    assert "from_file" not in dry.stdout
    assert "toy_file" not in dry.stdout
    assert state_of_the_file() == []
    assert "left out" in program("list")[2]
    code, text, _ = program("check", SPEC)
    assert code == 0
    assert "heights.txt is missing: save there" in text
    for command in (["run", SPEC, "--estimator", "counting"], ["merge", SPEC]):
        code, text, errors = program(*command)
        assert (code, text) == (2, "")
        assert f"{SPEC}: requires: {project.folder / FILE} is missing" in errors

    project.write(FILE, "1 2 3\n")
    assert state_of_the_file() == ["0 of 1", "0 of 2"]
    done = project.snakemake(CUBE)
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    assert state_of_the_file() == ["1 of 1", "0 of 2"]

    project.write(FILE, "1 2 4\n")
    assert project.planned(CUBE) == ["toy/from_file: counting", "toy/from_file: merge"]

    (project.folder / FILE).unlink()
    assert state_of_the_file() == []
