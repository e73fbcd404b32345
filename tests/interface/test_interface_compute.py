"""`compute` gives the numbers of the workflow, finds its points, and refuses what a file could not say."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
import yaml

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.pipeline.errors import CubeError, SpecError

NAME = "attention_indexed.state_evolution"
MODEL = {"tokens": 2, "ratio": 0.5, "channel": "linear"}
GRID = {"alpha": np.linspace(0.0, 0.2, 3)}
ALPHAS = [0.0, 0.1, 0.2]


@pytest.fixture(scope="module")
def cube():
    return al.compute(NAME, MODEL, GRID)


def experiment(folder, **keys):
    """An experiment file in a project below `folder`, with the same meaning as the call of the fixture `cube`."""
    path = folder / "config" / "attention_indexed" / "experiments" / "interactive.yaml"
    path.parent.mkdir(parents=True)
    estimators = {"state_evolution": {"grid": {"alpha": {"start": 0.0, "stop": 0.2, "num": 3}}, **keys}}
    text = {"title": "Asked", "description": "Asked.", "model": MODEL, "estimators": estimators}
    path.write_text(yaml.safe_dump(text))
    return path


def test_the_workflow_gives_the_same_numbers(cube, tmp_path):
    file, results = str(experiment(tmp_path)), str(tmp_path / "results")
    assert main(["run", file, "--estimator", "state_evolution", "--results", results]) == 0
    assert main(["merge", file, "--results", results]) == 0
    merged = al.open(tmp_path / "results" / "cubes" / "attention_indexed" / "interactive.nc")
    assert cube.attrs["data_digest"] == merged.attrs["data_digest"]
    xr.testing.assert_equal(cube, merged)
    assert cube.alpha.values.tolist() == ALPHAS


def test_a_folder_of_results_is_shared_with_the_workflow(cube, tmp_path, capsys):
    results = tmp_path / "results"
    kept = al.compute(NAME, MODEL, {"alpha": [0.0, 0.2]}, folder=results)
    assert kept.alpha.values.tolist() == [0.0, 0.2]
    capsys.readouterr()
    file = experiment(tmp_path)
    assert main(["run", str(file), "--estimator", "state_evolution", "--results", str(results)]) == 0
    assert "1 points computed, 2 taken from other chunks" in capsys.readouterr().out
    longer = al.compute(NAME, MODEL, GRID, folder=results)
    xr.testing.assert_equal(longer, cube)
    # A damaged file is not current, and is made again.
    damaged = sorted((results / "chunks").rglob("*.nc"))[0]
    damaged.write_bytes(b"")
    xr.testing.assert_equal(al.compute(NAME, MODEL, GRID, folder=results), cube)


@pytest.mark.slow
def test_several_processes_and_data_give_the_same_numbers(tmp_path):
    call = {
        "model": {"link": "phase_retrieval", "noise": 0.5},
        "grid": {"alpha": [0.5, 2.0]},
        "replicas": 2,
        "solver": {"max_iterations": 5},
        "data": {"gaussian_sequences": {"dimension": 20}},
    }
    one = al.compute("sequence_multi_index.gamp", **call)
    two = al.compute("sequence_multi_index.gamp", **call, workers=2)
    xr.testing.assert_equal(one, two)
    assert one.sizes["replica"] == 2


def test_all_problems_are_reported_before_any_compute():
    with pytest.raises(SpecError) as caught:
        al.compute(NAME, {**MODEL, "channel": "linaer", "x": 1}, {"alpha": [1.0, 0.5], "beta": 2.0}, solver={"y": 1})
    found = caught.value.problems
    assert [line.partition(":")[0] for line in found] == [
        "grid.alpha",
        "grid.beta",
        "model.channel",
        "solver.y",
        "model.x",
    ]
    assert '"linaer": allowed: one of "linear", "softmax"' in "\n".join(found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("nowhere.gamp",), "nowhere.gamp: no such family"),
        (("potts_mlm.gamp",), "potts_mlm.gamp: no such estimator; allowed: equilibrium"),
        ((NAME, "two_layers"), "model: 'two_layers': not in models.yaml; allowed: none"),
    ],
)
def test_names_that_do_not_exist(call, message, tmp_path):
    with pytest.raises(SpecError, match=message):
        al.compute(*call, grid=GRID, project=tmp_path)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"workers": 0}, {"replicas": 0}, {"replicas": 1.5}])
def test_numbers_out_of_range(wrong):
    with pytest.raises(SpecError, match=next(iter(wrong))):
        al.compute(NAME, MODEL, GRID, **wrong)


def test_open_refuses_a_foreign_file(cube, tmp_path):
    cube.drop_attrs().to_netcdf(tmp_path / "foreign.nc")
    with pytest.raises(CubeError, match="was not written by attention-limits"):
        al.open(tmp_path / "foreign.nc")


def test_the_import_is_light():
    """numpy, numba and the like come when something is asked for."""
    heavy = "{'numpy', 'numba', 'scipy', 'xarray', 'pandas', 'jax', 'matplotlib'}"
    code = (
        f"import sys, attention_limits as al; assert 'compute' in al.__all__; print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = al.nothing_of_this_name
    assert all(callable(getattr(al, name)) for name in al.__all__)
