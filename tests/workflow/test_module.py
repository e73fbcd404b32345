"""The workflow in another workflow, and with projects and results in other folders."""

import pytest

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
    figure = toy.snakemake("--cores", "1", "limits_toy", cwd=outer)
    assert figure.returncode == 0, figure.stderr
    assert (outer / "out/limits/figures/toy/toy_heights.pdf").exists()
    shown = toy.program("show", f"out/limits/{CUBE}", cwd=outer)
    assert ":root_seed = 3 ;" in shown.stdout
    listed = toy.program("list", "--project", str(toy.folder), "--results", "out/limits", "--seed", "3", cwd=outer)
    assert [line.split()[:4] for line in listed.stdout.splitlines()] == [
        ["cube", "1", "of", "1"],
        ["figure", "2", "of", "2"],
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


def test_a_project_in_another_folder_with_the_estimators_of_this_one(toy, tmp_path):
    """Experiments in a folder that has a config/ and nothing else."""
    mine = tmp_path / "mine"
    experiments = mine / "config/toy/experiments"
    experiments.mkdir(parents=True)
    (experiments / "steep.yaml").write_text(EXPERIMENT.replace("gain: 2.0", "gain: 9.0"))
    scratch = tmp_path / "scratch/results"
    arguments = ["--config", f"project={mine}", f"results={scratch}", "-s", str(toy.folder / "Snakefile")]
    done = toy.snakemake("--cores", "2", *arguments, cwd=mine)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (scratch / "cubes/toy").iterdir()] == ["steep.nc"]
    assert not (mine / "results").exists()


def test_the_catalog_s_conventions():
    """Where the catalog of workflows looks."""
    for name in (".snakemake-workflow-catalog.yml", "config/config.yaml", "config/README.md", "LICENSE", "README.md"):
        assert (REPOSITORY / name).is_file()
    assert (REPOSITORY / "workflow" / "Snakefile").resolve() == (REPOSITORY / "Snakefile").resolve()
