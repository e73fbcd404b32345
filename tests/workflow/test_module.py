"""The workflow in another workflow, and with projects and results in other folders."""

import re

import pytest
import xarray as xr

from toy import EXPERIMENT, REPOSITORY

pytestmark = pytest.mark.slow

CUBE = "cubes/toy/growth_curve.nc"

OUTER = """\
configfile: "settings.yaml"

module limits:
    snakefile: {snakefile!r}
    config: config["limits"]

use rule * from limits as limits_*

rule table:
    default_target: True
    input: "out/limits/cubes/toy/growth_curve.nc"
    output: "out/table.txt"
    shell: "echo {{input:q}} > {{output:q}}"
"""


@pytest.fixture
def outer(toy, tmp_path):
    """A workflow in another folder that uses the toy project."""
    folder = tmp_path / "outer"
    folder.mkdir()
    (folder / "Snakefile").write_text(OUTER.format(snakefile=str(toy.folder / "Snakefile")))
    (folder / "settings.yaml").write_text("colour: blue\nlimits: {results: out/limits, seed: 3}\n")
    return folder


def test_as_a_module_with_its_own_configuration_and_results(toy, outer):
    done = toy.snakemake("--cores", "2", cwd=outer)
    assert done.returncode == 0, done.stderr
    assert (outer / "out/table.txt").read_text() == f"out/limits/{CUBE}\n"
    assert sorted(path.name for path in (outer / "out/limits").iterdir()) == ["benchmarks", "chunks", "cubes", "logs"]
    assert not (outer / "results").exists()
    assert not (toy.folder / "results").exists()
    again = toy.snakemake("-n", cwd=outer)
    assert "Nothing to be done" in again.stdout + again.stderr
    # Figures and families of the module are targets under its prefix.
    figure = toy.snakemake("-n", "limits_toy", cwd=outer)
    assert "draw out/limits/figures/toy/toy_heights.pdf" in figure.stdout + figure.stderr
    with xr.open_dataset(outer / "out/limits" / CUBE) as cube:
        assert cube.attrs["root_seed"] == "3"
    listed = toy.program("list", "--project", str(toy.folder), "--results", "out/limits", "--seed", "3", cwd=outer)
    assert [line.split()[:4] for line in listed.stdout.splitlines()] == [
        ["cube", "1", "of", "1"],
        ["figure", "0", "of", "2"],
    ]


def test_a_mistake_in_the_configuration_of_a_module_is_reported(toy, outer):
    (outer / "settings.yaml").write_text("limits: {scale: huge}\n")
    found = toy.snakemake("-n", cwd=outer)
    assert found.returncode != 0
    assert 'scale: "huge": allowed: one of "laptop", "paper", "smoke"' in found.stderr
    assert "Traceback" not in found.stderr


def test_a_module_without_configuration_has_that_of_its_folder(toy, outer):
    snakefile = outer / "Snakefile"
    snakefile.write_text(
        snakefile.read_text().replace('    config: config["limits"]\n', "").replace("out/limits", "results")
    )
    done = toy.snakemake("-n", cwd=outer)
    assert done.returncode == 0, done.stderr
    assert "results/cubes/toy/growth_curve.nc" in done.stdout


def test_a_project_in_another_folder_computed_in_a_third_at_smoke_scale(toy, tmp_path):
    """Experiments in a folder that has a config/ and nothing else; the program and the results are elsewhere."""
    mine, elsewhere = tmp_path / "mine", tmp_path / "else where"
    experiments = mine / "config/toy/experiments"
    experiments.mkdir(parents=True)
    elsewhere.mkdir()
    (experiments / "steep.yaml").write_text(EXPERIMENT.replace("gain: 2.0", "gain: 9.0"))
    config = ["--config", f"project={mine}", "scale=smoke"]
    done = toy.snakemake("--cores", "2", "-s", str(toy.folder / "Snakefile"), *config, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (elsewhere / "results").iterdir()] == ["smoke"]
    # The same by an option of Snakemake.
    assert toy.planned("--directory", str(elsewhere), *config) == []
    assert not (toy.folder / "results").exists()
    assert not (mine / "results").exists()
    with xr.open_dataset(elsewhere / "results/smoke/cubes/toy/steep.nc") as cube:
        assert cube.alpha.values.tolist() == [0.0, 0.2, 0.4, 0.6]
    for kind in ("logs", "benchmarks"):
        assert len([path for path in (elsewhere / "results/smoke" / kind).rglob("*") if path.is_file()]) == 3
    # A job is a line that a person can paste.
    logs = "".join(path.read_text() for path in (elsewhere / ".snakemake/log").glob("*.log"))
    assert re.search(r"python -P -m attention_limits run .*steep.yaml'? --estimator growth --chunk \S+", logs)


def test_the_catalog_s_conventions():
    """Where the catalog of workflows looks."""
    for name in (".snakemake-workflow-catalog.yml", "config/config.yaml", "config/README.md", "LICENSE", "README.md"):
        assert (REPOSITORY / name).is_file()
    assert (REPOSITORY / "workflow" / "Snakefile").resolve() == (REPOSITORY / "Snakefile").resolve()
