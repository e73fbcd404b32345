"""The command line: files that it makes, lines that it prints, exit codes."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.__main__ import main
from attention_limits.cli.reports import failing
from toy import Toy, imported

CHUNK = "alpha0-0.2_replicas0-2_b8a7d332"
SPEC = "config/toy/experiments/growth_curve.yaml"
CUBE = "results/cubes/toy/growth_curve.nc"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A toy project whose family is imported in this process. No test changes its code."""
    with imported(Toy(tmp_path_factory.mktemp("cli") / "a project")) as toy:
        yield toy


@pytest.fixture
def program(project, monkeypatch, capsys):
    """Runs a command in the project: exit code, output, errors."""
    monkeypatch.chdir(project.folder)

    def run(*arguments):
        try:
            code = main([*arguments])
        except SystemExit as error:
            code = error.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.mark.parametrize(
    "command", ["run", "merge", "draw", "check", "list", "show", "summary", "estimate", "audit", "refine", "thresholds"]
)
def test_help(program, command):
    assert command in program("--help")[1]
    code, text, _ = program(command, "--help")
    assert (code, text.split("\n")[0].startswith(f"usage: attention-limits {command}")) == (0, True)


@pytest.mark.slow
def test_looking_loads_no_numerics(toy):
    # Python imports it first; an import of numpy then fails.
    toy.write("src/sitecustomize.py", "import sys; sys.modules['numpy'] = None")
    for arguments in (["--help"], ["check", SPEC], ["list"]):
        done = toy.program(*arguments)
        assert done.returncode == 0, done.stderr


def test_check(program, project):
    code, text, errors = program("check", SPEC)
    assert (code, errors) == (0, "")
    assert "laptop 16 points in 3 chunks" in text
    wrong = project.experiment.read_text().replace("steps: 3", "steps: 0").replace("replicas: 5", "replicas: -5")
    other = project.write("elsewhere/config/toy/experiments/wrong.yaml", wrong)
    code, _, errors = program("check", str(other), "config/toy/experiments/absent.yaml")
    assert (code, len(errors.splitlines())) == (2, 3)
    assert "estimators.growth.solver.steps: 0: allowed" in errors
    assert "scales.paper.estimators.growth.replicas: -5: allowed" in errors
    assert "absent.yaml: cannot be read" in errors


