"""A mistake has the same message in a file, in Python and in the shell, and all three refuse it before any compute."""

import json

import pytest
import yaml

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import SpecError

FAMILY, NAME = "attention_indexed", "state_evolution"
MODEL, GRID = {"tokens": 2, "ratio": 0.5, "channel": "linear"}, {"alpha": [0.1]}


def in_a_file(folder, model, grid, solver, replicas, capsys):
    """The problems of an experiment file with the same meaning, without the place in the file."""
    path = folder / "config" / FAMILY / "experiments" / "interactive.yaml"
    path.parent.mkdir(parents=True)
    axes = {key: values if isinstance(values, dict) else {"values": values} for key, values in grid.items()}
    estimators = {NAME: {"grid": axes, "solver": solver, "replicas": replicas}}
    text = {"title": "Asked", "description": "Asked.", "model": model, "estimators": estimators}
    path.write_text(yaml.safe_dump(text))
    assert main(["check", str(path)]) == 2
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix(f"attention-limits: {path}: ").removeprefix(f"estimators.{NAME}.") for line in lines]


def in_the_shell(model, grid, solver, replicas, capsys):
    keys = {**model, **grid, **solver}
    words = [
        word
        for key, value in keys.items()
        for word in (f"--{key}", value if isinstance(value, str) else json.dumps(value).strip("[]").replace(" ", ""))
    ]
    assert main(["compute", f"{FAMILY}.{NAME}", *words, "--replicas", str(replicas)]) == 2
    return [line.removeprefix("attention-limits: ") for line in capsys.readouterr().err.splitlines()]


@pytest.mark.parametrize(
    ("model", "grid", "key"),
    [
        ({**MODEL, "channel": "linaer"}, GRID, "model.channel"),
        ({**MODEL, "tokens": 0}, GRID, "model.tokens"),
        ({**MODEL, "tokens": 2.5}, GRID, "model.tokens"),
        ({**MODEL, "ratio": "half"}, GRID, "model.ratio"),
        ({**MODEL, "ratio": True}, GRID, "model.ratio"),
        ({**MODEL, "width": 1}, GRID, "model.width"),
        ({"tokens": 2, "ratio": 0.5}, GRID, "model.channel"),
        (MODEL, {"alpha": [-0.5]}, "grid.alpha"),
        (MODEL, {"alpha": [0.2, 0.1]}, "grid.alpha"),
        (MODEL, {"alpha": [0.1, 0.1]}, "grid.alpha"),
        (MODEL, {}, "grid.alpha"),
        ({**MODEL, "tokens": 0, "ratio": -1, "width": 1}, {"alpha": [1001]}, "model.width"),
    ],
)
def test_the_same_message(model, grid, key, tmp_path, capsys):
    with pytest.raises(SpecError) as caught:
        al.compute(f"{FAMILY}.{NAME}", model, grid)
    said = caught.value.problems
    assert any(line.startswith(f"{key}: ") for line in said)
    assert said == in_a_file(tmp_path, model, grid, {}, 1, capsys)
    assert said == in_the_shell(model, grid, {}, 1, capsys)


@pytest.mark.parametrize(("solver", "replicas"), [({}, 0), ({"nodes": 8}, 1)])
def test_the_same_message_about_replicas_and_solvers(solver, replicas, tmp_path, capsys):
    with pytest.raises(SpecError) as caught:
        al.compute(f"{FAMILY}.{NAME}", MODEL, GRID, solver=solver, replicas=replicas)
    assert list(caught.value.problems) == in_a_file(tmp_path, MODEL, GRID, solver, replicas, capsys)
