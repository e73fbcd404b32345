"""Every argument of every public function refuses a value of a wrong type in one line that names the argument."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import attention_limits as al
from attention_limits.pipeline.base.errors import CubeError, SpecError

NAME, MODEL, GRID = (
    "attention_indexed.state_evolution",
    {"channel": "linear", "tokens": 2, "ratio": 0.5},
    {"alpha": [0.1]},
)
CUBE = xr.Dataset({"mmse": (("alpha", "replica"), [[0.5]])}, {"alpha": [0.1], "replica": [0]}, {"spec": "{}"})
CALLS = {
    al.compute: ({"estimator": NAME, "model": MODEL, "grid": GRID}, ["project", "folder"]),
    al.open: ({"path": "cube.nc"}, ["path"]),
    al.plot: ({"cube": CUBE, "y": "mmse"}, ["y", "x", "color", "panel"]),
    al.table: ({"cube": CUBE}, ["variables"]),
    al.explore: ({"cubes": CUBE, "output": "cubes.html"}, ["cubes", "output", "project"]),
    al.thresholds: ({"model": MODEL}, ["project"]),
    al.describe: ({"estimator": NAME}, []),
}
OTHERS = {
    al.compute: [
        "estimator",
        "model",
        "grid",
        "replicas",
        "seed",
        "solver",
        "data",
        "experiment",
        "workers",
        "finished",
    ],
    al.open: [],
    al.plot: ["cube"],
    al.table: ["cube", "aggregate"],
    al.explore: [],
    al.thresholds: ["model", "solver", "replicas", "seed"],
    al.describe: ["estimator"],
}
# No argument takes one of these.
WRONG = [3.5, b"x", 1j, slice(3), np.bool_(True), np.array("a"), datetime.date(2026, 1, 1), pd.DataFrame({1: [1]})]
CASES = [(call, key) for call, (_, paths) in CALLS.items() for key in [*paths, *OTHERS[call]]]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("call", "key"), CASES, ids=lambda item: getattr(item, "__name__", item))
def test_a_wrong_type(call, key, value):
    with pytest.raises(SpecError) as caught:
        call(**{**CALLS[call][0], key: value})
    (line,) = caught.value.problems[:1]
    assert "\n" not in line
    assert len(line) < 700


@pytest.mark.parametrize("value", ["", "x\0y", "a" * 5000])
@pytest.mark.parametrize(
    ("call", "key"),
    [(call, key) for call, (_, paths) in CALLS.items() for key in paths if key in ("path", "project", "folder")],
)
def test_what_can_be_no_path(call, key, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((SpecError, CubeError), match=f"^{key}: "):
        call(**{**CALLS[call][0], key: value})


@pytest.mark.parametrize(
    ("data", "reason"),
    [({"a": {}}, "reads no data"), ({"gaussian_sequences": 3}, "one kind of data"), ({"a": {}, "b": {}}, "one kind")],
)
def test_data_that_nothing_reads(data, reason):
    name = NAME if "reads" in reason else "sequence_multi_index.gamp"
    with pytest.raises(SpecError, match=f"^data: .*{reason}"):
        al.compute(name, {}, GRID, data=data)


def test_a_bare_name_is_a_link_or_a_channel(tmp_path):
    """Like `al.thresholds`; a name of models.yaml comes first."""
    with pytest.raises(SpecError, match=r"^model.tokens: missing"):
        al.compute(NAME, "softmax", {**GRID, "ratio": [0.5]})
    with pytest.raises(SpecError, match=r"^model: no link 'phase_retrievel'.*did you mean phase_retrieval"):
        al.compute("sequence_multi_index.state_evolution", "phase_retrievel", GRID)
    models = tmp_path / "config" / "sequence_multi_index" / "models.yaml"
    models.parent.mkdir(parents=True)
    models.write_text("mine: {link: phase_retrieval, noise: -1}\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"^model.noise: -1"):
        al.compute("sequence_multi_index.state_evolution", "mine", GRID, project=tmp_path)
    with pytest.raises(SpecError, match=r"^model: 'mines': not in models.yaml.*did you mean mine"):
        al.compute("sequence_multi_index.state_evolution", "mines", GRID, project=tmp_path)


def test_a_folder_that_takes_no_files_is_refused_before_the_computation():
    if not Path("/proc/self").exists():
        pytest.skip("no /proc")
    with pytest.raises(PermissionError, match="'/proc'"):
        al.compute(NAME, MODEL, GRID, folder="/proc/results")
