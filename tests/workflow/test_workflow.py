"""The workflow as a whole, on the toy family: what runs, what runs again, and what does not.

The tutorial more_points extends an experiment; tests/pipeline/test_chunks.py compares the bytes of copied points.
"""

import os
import re
import shutil

import pytest
import xarray as xr

pytestmark = pytest.mark.slow

CUBE = "results/cubes/toy/growth_curve.nc"
SPEC = "config/toy/experiments/growth_curve.yaml"
FIGURE = "src/attention_limits/toy/figures/heights.py"
DRAW = "draw results/figures/toy/toy_heights.pdf"
MERGE = "toy/growth_curve: merge"
GROWTH = "toy/growth_curve: growth"
COUNTING = "toy/growth_curve: counting"


def height(toy, path=CUBE):
    with xr.open_dataset(toy.folder / path) as cube:
        return cube.height.load()


def test_one_command_makes_everything_and_a_second_nothing(finished):
    assert len(finished.chunks()) == 3
    for name in (CUBE, "results/figures/toy/toy_heights.pdf", "results/figures/toy/toy_heights.png"):
        assert (finished.folder / name).stat().st_size > 1000
    assert finished.planned() == []
    assert height(finished).sizes == {"estimator": 2, "alpha": 4, "replica": 3}


# Modules that have dependants; no other of the package has any.
LAYOUT = [f"pipeline/{name}.py" for name in ("layout", "combine", "registry", "errors", "files")]
NUMBERS = ["pipeline/streams.py", *(f"toy/{name}.py" for name in ("line", "curve"))]
FAMILY = [
    "toy/variables.py",
    *(f"toy/{name}.py" for name in ("estimators/growth", "estimators/counting", "figures/heights")),
]


def test_snakemake_looks_at_the_waiting_jobs_once_for_each_job(toy, monkeypatch):
    """Without our limit of its timers it would look again every second, and after each finished job once more every second."""
    monkeypatch.setenv("TOY_SLEEP", "0.3")
    done = toy.snakemake("--cores", "1", "--verbose")
    assert done.returncode == 0, done.stderr
    finished = re.findall(r"^Finished jobid: ", done.stderr, re.MULTILINE)
    assert len(re.findall(r"^Ready jobs: \d+$", done.stderr, re.MULTILINE)) <= len(finished) + 1


def test_an_edit_of_what_decides_no_bytes_makes_no_work(finished):
    known = {finished.source / name for name in (*LAYOUT, *NUMBERS, *FAMILY)}
    others = [path for path in finished.source.rglob("*.py") if path not in known and path.name != "__init__.py"]
    names = {str(path.relative_to(finished.source)) for path in others}
    inside = {
        "specification",
        "experiment",
        "estimator",
        "project",
        "chunks",
        "cubes",
    }
    assert names >= {f"pipeline/{name}.py" for name in inside} | {"toy/specs.py", "cli/jobs.py", "__main__.py"}
    for path in others:
        path.write_text(path.read_text(encoding="utf-8") + "\nEDITED = 1\n", encoding="utf-8")
    # A message, a docstring, a comment.
    finished.edit("src/attention_limits/pipeline/combine.py", "two datasets hold", "two of the datasets hold")
    finished.edit("src/attention_limits/toy/line.py", '"""Up."""', '"""Along."""  # and a comment')
    finished.edit(SPEC, "title:", "# a comment\ntitle:")
    # The dates of files decide nothing.
    os.utime(finished.folder / "results/figures/toy/toy_heights.png", (0, 0))
    assert finished.planned() == []


EDITS = [
    (SPEC, "1.0e-6", "1.0e-5", [DRAW, COUNTING, MERGE]),
    ("src/attention_limits/toy/line.py", "gain * x", "gain * (x + 1)", [DRAW, GROWTH, GROWTH, MERGE]),
    ("src/attention_limits/toy/variables.py", '"by one"', '"by two"', [DRAW, MERGE]),
    (FIGURE, "figure.subplots()", "figure.subplots(1)", [DRAW]),
]


