"""The real experiments and figures, at their smallest, against the golden file."""

import json
import subprocess
import sys
import warnings

import pytest

from attention_limits.pipeline.project import load_project
from golden import golden
from toy import REPOSITORY

pytestmark = pytest.mark.slow


def test_every_figure_at_smoke_scale(tmp_path):
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        REPOSITORY / "Snakefile",
        "--config",
        "scale=smoke",
        "--cores",
        "2",
    ]

    def snakemake(*arguments):
        return subprocess.run(
            [*command, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=False
        )

    done = snakemake()
    assert done.returncode == 0, done.stderr
    cubes = {path.stem for path in tmp_path.glob("results/smoke/cubes/*/*.nc")}
    experiments = load_project(REPOSITORY, {"scale": "smoke"}).experiments
    assert cubes == {name for family in experiments.values() for name in family}
    again = snakemake("-n")
    assert "Nothing to be done" in again.stdout + again.stderr
    assert differences_from_before(tmp_path / "results" / "smoke") == []


def differences_from_before(results):
    """Differences from the golden file, which `make golden` writes anew after an intended change."""
    before = json.loads(golden.FILE.read_text(encoding="utf-8"))
    same_platform = before["platform"] == golden.platform()
    now = golden.cubes(results)
    new = sorted(now.keys() - before["cubes"].keys())
    if new:
        warnings.warn(
            f"not in {golden.FILE.name}, so compared with nothing; make golden: {', '.join(new)}", stacklevel=2
        )
    found = [f"{name}: is gone" for name in sorted(before["cubes"].keys() - now.keys())]
    for name in sorted(now.keys() & before["cubes"].keys()):
        pair = before["cubes"][name], golden.record(now[name])
        found += [f"{name}: {line}" for line in golden.differences(*pair, same_platform)]
        if not same_platform and (moved := golden.drift(*pair)):
            warnings.warn(f"{name}, on another platform: {'; '.join(moved)}", stacklevel=2)
    return found
