"""`snakemake --sdm conda`, with a stand-in for conda: see conda_stand_in.py."""

import os
import re
import shutil

import pytest

from conda_stand_in import install
from toy import REPOSITORY, Toy

CUBE = "cubes/toy/growth_curve.nc"


@pytest.fixture
def conda(tmp_path):
    """The variables of the environment with which the stand-in is found, and the file it writes to."""
    log = tmp_path / "conda.log"
    commands = install(tmp_path / "base")
    return {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "CONDA_LOG": str(log)}, log


def test_jobs_run_in_the_environment_and_give_the_same_bytes(tmp_path, conda):
    # Snakemake fills in braces in the paths of environments; a folder may have them in its name.
    toy = Toy(tmp_path / "pro{j}ect")
    toy.edit("config/experiments/toy/growth_curve.yaml", "chunk: {alpha: 2}", "chunk: {}")
    variables, log = conda
    done = toy.snakemake("--cores", "2", "--sdm", "conda", **variables)
    assert done.returncode == 0, done.stderr
    calls = log.read_text().splitlines()
    assert sum(call.startswith("conda env create") for call in calls) == 1
    assert log.with_name("conda.log.yaml").read_bytes() == (REPOSITORY / "envs/attention-limits.yaml").read_bytes()
    commands = sorted(call.split()[3] for call in calls if call.startswith("python -m attention_limits "))
    assert commands == ["draw", "merge", "run", "run"]
    made = (toy.folder / "results" / CUBE).read_bytes()
    computed = toy.computed()

    # What was made so is taken by a plain run; and made anew by one it is the same.
    assert toy.planned() == []
    shutil.rmtree(toy.folder / "results")
    log.unlink()
    done = toy.snakemake("--cores", "2", f"results/{CUBE}", **variables)
    assert done.returncode == 0, done.stderr
    assert not log.exists()
    assert toy.computed() == computed
    assert (toy.folder / "results" / CUBE).read_bytes() == made


def test_every_rule_that_computes_names_the_environment():
    rules = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "workflow" / "rules").glob("*.smk"))
    assert len(re.findall(r"conda:\n +environment\n", rules)) == rules.count("shell:\n") > 0


def test_another_copy_of_the_package_is_refused(toy, tmp_path, conda):
    """The digests would be those of a code that the jobs do not run."""
    shutil.copytree(toy.folder / "src", tmp_path / "installed")
    variables, log = conda
    told = toy.snakemake("-n", "--sdm", "conda", PYTHONPATH=str(tmp_path / "installed"), **variables)
    assert told.returncode != 0
    assert f"Snakemake has imported {tmp_path / 'installed'}" in told.stderr
    assert "Traceback" not in told.stderr
    assert not log.exists()