def test_only_the_dependants_of_an_edit_run_again(finished):
    for file, old, new, again in EDITS:
        finished.edit(file, old, new)
        assert finished.planned() == again
        finished.edit(file, new, old)
    finished.write("src/attention_limits/toy/figures/heights.rst", "Another caption.\n")
    assert finished.planned() == [DRAW]


def test_another_checkout_goes_on_with_the_results(finished):
    """A new checkout has no records of Snakemake; without an edit it has nothing to do, and it sees each edit."""
    shutil.rmtree(finished.folder / ".snakemake")
    assert finished.planned() == []
    for file, old, new, again in EDITS:
        finished.edit(file, old, new)
        assert finished.planned() == again
        finished.edit(file, new, old)
    for file, old, new, _ in EDITS:
        finished.edit(file, old, new)
    done = finished.snakemake("--cores", "2")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(finished.folder / ".snakemake")
    assert finished.planned() == []


PUBLISHED = """\
numbers:
  - quantity: height at 0.2
    published: 0.5
    precision: 0.1
    source: Figure 1
    cubes: [growth_curve]
    reading: value
    arguments: {variable: height, estimator: growth, alpha: 0.2}
    evidence: "true"
"""


def test_another_checkout_makes_an_outdated_audit_again(finished):
    finished.write("config/toy/published.yaml", PUBLISHED)
    done = finished.snakemake("--cores", "1", "audit")
    assert done.returncode == 0, done.stderr
    shutil.rmtree(finished.folder / ".snakemake")
    assert finished.planned("audit") == []
    finished.edit("config/toy/published.yaml", "published: 0.5", "published: 0.6")
    assert finished.planned("audit") == ["audit results/audit.md"]


def test_another_checkout_extends_the_results_to_another_scale(finished):
    shutil.rmtree(finished.folder / ".snakemake")
    done = finished.snakemake("--cores", "2", "--config", "scale=paper")
    assert done.returncode == 0, done.stderr
    assert height(finished).sizes["replica"] == 5


def test_a_variant_stands_beside_the_original(finished):
    """`set` changes a model in a separate results folder; with the same value it is the original."""
    finished.write("config/toy/models.yaml", "steep: {gain: 2.0}\n")
    finished.edit(SPEC, "model: {gain: 2.0}", "model: steep")
    assert finished.planned() == []
    old = (finished.folder / CUBE).read_bytes()
    variant = ["--config", "set={toy: {steep: {gain: 4.0}}}", "results=variant"]
    done = finished.snakemake("--cores", "2", CUBE.replace("results", "variant"), *variant)
    assert done.returncode == 0, done.stderr
    assert len(finished.computed()) == 16
    plain, changed = height(finished), height(finished, "variant/cubes/toy/growth_curve.nc")
    difference = (changed - plain).sel(estimator="growth", replica=0)
    xr.testing.assert_allclose(
        difference.drop_vars(("estimator", "replica")),
        2.0 * plain.alpha.drop_attrs() + 0 * difference.drop_vars(("estimator", "replica")),
    )
    assert (finished.folder / CUBE).read_bytes() == old
    assert finished.planned() == []
    assert finished.planned(*variant) == ["draw variant/figures/toy/toy_heights.pdf"]
    wrong = finished.snakemake("-n", "--config", "set={toy: {step: {gain: 4.0}}}")
    assert wrong.returncode != 0
    assert "set: step: not in " in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_wrong_specification_stops_before_any_job(toy):
    toy.edit(SPEC, "steps: 3", "steps: 1e3")
    found = toy.snakemake()
    assert found.returncode != 0
    assert "estimators.growth.solver.steps: 1000.0: allowed: a whole number ≥ 1 and ≤ 9 (Steps)" in found.stderr
    assert "Traceback" not in found.stderr
    assert not (toy.folder / "results").exists()