RUN = ["run", SPEC, "--estimator", "growth"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", SPEC, "--estimator", "x"], "--estimator: 'x': allowed: growth, counting"),
        ([*RUN, "--chunk", "x"], f"--chunk: 'x': not a chunk at scale laptop; allowed: {CHUNK}"),
        ([*RUN, "--output", "x.nc"], "give --chunk too"),
        ([*RUN, "--threads", "0"], "invalid whole number ≥ 1 value: '0'"),
        ([*RUN, "--seed", "-1"], "invalid whole number ≥ 0 value"),
        ([*RUN, "--scale", "huge"], "invalid choice: 'huge'"),
        ([*RUN, "--set", "[1]"], "invalid JSON mapping value: '[1]'"),
        (
            [*RUN, "--set", '{"toy": {"steep": {"gain": 1}}}'],
            "set: steep: not in config/toy/models.yaml, and no experiment; allowed: models: none; or an experiment of "
            "config/toy/experiments",
        ),
        ([*RUN, "--gain", "3"], "unrecognized arguments: --gain 3"),
        (
            ["run", "config/toy/experiments/absent.yaml", "--estimator", "growth"],
            "absent.yaml: cannot be read: No such",
        ),
        (["run", "absent.yaml", "--estimator", "growth"], "absent.yaml: cannot be read: No such file"),
        (["run", "config/config.yaml", "--estimator", "growth"], "config/config.yaml: the folder "),
        (["merge", "config/toy/experiments/absent.yaml"], "absent.yaml: cannot be read: No such file"),
        (["show", "absent.nc"], "absent.nc: is missing"),
        (["draw", "toy/heights", "absent.nc", "--output", "x.pdf"], "absent.nc: is missing"),
        (["draw", "toy/heights", "absent.nc", "--output", "x.svg"], "must end in .pdf"),
        (["draw", "toy/x", "absent.nc", "--output", "x.pdf"], "no module attention_limits.toy.figures.x"),
        (["list", "--project", "nowhere"], "no such folder"),
        (["list", "--set", '{"tyo": {}}'], "set: 'tyo': no folder config/tyo/experiments"),
        (["nonsense"], "invalid choice: 'nonsense'"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(program, arguments, message):
    code, text, errors = program(*arguments)
    assert code == 2
    assert message in errors
    assert text == ""


def test_the_steps_by_hand(program, project):
    for estimator in ("growth", "counting"):
        assert program("run", SPEC, "--estimator", estimator)[0] == 0
    assert len(project.computed()) == 16
    assert program(*RUN)[1].count(": exists") == 2
    assert project.computed() == []
    assert program("merge", SPEC)[0] == 0
    code, shown, _ = program("show", CUBE)
    assert code == 0
    for text in ("Growth of a toy", " height(estimator, alpha, replica) ;", "points of growth fail"):
        assert text in shown
    summary = program("summary")[1]
    assert f"  {CUBE}, counting\n" in summary
    assert "toy_heights" not in summary
    for name in ("one.pdf", "two.pdf"):
        assert program("draw", "toy/heights", CUBE, "--output", name)[0] == 0
    for kind in ("pdf", "png"):
        assert (project.folder / f"one.{kind}").read_bytes() == (project.folder / f"two.{kind}").read_bytes()
    code, _, errors = program("draw", "toy/heights", str(project.chunks()[0]), "--output", "x.pdf")
    assert (code, len(errors.splitlines())) == (2, 1)
    assert "needs the cube growth_curve" in errors


def test_chunks_that_are_damaged_or_of_another_seed_are_computed_anew(program, project):
    run = (*RUN, "--results", "others")
    assert program(*run)[0] == 0
    chunks = sorted(project.folder.glob("others/chunks/*/*/growth/*.nc"))
    assert (len(chunks), len(project.computed())) == (2, 12)
    chunks[0].write_bytes(chunks[0].read_bytes()[:-100])
    assert program(*run)[1].count(": exists") == 1
    assert len(project.computed()) == 6
    assert ": exists" not in program(*run, "--seed", "1")[1]
    assert len(project.computed()) == 12


def test_changes_of_models(program, project):
    project.write("config/toy/models.yaml", "steep: {gain: 2.0}\n")
    spec = project.write(
        "config/toy/experiments/named.yaml", project.experiment.read_text().replace("{gain: 2.0}", "steep")
    )
    try:
        run = ("run", str(spec), "--estimator", "counting", "--results", "variants")
        assert program(*run)[0] == 0
        project.computed()
        changed = ("--set", '{"toy": {"steep": {"gain": 4.0}}}')
        assert ": exists" not in program(*run, *changed)[1]
        assert len(project.computed()) == 4
        (file,) = project.folder.glob("variants/chunks/toy/named/counting/*.nc")
        with xr.open_dataset(file) as chunk:
            assert '"gain": 4.0' in chunk.attrs["spec"]
        code, _, errors = program("merge", str(spec), "--results", "variants", *changed)
        assert code == 2
        # The command that makes a missing chunk carries the change.
        assert """--config scale=laptop seed=0 results=variants 'set={"toy": {"steep": {"gain": 4.0}}}'""" in errors
    finally:
        spec.unlink()
        (project.folder / "config/toy/models.yaml").unlink()


@pytest.mark.slow
def test_errors_of_the_code_of_an_estimator(toy):
    one = ["run", SPEC, "--estimator", "growth", "--chunk", CHUNK]
    # Threads reach the libraries.
    growth = "src/attention_limits/toy/estimators/growth.py"
    toy.edit(growth, "import os\n", "import os\nassert os.environ['NUMBA_NUM_THREADS'] == '3'\n")
    assert toy.program(*one, "--threads", "3").returncode == 0
    assert toy.program(*one, "--threads", "2").returncode == 1
    toy.chunks()[0].unlink()
    # An unexpected error shows where.
    toy.edit("src/attention_limits/toy/line.py", "return", "1 / 0\n    return")
    found = toy.program(*one, "--threads", "3")
    assert found.returncode == 1
    assert "ZeroDivisionError" in found.stderr
    toy.edit("src/attention_limits/toy/line.py", "1 / 0\n    return", "return")
    # A dataset of other points is refused.
    toy.edit(growth, '"replica": replicas', '"replica": [7, 8, 9]')
    found = toy.program(*one, "--threads", "3")
    assert found.returncode == 2
    assert "other values of replica than the requested [0, 1, 2]" in found.stderr
    assert toy.chunks() == []


def test_every_flag_is_counted():
    values = np.array([1.0, 0.0, np.nan])
    cube = xr.Dataset(
        {
            "held_converged": ("alpha", values, {"estimator": "held_overlap"}),
            "finite": ("alpha", values == 1, {"estimator": "sgd"}),
            "converged": (("estimator", "alpha"), np.stack([values, 1 - values])),
            "resolved": ("alpha", [0.94, 0.95, 1.0]),
            "unique": ("alpha", np.zeros(3)),
            "overlap": ("alpha", np.zeros(3)),
        },
        {"estimator": ["gamp", "solve"]},
    )
    assert failing(cube) == [
        ("held_overlap", "held_converged", 1, 2), ("sgd", "finite", 2, 3), ("gamp", "converged", 1, 2),
        ("solve", "converged", 1, 2), ("", "resolved", 1, 3),
    ]  # fmt: skip
