"""The workflow as a whole, on the toy family: what runs, what runs again, and what does not."""

import os
import signal
import subprocess
import time

import pytest
import xarray as xr

from toy import Toy

CUBE = "results/cubes/toy/growth_curve.nc"
DRAW = "draw results/figures/toy/toy_heights.pdf"
MERGE = "toy/growth_curve: merge"
GROWTH = "toy/growth_curve: growth"
COUNTING = "toy/growth_curve: counting"


def height(toy, path=CUBE):
    with xr.open_dataset(toy.folder / path) as cube:
        return cube.height.load()


def states(toy):
    """What `list` says of the cube and of the figure."""
    return dict(line.split()[:2] for line in toy.program("list").stdout.splitlines())


def test_one_command_makes_everything_and_a_second_nothing(finished):
    assert len(finished.chunks()) == 3
    for name in (CUBE, "results/figures/toy/toy_heights.pdf", "results/figures/toy/toy_heights.png"):
        assert (finished.folder / name).stat().st_size > 1000
    assert finished.planned() == []
    assert finished.planned("toy_heights", "toy") == []
    assert states(finished) == {"cube": "complete", "figure": "complete"}
    assert height(finished).sizes == {"estimator": 2, "alpha": 4, "replica": 3}


def test_only_the_dependants_of_an_edit_run_again(finished):
    finished.edit("src/attention_limits/toy/line.py", '"""Up."""', '"""Along."""  # and a comment')
    finished.edit("config/toy/experiments/growth_curve.yaml", "title:", "# a comment\ntitle:")
    assert finished.planned() == []
    finished.edit("src/attention_limits/toy/line.py", "gain * x", "gain * (x + 1)")
    assert finished.planned() == [DRAW, GROWTH, GROWTH, MERGE]
    assert states(finished) == {"cube": "stale", "figure": "stale"}


def test_only_the_figure_is_drawn_again_after_an_edit_to_it(finished):
    # Whether a figure is current is told by what it is made of, not by the dates of files.
    figure = finished.folder / "results/figures/toy/toy_heights.png"
    os.utime(figure, (0, 0))
    assert states(finished) == {"cube": "complete", "figure": "complete"}
    finished.edit("src/attention_limits/toy/figures/heights.py", "figure.subplots()", "figure.subplots(1)")
    assert finished.planned() == [DRAW]
    os.utime(figure)
    assert states(finished) == {"cube": "complete", "figure": "stale"}
    finished.write("src/attention_limits/toy/figures/heights.rst", "Another caption.\n")
    finished.edit("src/attention_limits/toy/figures/heights.py", "figure.subplots(1)", "figure.subplots()")
    assert finished.planned() == [DRAW]


def test_a_solver_parameter_touches_its_estimator_alone(finished):
    finished.edit("config/toy/experiments/growth_curve.yaml", "1.0e-6", "1.0e-5")
    assert finished.planned() == [DRAW, COUNTING, MERGE]


def test_another_family_touches_nothing(finished):
    for name, text in {
        "src/attention_limits/experiments/other/__init__.py": "",
        "src/attention_limits/experiments/other/growth.py": "from attention_limits.toy.line import line\n",
        "src/attention_limits/variables/other.py": "SOURCE = ''\nCOORDINATES = ()\nVARIABLES = ()\n",
        "src/attention_limits/figures/other_plot.py": "",
        "config/schemas/other/growth.json": (finished.folder / "config/schemas/toy/growth.json").read_text(),
        "config/experiments/other/curve.yaml": "title: x\ndescription: x\nmodel: {gain: 1}\n"
        "estimators: {growth: {grid: {alpha: {values: [1]}}, solver: {steps: 1}}}\n",
        "config/figures_other.yaml": "other_plot: {family: other, title: x, module: other_plot, cubes: [curve]}\n",
        "workflow/report/other_plot.rst": "x\n",
    }.items():
        finished.write(name, text)
    assert finished.planned("toy") == []
    new = ["draw results/figures/other/other_plot.pdf", "other/curve: growth", "other/curve: merge"]
    assert finished.planned() == new
    assert finished.planned("--config", "families=[toy]") == []


def test_more_replicas_and_more_grid_values_compute_what_is_missing(finished):
    before = {path: path.read_bytes() for path in finished.chunks()}
    old = height(finished)
    done = finished.snakemake(CUBE, "--config", "scale=paper")
    assert done.returncode == 0, done.stderr
    assert finished.computed() == sorted(f"growth {alpha} {r}" for alpha in ("0", "0.2", "0.4", "0.6") for r in (3, 4))
    new = height(finished)
    xr.testing.assert_identical(new.sel(replica=[0, 1, 2]).drop_attrs(), old.drop_attrs())
    assert not new.sel(estimator="growth").isnull().any()
    # The two scales share their chunks: none of either is stale.
    assert finished.program("list", "--stale").stdout == ""
    # Nor is any of a results folder of another name.
    (finished.folder / "elsewhere").symlink_to(finished.folder / "results")
    assert finished.program("list", "--stale", "--results", "elsewhere").stdout == ""

    finished.edit("config/toy/experiments/growth_curve.yaml", "num: 4", "num: 7")
    finished.edit("config/toy/experiments/growth_curve.yaml", "chunk: {alpha: 2}", "chunk: {alpha: 5, replicas: 2}")
    done = finished.snakemake(CUBE)
    assert done.returncode == 0, done.stderr
    assert finished.computed() == [f"growth {alpha} {r}" for alpha in (0.1, 0.3, 0.5) for r in range(3)]
    newest = height(finished)
    xr.testing.assert_identical(newest.sel(alpha=old.alpha).drop_attrs(), old.drop_attrs())
    assert all(path.read_bytes() == content for path, content in before.items() if path.exists())

    stale = finished.program("list", "--stale").stdout.split()
    assert stale
    for path in stale:
        (finished.folder / path).unlink()
    assert finished.planned(CUBE) == []


