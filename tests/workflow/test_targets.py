"""What a user reads who asks for one figure, for one that is not there, and for a queue whose plugin is missing."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from toy import REPOSITORY

pytestmark = pytest.mark.slow


def test_one_figure_prints_a_few_lines_and_its_path(toy):
    done = toy.snakemake("--cores", "1", "--", "toy_heights")
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    assert len(lines) < 12
    assert lines[-1].startswith("1 of 1 figures, ")
    assert lines[-1].endswith("results/figures/toy/toy_heights.pdf")
    (log,) = (toy.folder / ".snakemake/log").glob("*.log")
    assert "attention_limits draw" in log.read_text()


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(("--", "heights"), "toy_heights"), (("toy_hieghts",), "toy_heights"), (("--", "perceptron"), "")],
)
def test_a_target_that_no_rule_has(toy, arguments, meant):
    done = toy.snakemake("--cores", "1", *arguments)
    assert done.returncode == 1
    last = (done.stdout + done.stderr).splitlines()[-1]
    assert last.startswith(f"{arguments[-1]}: no such figure, family or rule")
    assert last.endswith(f"; did you mean {meant}?" if meant else "rule")


def test_a_rule_of_many_files_is_no_target_but_runs_again(toy):
    done = toy.snakemake("--cores", "1", "toy_growth")
    assert done.returncode == 1
    assert (
        (done.stdout + done.stderr).splitlines()[-1].startswith("toy_growth: makes one of many files; ask for a figure")
    )
    assert toy.snakemake("--cores", "1", "-n", "-R", "toy_growth", "--", "toy_heights").returncode == 0


@pytest.mark.parametrize("name", ["slurm", "cluster-generic"])
def test_a_queue_without_its_plugin(name):
    if find_spec(f"snakemake_executor_plugin_{name.replace('-', '_')}"):
        pytest.skip("the plugin is installed")
    profile = f"workflow/profiles/{name}"
    command = [sys.executable, "-m", "snakemake", "--workflow-profile", profile, "-n", "--", "ssi_fig1"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"its plugin is not installed; run `make {name}` once" in done.stderr.splitlines()[-1]
