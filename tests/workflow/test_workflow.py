"""The workflow as a whole, on the toy family: what runs, what runs again, and what does not.

The tutorial more_points extends an experiment; tests/pipeline/cubes/test_chunks.py compares the bytes of copied points.
"""

import os
import re
import shlex
import shutil

import pytest
import xarray as xr

from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from toy import REPOSITORY, Toy

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
LAYOUT = [
    f"pipeline/{name}.py"
    for name in ("cubes/cube_bytes", "cubes/combine", "base/registry", "base/errors", "base/files")
]
NUMBERS = ["pipeline/base/streams.py", *(f"toy/{name}.py" for name in ("line", "curve"))]
FAMILY = [
    "toy/variables.py",
    *(f"toy/{name}.py" for name in ("estimators/growth", "estimators/counting", "figures/heights")),
]


def test_the_profiles_limit_how_often_snakemake_looks_at_the_waiting_jobs(toy):
    """After each finished job Snakemake looks once more in each timespan; its own is a second."""
    for profile in (REPOSITORY / "workflow" / "profiles").glob("*/config.yaml"):
        limit = read_yaml(profile)["max-jobs-per-timespan"]
        number, seconds = map(int, limit.removesuffix("s").split("/"))
        assert seconds >= 3
        assert number / seconds > 100
    done = toy.snakemake("--cores", "1", "--verbose", "--until", "toy_counting")
    assert done.returncode == 0, done.stderr
    # With the timespan of the toy project.
    assert re.search(r"Submitting maximum 1000 job\(s\) over 1(\.0)? second", done.stderr)


def test_an_edit_of_what_decides_no_bytes_makes_no_work(finished):
    known = {finished.source / name for name in (*LAYOUT, *NUMBERS, *FAMILY)}
    others = [path for path in finished.source.rglob("*.py") if path not in known and path.name != "__init__.py"]
    names = {str(path.relative_to(finished.source)) for path in others}
    inside = {
        "experiments/specification",
        "experiments/experiment",
        "experiments/estimator",
        "experiments/project",
        "cubes/chunks",
        "cubes/reader",
    }
    assert names >= {f"pipeline/{name}.py" for name in inside} | {"toy/specs.py", "cli/jobs.py", "__main__.py"}
    for path in others:
        path.write_text(path.read_text(encoding="utf-8") + "\nEDITED = 1\n", encoding="utf-8")
    # A message, a docstring, a comment.
    finished.edit("src/attention_limits/pipeline/cubes/combine.py", "two datasets hold", "two of the datasets hold")
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


# With the profile, and with the defaults of Snakemake alone.
TRIGGERS = [(), ("--workflow-profile", "none", "--cores", "1")]


def test_only_the_dependants_of_an_edit_run_again(finished):
    for file, old, new, again in EDITS:
        finished.edit(file, old, new)
        assert finished.planned() == again
        finished.edit(file, new, old)
    assert [finished.planned(*how) for how in TRIGGERS] == [[]] * 2
    for file, old, new, _ in EDITS:
        finished.edit(file, old, new)
    assert [finished.planned(*how) for how in TRIGGERS] == [[DRAW, COUNTING, GROWTH, GROWTH, MERGE]] * 2
    for file, old, new, _ in EDITS:
        finished.edit(file, new, old)
    finished.write("src/attention_limits/toy/figures/heights.rst", "Another caption.\n")
    assert [finished.planned(*how) for how in TRIGGERS] == [[DRAW]] * 2


def run_repair(toy, printed):
    """Run the last command that a text offers, `rm -f FILES && snakemake FILE --config OPTIONS`; return what Snakemake does."""
    command = printed.splitlines()[-1].rpartition(": rm -f ")[2]
    removed, made = (shlex.split(part) for part in command.split(" && snakemake "))
    for name in removed:
        (toy.folder / name).unlink()
    return toy.snakemake("--cores", "2", *made)


