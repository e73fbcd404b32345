import numpy as np
import pytest
import xarray as xr

from attention_limits.cli.reports import _unconverged

CHUNK = "alpha0-0.2_replicas0-2_b8a7d332"
SPEC = "config/experiments/toy/growth_curve.yaml"


def test_help_of_every_command(toy):
    text = toy.program("--help").stdout
    for command in ("run", "merge", "draw", "check", "list", "show"):
        assert command in text
        found = toy.program(command, "--help")
        assert found.returncode == 0
        assert "usage: attention-limits " + command in found.stdout


def test_help_loads_no_numerics(toy):
    toy.write("src/numpy.py", "raise SystemExit('numpy was imported')")
    assert toy.program("--help").returncode == 0
    assert toy.program("check", SPEC).returncode == 0
    assert toy.program("list").returncode == 0


def test_check(toy):
    good = toy.program("check", SPEC)
    assert (good.returncode, good.stderr) == (0, "")
    assert "laptop 16 points in 3 chunks" in good.stdout
    toy.edit(SPEC, "steps: 3", "steps: 0")
    toy.edit(SPEC, "replicas: 5", "replicas: -5")
    bad = toy.program("check", SPEC, "absent.yaml")
    assert bad.returncode == 2
    assert len(bad.stderr.splitlines()) == 3
    assert "estimators.growth.solver.steps: 0: allowed" in bad.stderr
    assert "scales.paper.estimators.growth.replicas: -5: allowed" in bad.stderr
    assert "absent.yaml: cannot be read" in bad.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", SPEC, "--estimator", "x"], "--estimator: 'x': allowed: growth, counting"),
        (
            ["run", SPEC, "--estimator", "growth", "--chunk", "x"],
            f"--chunk: 'x': not a chunk at scale laptop; allowed: {CHUNK}",
        ),
        (["run", SPEC, "--estimator", "growth", "--output", "x.nc"], "give --chunk too"),
        (["run", SPEC, "--estimator", "growth", "--threads", "0"], "invalid whole number ≥ 1 value: '0'"),
        (["run", SPEC, "--estimator", "growth", "--seed", "-1"], "invalid whole number ≥ 0 value"),
        (["run", SPEC, "--estimator", "growth", "--scale", "huge"], "invalid choice: 'huge'"),
        (["run", "absent.yaml", "--estimator", "growth"], "absent.yaml: cannot be read: No such file"),
        (["merge", "absent.yaml"], "absent.yaml: cannot be read: No such file"),
        (["show", "absent.nc"], "absent.nc: is missing"),
        (["draw", "toy_heights", "absent.nc", "--output", "x.pdf"], "absent.nc: is missing"),
        (["draw", "toy_heights", "absent.nc", "--output", "x.svg"], "must end in .pdf"),
        (["draw", "nothing", "absent.nc", "--output", "x.pdf"], "no module 'attention_limits.figures.nothing'"),
        (["list", "--project", "nowhere"], "no such folder"),
        (["nonsense"], "invalid choice: 'nonsense'"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(toy, arguments, message):
    found = toy.program(*arguments)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_an_unexpected_error_shows_where(toy):
    toy.edit("src/attention_limits/toy/line.py", "return", "1 / 0\n    return")
    found = toy.program("run", SPEC, "--estimator", "growth", "--chunk", CHUNK)
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr
    assert toy.chunks() == []


def test_a_kind_that_answers_something_else_is_refused(toy):
    toy.edit("src/attention_limits/experiments/toy/growth.py", '"replica": replicas', '"replica": [7, 8, 9]')
    found = toy.program("run", SPEC, "--estimator", "growth", "--chunk", CHUNK)
    assert found.returncode == 2
    assert "other values of replica than the [0, 1, 2] asked for" in found.stderr
    assert toy.chunks() == []


def test_chunks_that_are_damaged_or_of_another_seed_or_code_are_computed_anew(toy):
    run = ("run", SPEC, "--estimator", "growth")
    assert toy.program(*run).returncode == 0
    points = len(toy.computed())
    damaged = toy.folder / toy.chunks()[0]
    damaged.write_bytes(damaged.read_bytes()[:-100])
    assert toy.program(*run).stdout.count("is there") == len(toy.chunks()) - 1
    assert 0 < len(toy.computed()) < points
    for change in (lambda: None, lambda: toy.edit("src/attention_limits/toy/line.py", "gain * x", "gain * x * 2")):
        change()
        assert "is there" not in toy.program(*run, "--seed", "1").stdout
        assert len(toy.computed()) == points


def test_the_steps_by_hand(toy):
    for estimator in ("growth", "counting"):
        assert toy.program("run", SPEC, "--estimator", estimator).returncode == 0
    assert len(toy.computed()) == 16
    assert "is there" in toy.program("run", SPEC, "--estimator", "growth").stdout
    assert toy.computed() == []
    assert toy.program("merge", SPEC).returncode == 0
    cube = "results/cubes/toy/growth_curve.nc"
    shown = toy.program("show", cube).stdout
    assert "Growth of a toy" in shown
    assert "height ('estimator', 'alpha', 'replica')" in shown
    assert "8 of 24 missing" in shown
    assert "not converged" in shown
    summary = toy.program("summary").stdout
    assert f"  {cube}, counting\n" in summary
    assert "toy_heights" not in summary
    for name in ("one.pdf", "two.pdf"):
        assert toy.program("draw", "toy_heights", cube, "--output", name).returncode == 0
    for kind in ("pdf", "png"):
        assert (toy.folder / f"one.{kind}").read_bytes() == (toy.folder / f"two.{kind}").read_bytes()
    wrong = toy.program("draw", "toy_heights", str(toy.chunks()[0]), "--output", "x.pdf")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "needs the cube growth_curve" in wrong.stderr


def test_threads_reach_the_libraries(toy):
    toy.edit(
        "src/attention_limits/experiments/toy/growth.py",
        "import os\n",
        "import os\nassert os.environ['NUMBA_NUM_THREADS'] == '3'\n",
    )
    arguments = ["run", SPEC, "--estimator", "growth", "--chunk", CHUNK]
    assert toy.program(*arguments, "--threads", "3").returncode == 0
    assert toy.program(*arguments, "--threads", "2").returncode == 1


def test_every_variable_that_tells_of_convergence_is_counted():
    values = np.array([1.0, 0.0, np.nan])
    cube = xr.Dataset(
        {
            "held_converged": ("alpha", values, {"estimator": "held_overlap"}),
            "finite": ("alpha", values == 1, {"estimator": "sgd"}),
            "converged": (("estimator", "alpha"), np.stack([values, 1 - values])),
            "overlap": ("alpha", np.zeros(3)),
        },
        {"estimator": ["gamp", "solve"]},
    )
    assert _unconverged(cube) == [("held_overlap", 1, 2), ("sgd", 2, 3), ("gamp", 1, 2), ("solve", 1, 2)]
