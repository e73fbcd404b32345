"""The targets of the Makefile on the toy project, and the message when one fails."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copy

import pytest

from toy import REPOSITORY

pytestmark = pytest.mark.slow

MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
RELEASE_CHECK = (REPOSITORY / "tests" / "release" / "check.sh").read_text(encoding="utf-8")


@pytest.fixture
def make(toy):
    """Runs a target in the toy project, whose .venv is that of the tests."""
    for name in ("Makefile", "uv.lock"):
        copy(REPOSITORY / name, toy.folder)
    (toy.folder / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (toy.folder / ".venv" / name).symlink_to(Path(sys.prefix) / name)
    # So the environment is current.
    (toy.folder / ".venv/.synced").touch()

    # No target below needs a network, the report neither.
    unreachable = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")

    def run(*arguments):
        command = ["make", "CORES=2", *arguments]
        # `make test` is no part of the tested make, which would then print the folders that it enters and leaves.
        environment = toy.environment(**unreachable)
        environment = {
            name: value for name, value in environment.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        }
        return subprocess.run(
            command, cwd=toy.folder, env=environment, capture_output=True, text=True, timeout=600, check=False
        )

    return run


def test_make_smoke_ends_well_with_figures_report_and_summary(toy, make):
    done = make("smoke", "FIRST=toy_heights")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (toy.folder / "results/report.html").exists()
    report = (toy.folder / "results/smoke/report.html").read_text(encoding="utf-8")
    assert re.search(r"Heights of the toy, at most \d\.\d{4}\.", report)
    assert "image/png" in report
    assert "results/smoke/figures/toy/toy_heights.pdf" in done.stdout
    assert "report: results/smoke/report.html" in done.stdout
    assert done.stdout.splitlines()[-1] == "open in a browser: results/smoke/index.html"
    assert "all cubes: results/smoke/explorer.html" in done.stdout
    assert 'href=\\"explorer.html\\"' in report
    assert "Plotly" in (toy.folder / "results/smoke/explorer.html").read_text(encoding="utf-8")
    # One rule again, and all that depends on it.
    toy.computed()
    again = make("rerun", "RULE=toy_growth", "SCALE=smoke")
    assert again.returncode == 0, again.stdout + again.stderr
    assert {point.split()[0] for point in toy.computed()} == {"growth"}
    log = max((toy.folder / ".snakemake/log").glob("*.log"), key=lambda path: path.stat().st_mtime_ns)
    messages = re.findall(r"^Job \d+: (.*)", log.read_text(), re.MULTILINE)
    assert any("toy/growth_curve: merge" in line for line in messages)
    assert any("toy_heights.pdf" in line for line in messages)
    assert not any("counting" in line for line in messages)
    # A caption that docutils takes for something else fails with the reason on the screen.
    toy.write("src/attention_limits/toy/figures/heights.rst", "Opens *emphasis.\n")
    failed = make("report", "SCALE=smoke")
    assert failed.returncode != 0
    assert "Inline emphasis start-string without end-string" in failed.stderr


def test_a_target_that_fails_prints_the_reason(toy, make):
    failed = make("report")
    assert failed.returncode != 0
    assert "MissingInputException" in failed.stderr or "missing" in failed.stderr.lower()
    toy.edit("config/toy/experiments/growth_curve.yaml", "steps: 3", "steps: 30")
    failed = make("smoke", "FIRST=")
    assert failed.returncode != 0
    assert "steps: 30: allowed: a whole number" in failed.stdout + failed.stderr


@pytest.mark.parametrize(
    ("families", "first"),
    [("all", True), ("[potts_mlm, sequence_single_index]", True), ("[potts_mlm]", False), ("[toy]", False)],
)
def test_the_first_figure_comes_first_where_its_family_is_computed(toy, make, families, first):
    """Snakemake refuses to prioritise a target that does not exist."""
    toy.edit("config/config.yaml", "families: all", f"families: {families}")
    asked = make("-n", "run")
    assert asked.returncode == 0
    assert ("--prioritize ssi_fig1" in asked.stdout) == first


def test_the_release_check_runs_every_target():
    (phony,) = re.findall(r"^\.PHONY: (run .*)$", MAKEFILE, re.MULTILINE)
    checked = {word for line in re.findall(r"^ *check (.+)$", RELEASE_CHECK, re.MULTILINE) for word in line.split()}
    # Jupyter ends when its user says so.
    assert set(phony.split()) - {"release-check", "notebook"} <= checked