def test_another_checkout_goes_on_with_the_results(finished, sound):
    """A copy of results brings no records of Snakemake. What is outdated is named and never used; the rest is kept."""
    shutil.rmtree(finished.folder / ".snakemake")
    assert finished.planned() == []
    assert "repair" not in finished.program("summary").stdout
    for file, old, new, _ in EDITS[1:3]:
        finished.edit(file, old, new)
    # Snakemake sees existing files with sound dates.
    assert finished.planned() == []
    # The figure is not drawn from the cube.
    (finished.folder / "results/figures/toy/toy_heights.png").unlink()
    refused = finished.snakemake("--cores", "1")
    assert refused.returncode == 1
    assert (
        f"{CUBE}: was made with another specification, seed or code (its cube_digest differs); repair" in refused.stderr
    )
    # The commands lead to the chunks of one estimator.
    summary = finished.program("summary")
    assert f"{CUBE}: was made with another specification" in summary.stdout
    stopped = run_repair(finished, summary.stdout)
    assert stopped.returncode == 1
    assert finished.computed() == []
    printed = "\n".join(line for line in stopped.stderr.splitlines() if line.startswith("attention-limits: "))
    assert printed.count("/growth/") == 8
    assert printed.count("/counting/") == 0
    assert printed.count("was made with another specification, seed or code (its point_digest differs)") == 2
    done = run_repair(finished, printed)
    assert done.returncode == 0, done.stderr
    assert {point.split()[0] for point in finished.computed()} == {"growth"}
    assert finished.planned() == [DRAW]
    assert finished.snakemake("--cores", "1").returncode == 0
    assert "repair" not in finished.program("summary").stdout
    (old,) = sound.folder.glob("results/chunks/toy/growth_curve/counting/*.nc")
    assert (finished.folder / old.relative_to(sound.folder)).read_bytes() == old.read_bytes()
    # From here on Snakemake has records of what it made.
    finished.edit(FIGURE, "figure.subplots()", "figure.subplots(1)")
    assert finished.planned() == [DRAW]


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


def test_the_audit(finished):
    """Made again after an edit of a published number; an outdated cube is not compared."""
    finished.write("config/toy/published.yaml", PUBLISHED)
    done = finished.snakemake("--cores", "1", "audit")
    assert done.returncode == 0, done.stderr
    assert [finished.planned("audit", *how) for how in TRIGGERS] == [[]] * 2
    finished.edit("config/toy/published.yaml", "published: 0.5", "published: 0.6")
    assert [finished.planned("audit", *how) for how in TRIGGERS] == [["audit results/audit.md"]] * 2
    finished.edit(SPEC, "steps: 3", "steps: 4")
    by_hand = finished.program("audit", "--output", "results/audit.md")
    assert by_hand.returncode == 0
    assert by_hand.stdout == "results/audit.md: 1 not computed\n"
    assert f"not compared: {CUBE}: was made with another specification, seed or code" in by_hand.stderr


def test_another_checkout_extends_the_results_to_another_scale(finished):
    """Without records Snakemake keeps each cube that exists. It joins the chunks again where the cubes are removed."""
    shutil.rmtree(finished.folder / ".snakemake")
    shutil.rmtree(finished.folder / "results/cubes")
    finished.computed()
    done = finished.snakemake("--cores", "2", "--config", "scale=paper")
    assert done.returncode == 0, done.stderr
    assert height(finished).sizes["replica"] == 5
    # The replicas of the scale `laptop` are taken from its chunks.
    assert {point.split()[2] for point in finished.computed() if point.startswith("growth")} == {"3", "4"}


def test_results_move_with_their_records(finished, tmp_path):
    """Then another checkout sees each edit."""
    other = Toy(tmp_path / "another checkout")
    for name in ("results", ".snakemake"):
        shutil.copytree(finished.folder / name, other.folder / name)
    assert other.planned() == []
    file, old, new, again = EDITS[1]
    other.edit(file, old, new)
    assert other.planned() == again


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