def test_the_same_bytes_on_one_core_and_in_other_chunks(finished, tmp_path):
    other = Toy(tmp_path / "other")
    other.edit("config/toy/experiments/growth_curve.yaml", "chunk: {alpha: 2}", "chunk: {alpha: 5, replicas: 2}")
    done = other.snakemake("--cores", "1", CUBE)
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(finished.folder / CUBE) as one, xr.open_dataset(other.folder / CUBE) as two:
        assert one.attrs["data_digest"] == two.attrs["data_digest"]
    assert (finished.folder / CUBE).read_bytes() == (other.folder / CUBE).read_bytes()


def test_killed_in_the_middle_and_resumed(finished, tmp_path):
    killed = Toy(tmp_path / "killed")
    command = [killed.python, "-m", "snakemake", "--cores", "2", CUBE]
    running = subprocess.Popen(
        command,
        cwd=killed.folder,
        env=killed.environment(TOY_SLEEP="0.4"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        # On two cores the third job starts, and opens its log, once Snakemake has taken note that one is finished.
        deadline = time.monotonic() + 600
        while len(list(killed.folder.glob("results/logs/chunks/**/*.log"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    kept = killed.chunks()
    assert 0 < len(kept) < 3
    before = {path: path.stat().st_mtime_ns for path in kept}
    killed.computed()
    unlocked = killed.snakemake("--unlock")
    assert unlocked.returncode == 0, unlocked.stderr
    done = killed.snakemake(CUBE)
    assert done.returncode == 0, done.stderr
    assert (killed.folder / CUBE).read_bytes() == (finished.folder / CUBE).read_bytes()
    assert len(killed.computed()) < 16
    assert any(path.stat().st_mtime_ns == when for path, when in before.items())


def test_a_wrong_specification_stops_before_any_job(toy):
    toy.edit("config/toy/experiments/growth_curve.yaml", "steps: 3", "steps: 1e3")
    found = toy.snakemake()
    assert found.returncode != 0
    assert "estimators.growth.solver.steps: YAML reads 1e3 as text; write 1.0e+3" in found.stderr
    assert "Traceback" not in found.stderr
    assert not (toy.folder / "results").exists()
    toy.edit("config/toy/experiments/growth_curve.yaml", "steps: 1e3", "steps: 3")
    found = toy.snakemake("-n", "--config", "scala=paper", "seed=-1")
    assert found.returncode != 0
    assert "scala: unknown key; allowed: families, project, results, scale, seed" in found.stderr
    assert "seed: -1: allowed: a whole number ≥ 0" in found.stderr


def test_from_another_folder_at_smoke_scale_with_a_report(toy, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    arguments = ["-s", str(toy.folder / "Snakefile"), "--config", "scale=smoke"]
    done = toy.snakemake(*arguments, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (elsewhere / "results").iterdir()] == ["smoke"]
    assert not (toy.folder / "results").exists()
    assert height(toy, elsewhere / "results/smoke/cubes/toy/growth_curve.nc").alpha.values.tolist() == [
        0.0,
        0.2,
        0.4,
        0.6,
    ]
    for kind in ("logs", "benchmarks"):
        assert len([path for path in (elsewhere / "results/smoke" / kind).rglob("*") if path.is_file()]) == 4
    unreachable = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    reported = toy.snakemake(*arguments, "--report", "report.html", cwd=elsewhere, **unreachable)
    assert reported.returncode == 0, reported.stderr
    report = (elsewhere / "report.html").read_text()
    assert "Heights of the toy." in report
    assert "estimators" in report
    assert report.count("data:image/png") + report.count("image/png") >= 1


LAYOUT = ("layout.py", "combine.py", "variables/record.py", "variables/shared.py", "variables/toy.py")
NUMBERS = (
    "rng.py",
    "files.py",
    "toy/line.py",
    "toy/curve.py",
    "experiments/toy/growth.py",
    "experiments/toy/counting.py",
)
DRAWING = ("figures/toy_heights.py",)


def edited(toy, name):
    path = toy.source / name
    path.write_text(path.read_text(encoding="utf-8") + "\nEDITED = 1\n", encoding="utf-8")


def test_an_edit_of_what_decides_no_bytes_makes_no_work(finished):
    """Each module of the package that is named above has dependants; no other has any."""
    known = {finished.source / name for name in (*LAYOUT, *NUMBERS, *DRAWING)}
    others = [path for path in finished.source.rglob("*.py") if path not in known and path.name != "__init__.py"]
    names = {str(path.relative_to(finished.source)) for path in others}
    assert names >= {"errors.py", "schema.py", "yaml_reader.py", "project.py", "cubes.py", "merge.py", "chunks.py"}
    assert names >= {
        "spec.py",
        "document.py",
        "digests.py",
        "provenance.py",
        "damage.py",
        "cli/making.py",
        "__main__.py",
    }
    for name in names:
        edited(finished, name)
    # A message, as it happens.
    finished.edit("src/attention_limits/project.py", "no such folder", "there is no such folder")
    assert finished.planned() == []
    assert states(finished) == {"cube": "complete", "figure": "complete"}


@pytest.mark.parametrize("name", LAYOUT)
def test_an_edit_of_the_layout_of_cubes_merges_and_draws(finished, name):
    edited(finished, name)
    assert finished.planned() == [DRAW, MERGE]


def test_an_edit_of_the_random_streams_computes_everything(finished):
    edited(finished, "rng.py")
    assert finished.planned() == [DRAW, COUNTING, GROWTH, GROWTH, MERGE]
