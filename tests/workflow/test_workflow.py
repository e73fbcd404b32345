"""The workflow as a whole, on the toy family: what runs, what runs again, and what does not."""

import os
import re

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
    finished.edit("src/attention_limits/pipeline/combine.py", "two parts hold", "two of the parts hold")
    finished.edit("src/attention_limits/toy/line.py", '"""Up."""', '"""Along."""  # and a comment')
    finished.edit(SPEC, "title:", "# a comment\ntitle:")
    # The dates of files decide nothing.
    os.utime(finished.folder / "results/figures/toy/toy_heights.png", (0, 0))
    assert finished.planned() == []


def test_only_the_dependants_of_an_edit_run_again(finished):
    finished.edit(FIGURE, "figure.subplots()", "figure.subplots(1)")
    assert finished.planned() == [DRAW]
    finished.edit(FIGURE, "figure.subplots(1)", "figure.subplots()")
    finished.write("src/attention_limits/toy/figures/heights.rst", "Another caption.\n")
    assert finished.planned() == [DRAW]
    finished.edit("src/attention_limits/toy/line.py", "gain * x", "gain * (x + 1)")
    assert finished.planned() == [DRAW, GROWTH, GROWTH, MERGE]
    finished.edit("src/attention_limits/toy/line.py", "gain * (x + 1)", "gain * x")
    finished.edit(SPEC, "1.0e-6", "1.0e-5")
    assert finished.planned() == [DRAW, COUNTING, MERGE]
    finished.edit(SPEC, "1.0e-5", "1.0e-6")
    finished.edit("src/attention_limits/toy/variables.py", '"by one"', '"by two"')
    assert finished.planned() == [DRAW, MERGE]


OTHER = {
    "src/attention_limits/other/__init__.py": "",
    "src/attention_limits/other/variables.py": "from attention_limits.toy.variables import COORDINATES, SOURCE, VARIABLES\n",
    "src/attention_limits/other/specs.py": "from attention_limits.toy.specs import Growth\n\n"
    'PREFIX, DATA, ESTIMATORS = "oth", {}, {"growth": Growth}\n',
    "src/attention_limits/other/estimators/__init__.py": "",
    "src/attention_limits/other/estimators/growth.py": "from attention_limits.toy.estimators.growth import run\n",
    "src/attention_limits/other/figures/__init__.py": "",
    "src/attention_limits/other/figures/plot.py": "from matplotlib.figure import Figure\n\n\ndef draw(cubes):\n"
    '    assert "curve" in cubes\n    return Figure()\n',
    "src/attention_limits/other/figures/plot.rst": "x\n",
    "config/other/experiments/curve.yaml": "title: x\ndescription: x\nmodel: {gain: 1}\n"
    "estimators: {growth: {grid: {alpha: {values: [1]}}, solver: {steps: 1}}}\n",
    "config/other/figures.yaml": "plot: {title: x, cubes: [curve]}\n",
}


def test_a_new_family_is_new_files_alone(finished):
    """No file of the project is edited, and nothing that was there runs."""
    for name, text in OTHER.items():
        assert not (finished.folder / name).exists()
        finished.write(name, text)
    new = ["draw results/figures/other/oth_plot.pdf", "other/curve: growth", "other/curve: merge"]
    assert finished.planned() == new
    assert finished.planned("--config", "families=[toy]") == []
    done = finished.snakemake("--cores", "2", "oth_plot")
    assert done.returncode == 0, done.stderr
    assert (finished.folder / "results/figures/other/oth_plot.pdf").exists()
    assert finished.planned() == []


def test_more_replicas_and_more_grid_values_compute_what_is_missing(finished):
    before = {path: path.read_bytes() for path in finished.chunks()}
    old = height(finished)
    done = finished.snakemake(CUBE, "--config", "scale=paper")
    assert done.returncode == 0, done.stderr
    assert finished.computed() == sorted(f"growth {alpha} {r}" for alpha in ("0", "0.2", "0.4", "0.6") for r in (3, 4))
    new = height(finished)
    xr.testing.assert_identical(new.sel(replica=[0, 1, 2]).drop_attrs(), old.drop_attrs())
    assert not new.sel(estimator="growth").isnull().any()
    finished.edit(SPEC, "num: 4", "num: 7")
    finished.edit(SPEC, "chunk: {alpha: 2}", "chunk: {alpha: 5, replicas: 2}")
    done = finished.snakemake(CUBE)
    assert done.returncode == 0, done.stderr
    assert finished.computed() == [f"growth {alpha} {r}" for alpha in (0.1, 0.3, 0.5) for r in range(3)]
    xr.testing.assert_identical(height(finished).sel(alpha=old.alpha).drop_attrs(), old.drop_attrs())
    assert all(path.read_bytes() == content for path, content in before.items() if path.exists())

    # Snakemake lists the files that the workflow does not need any more; docs/configuration.md shows the command.
    listed = finished.snakemake("--list-untracked", "--config", "scale=paper")
    stale = [line for line in listed.stdout.splitlines() if line.startswith("results/chunks/")]
    assert stale
    for path in stale:
        (finished.folder / path).unlink()
    assert finished.planned(CUBE) == []


def test_a_variant_stands_beside_the_original(finished):
    """`set` changes a model in a separate results folder; with the same value it is the original."""
    finished.write("config/toy/models.yaml", "steep: {gain: 2.0}\n")
    finished.edit(SPEC, "model: {gain: 2.0}", "model: steep")
    assert finished.planned() == []
    old = (finished.folder / CUBE).read_bytes()
    variant = ["--config", "set={toy: {steep: {gain: 4.0}}}", "results=variant"]
    done = finished.snakemake("--cores", "2", *variant)
    assert done.returncode == 0, done.stderr
    assert len(finished.computed()) == 16
    plain, changed = height(finished), height(finished, "variant/cubes/toy/growth_curve.nc")
    difference = (changed - plain).sel(estimator="growth", replica=0)
    xr.testing.assert_allclose(
        difference.drop_vars(("estimator", "replica")),
        2.0 * plain.alpha.drop_attrs() + 0 * difference.drop_vars(("estimator", "replica")),
    )
    assert (finished.folder / "variant/figures/toy/toy_heights.pdf").exists()
    assert (finished.folder / CUBE).read_bytes() == old
    assert finished.planned() == []
    assert finished.planned(*variant) == []
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


def test_from_another_folder_at_smoke_scale(toy, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    arguments = ["-s", str(toy.folder / "Snakefile"), "--config", "scale=smoke"]
    done = toy.snakemake("--cores", "2", *arguments, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (elsewhere / "results").iterdir()] == ["smoke"]
    # The same by an option of Snakemake.
    assert toy.planned("--directory", str(elsewhere), "--config", "scale=smoke") == []
    assert not (toy.folder / "results").exists()
    made = height(toy, elsewhere / "results/smoke/cubes/toy/growth_curve.nc")
    assert made.alpha.values.tolist() == [0.0, 0.2, 0.4, 0.6]
    for kind in ("logs", "benchmarks"):
        assert len([path for path in (elsewhere / "results/smoke" / kind).rglob("*") if path.is_file()]) == 4
    # A job is a line that a person can paste.
    assert re.search(
        r"python -m attention_limits run .*growth_curve.yaml'? --estimator growth --chunk \S+", done.stderr
    )
