"""The real experiments and figures, at their smallest, against the golden file."""

import json
import warnings

import pytest

import figure_faults
import smoke_run
from golden import golden
from toy import REPOSITORY, repository

pytestmark = pytest.mark.slow

FAMILIES = sorted(path.parent.name for path in (REPOSITORY / "config").glob("*/experiments"))
BEFORE = json.loads(golden.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_figure_at_smoke_scale(tmp_path, family):
    planned = smoke_run.snakemake(tmp_path, "-n", "--config", "scale=smoke", f"families=[{family}]")
    drawn = smoke_run.run(tmp_path, smoke_run.lines(planned))
    # All that the rule of the family asks for, and the audit.
    targets = [*repository("smoke").targets(family), "results/smoke/audit.md"]
    assert [path for path in targets if not (tmp_path / path).exists()] == []
    assert differences_from_before(tmp_path / "results" / "smoke", family) == []
    assert figure_faults.of_family(repository("smoke"), family, drawn) == {}


def test_the_golden_file_has_no_other_cubes():
    experiments = repository("smoke").experiments
    assert BEFORE["cubes"].keys() <= {f"{family}/{name}" for family, names in experiments.items() for name in names}


def differences_from_before(results, family):
    """Differences from the golden file, which `make golden` writes anew after an intended change."""
    same_platform = BEFORE["platform"] == golden.platform()
    before = {name: record for name, record in BEFORE["cubes"].items() if name.startswith(f"{family}/")}
    now = golden.cubes(results)
    new = sorted(now.keys() - before.keys())
    if new:
        warnings.warn(
            f"not in {golden.FILE.name}, so compared with nothing; make golden: {', '.join(new)}", stacklevel=2
        )
    found = []
    for name in sorted(now.keys() & before.keys()):
        pair = before[name], golden.record(now[name])
        found += [f"{name}: {line}" for line in golden.differences(*pair, same_platform)]
        if not same_platform and (moved := golden.drift(*pair)):
            warnings.warn(f"{name}, on another platform: {'; '.join(moved)}", stacklevel=2)
    return found
