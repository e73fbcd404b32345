"""Experiments that need a file which cannot be shipped: left out while it is missing, current with it afterwards."""

import pytest

from toy import EXPERIMENT, FIGURES

SPEC = "config/experiments/toy/from_file.yaml"
FILE = "data/heights.txt"
REQUIRES = "requires: {data/heights.txt: 'heights.txt of https://example.org'}\n"


@pytest.fixture
def project(toy):
    """The toy with a second experiment and figure, which require a file."""
    toy.write(SPEC, REQUIRES + EXPERIMENT)
    toy.write(
        "config/figures.yaml",
        FIGURES + FIGURES.replace("toy_heights:", "toy_file:").replace("[growth_curve]", "[from_file]"),
    )
    toy.write("workflow/report/toy_file.rst", "Heights of the file.\n")
    toy.edit("src/attention_limits/figures/toy_heights.py", 'cubes["growth_curve"]', "next(iter(cubes.values()))")
    return toy


def jobs_of_the_file(project):
    return [job for job in project.planned() if "from_file" in job or "toy_file" in job]


def test_left_out_while_missing_and_current_afterwards(project):
    dry = project.snakemake("-n")
    (note,) = [line for line in dry.stderr.splitlines() if "left out" in line]
    assert note == (
        f"{project.folder / SPEC}: left out, with its figures: {project.folder / FILE} is missing: "
        "save there heights.txt of https://example.org"
    )
    assert "from_file" not in dry.stdout
    assert "toy_file" not in dry.stdout
    assert "toy/growth_curve: merge" in project.planned()
    listed = project.program("list")
    assert "from_file" not in listed.stdout
    assert "left out" in listed.stderr
    checked = project.program("check", SPEC)
    assert checked.returncode == 0
    assert "heights.txt is missing: save there" in checked.stdout
    for command in (["run", SPEC, "--estimator", "growth"], ["merge", SPEC]):
        refused = project.program(*command)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"{SPEC}: requires: {project.folder / FILE} is missing" in refused.stderr

    project.write(FILE, "1 2 3\n")
    assert "left out" not in project.snakemake("-n").stderr
    assert len(jobs_of_the_file(project)) == 5
    done = project.snakemake("results/figures/toy/toy_file.pdf")
    assert done.returncode == 0, done.stderr
    assert jobs_of_the_file(project) == []

    project.write(FILE, "1 2 4\n")
    assert len(jobs_of_the_file(project)) == 5
    assert "from_file" in project.program("list").stdout

    (project.folder / FILE).unlink()
    assert jobs_of_the_file(project) == []
    assert project.program("list", "--stale").stdout == ""


def test_a_left_out_experiment_is_still_validated(project):
    project.edit(SPEC, "steps: 3", "steps: 0")
    project.edit(SPEC, "data/heights.txt", "/data/heights.txt")
    found = project.snakemake("-n")
    assert found.returncode != 0
    assert "from_file.yaml: estimators.growth.solver.steps: 0: allowed" in found.stderr
    assert "from_file.yaml: requires./data/heights.txt: unknown key; allowed: names matching" in found.stderr
    project.edit(SPEC, "steps: 0", "steps: 3")
    project.edit(SPEC, "/data/heights.txt", "data/heights.txt")
    project.edit("config/figures.yaml", "[from_file]", "[from_files]")
    assert "toy_file.cubes: 'from_files': allowed: growth_curve, from_file" in project.snakemake("-n").stderr
