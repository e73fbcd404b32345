"""`compute` gives the numbers of the workflow, finds its points, and refuses arguments that a file cannot express."""

import os
import signal
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from importlib import metadata

import numpy as np
import pytest
import xarray as xr
import yaml

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.interface import compute, workers
from attention_limits.pipeline.base.errors import CubeError, SpecError

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


def asked(**more):
    """A cheap call with replicas."""
    grid = {"gamma": 3.0, "ridge": 0.1, "alpha": [0.5, 2.0]}
    return al.compute("potts_mlm.ridge_simulation", {}, more.pop("grid", grid), solver={"sites": 20}, **more)


def test_more_replicas_and_a_longer_grid_compute_only_what_is_new(tmp_path, monkeypatch):
    computed, run_chunk = [], workers.run_chunk
    monkeypatch.setattr(workers, "run_chunk", lambda *job: computed.append(run_chunk(*job)))
    few = asked(replicas=2, folder=tmp_path)
    assert sum(computed) == 4
    many = asked(replicas=5, folder=tmp_path)
    assert sum(computed) == 4 + 6
    xr.testing.assert_equal(many.sel(replica=[0, 1]), few)
    longer = asked(grid={"gamma": 3.0, "ridge": 0.1, "alpha": [0.5, 1.0, 2.0]}, replicas=5, folder=tmp_path)
    assert sum(computed) == 4 + 6 + 5
    xr.testing.assert_equal(longer.sel(alpha=[0.5, 2.0]), many)
    # All points exist, although the calls computed them in another order.
    asked(replicas=5, folder=tmp_path)
    assert sum(computed) == 15
    xr.testing.assert_equal(asked(replicas=5), many)


def test_points_of_the_workflow_are_found(tmp_path, monkeypatch):
    file, results = str(experiment(tmp_path)), str(tmp_path / "results")
    assert main(["run", file, "--estimator", "state_evolution", "--results", results]) == 0
    computed, run_chunk = [], workers.run_chunk
    monkeypatch.setattr(workers, "run_chunk", lambda *job: computed.append(run_chunk(*job)))
    al.compute(NAME, MODEL, {"alpha": [*ALPHAS, 0.25]}, folder=results)
    assert computed == [1]


KILLED = """\
import os, signal, sys
import attention_limits as al

grid = {"gamma": 3.0, "ridge": 0.1, "alpha": [0.5, 2.0]}
stop = lambda part, done, total: os.kill(os.getpid(), signal.SIGKILL) if done == 4 else None
al.compute("potts_mlm.ridge_simulation", {}, grid, solver={"sites": 20}, replicas=5, folder=sys.argv[1], finished=stop)
"""


@pytest.mark.slow
def test_a_killed_call_goes_on_where_it_was(tmp_path, monkeypatch):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.rglob("*.nc"))) == 2
    computed, run_chunk = [], workers.run_chunk
    monkeypatch.setattr(workers, "run_chunk", lambda *job: computed.append(run_chunk(*job)))
    again = asked(replicas=5, folder=tmp_path)
    assert computed == [2, 2, 2]
    xr.testing.assert_equal(again, asked(replicas=5))


READING = {
    "model": {"link": "phase_retrieval", "noise": 0.5},
    "grid": {"alpha": [0.5, 2.0]},
    "replicas": 2,
    "solver": {"max_iterations": 5},
    "data": {"gaussian_sequences": {"dimension": 20}},
}
PROGRAM = f"""\
import os
import attention_limits as al

print("started")
cube = al.compute("sequence_multi_index.gamp", **{READING}, workers=2)
print(cube.attrs["data_digest"], os.environ.get("OMP_NUM_THREADS"))
"""


@pytest.mark.slow
def test_two_processes_give_the_same_bytes_also_in_a_program_without_a_guard(tmp_path):
    """Data too. A new process does not execute the program again, and its threads do not stay with the caller."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, env=environment)
    one = al.compute("sequence_multi_index.gamp", **READING)
    assert done.stdout == f"started\n{one.attrs['data_digest']} 3\n"


@pytest.mark.parametrize(
    ("grid", "replicas", "workers", "chunks"),
    [
        ({"alpha": {"start": 0.01, "stop": 1.0, "num": 20}}, 1, 2, 20),
        ({"alpha": {"start": 0.01, "stop": 1.0, "num": 10_000}}, 1, 2, 64),
        ({"alpha": {"start": 0.01, "stop": 1.0, "num": 10_000}}, 1, 16, 64),
        ({"alpha": {"start": 0.01, "stop": 1.0, "num": 10_000}}, 1, 50, 200),
        ({"alpha": np.linspace(0.01, 1.0, 100_000)}, 1, 2, 64),
        # 10 values of the first key, and the second one in 6 blocks.
        ({"alpha": np.linspace(0.01, 1.0, 10), "ratio": np.linspace(0.1, 1.0, 500)}, 1, 2, 60),
        ({"alpha": np.linspace(0.01, 1.0, 100)}, 2, 3, 50),
        # Whole grids, if the replicas are enough.
        ({"alpha": np.linspace(0.01, 1.0, 100)}, 5, 3, 5),
        ({"alpha": [0.5]}, 10_000, 2, 64),
        ({"alpha": [0.5]}, 1, 2, 1),
    ],
)
def test_several_workers_share_a_limited_number_of_chunks(grid, replicas, workers, chunks):
    """Enough for all workers, and few: each costs some time."""
    family, name = compute.family_and_name("attention_indexed.matrix_amp")
    model = {"tokens": 2, "ratio": 0.5, "channel": "linear"}
    model = {key: value for key, value in model.items() if key not in grid}
    document = compute._document(family, name, model, grid, replicas, None, None, workers)
    task = compute.Task("config/attention_indexed/experiments/interactive.yaml", document, 0, results="")
    found = task.experiment().estimators[name].chunks
    assert len(found) == chunks
    assert sum(chunk.size for chunk in found) == replicas * np.prod(
        [compute._length(axis) for axis in document["estimators"][name]["grid"].values()]
    )
    assert max(chunk.size for chunk in found) <= 2 * min(chunk.size for chunk in found[:-1] or found)


@pytest.mark.slow
def test_a_long_grid_has_the_same_bytes_with_any_number_of_workers(tmp_path, monkeypatch):
    """Blocks of three and two points; a call with other blocks takes what it finds."""
    grid = {"gamma": 3.0, "ridge": 0.1, "alpha": np.linspace(0.1, 2.0, 150)}
    one, two = asked(grid=grid), asked(grid=grid, workers=2, folder=tmp_path)
    assert len(list(tmp_path.rglob("*.nc"))) == 50
    assert one.attrs["data_digest"] == two.attrs["data_digest"]
    computed, run_chunk = [], workers.run_chunk
    monkeypatch.setattr(workers, "run_chunk", lambda *job: computed.append(run_chunk(*job)))
    again = asked(grid=grid, folder=tmp_path)
    assert (computed, again.attrs["data_digest"]) == ([0], one.attrs["data_digest"])


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
        ((None,), "None: no such family; allowed: attention_indexed"),
        (("potts_mlm.gamp",), "potts_mlm.gamp: no such estimator; allowed: potts_mlm.equilibrium"),
        (("potts_mlm.potts_samples",), "potts_mlm.potts_samples: is data, not an estimator"),
        ((NAME, "two_layers"), 'model.channel: "two_layers": allowed: one of "linear"'),
    ],
)
def test_names_that_do_not_exist(call, message, tmp_path):
    with pytest.raises(SpecError, match=message):
        al.compute(*call, grid=GRID, project=tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": 0.5},
        {"workers": 0},
        {"replicas": 0},
        {"replicas": 1.5},
        {"replicas": "two"},
        {"solver": 3},
    ],
)
def test_numbers_out_of_range(wrong):
    with pytest.raises(SpecError, match=next(iter(wrong))):
        al.compute(NAME, MODEL, GRID, **wrong)


def test_open_refuses_a_foreign_file(cube, tmp_path):
    cube.drop_attrs().to_netcdf(tmp_path / "foreign.nc")
    with pytest.raises(CubeError, match="was not written by attention-limits"):
        al.open(tmp_path / "foreign.nc")


def test_the_import_is_light():
    """The first use of a name imports numpy, numba and the like."""
    heavy = "{'numpy', 'numba', 'scipy', 'xarray', 'pandas', 'jax', 'matplotlib'}"
    code = (
        f"import sys, attention_limits as al; assert 'compute' in al.__all__; print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = al.nothing_of_this_name
    assert all(callable(getattr(al, name)) for name in al.__all__)
    assert al.__version__ == metadata.version("attention-limits")


def test_the_machine_limits_the_memory(monkeypatch):
    """An experiment of the workflow may ask for 1000 MB by default; a call has the memory of the machine."""
    sizes = {"gaussian_sequences": {"dimension": 4000}}
    arguments = {"model": {"depth": 2, "skip": 1.0}, "grid": {"alpha": 1.2}, "data": sizes, "workers": 2}
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 10**6, "SC_PHYS_PAGES": 2000}[name])
    with pytest.raises(SpecError, match="memory of this machine for each worker: 1000: allowed: ≥ 1230"):
        al.compute("sequence_multi_index.gamp", **arguments)
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 10**6, "SC_PHYS_PAGES": 3000}[name])
    started = []
    monkeypatch.setattr(compute, "_run", lambda made, estimator, *_: started.append(estimator.name))
    monkeypatch.setattr(compute, "merge", lambda *_: None)
    monkeypatch.setattr(compute.reader, "read", lambda *_, **__: None)
    al.compute("sequence_multi_index.gamp", **arguments)
    assert started == ["gaussian_sequences", "gamp"]


@pytest.mark.parametrize("finished", [lambda chunk: None, lambda: None, lambda a, b, c, d: None, 3])
def test_a_function_of_other_arguments_is_refused_before_the_computation(finished, monkeypatch):
    monkeypatch.setattr(compute, "_run", lambda *arguments: pytest.fail("computed"))
    with pytest.raises(SpecError, match=r"^finished: .*: allowed: a function of three arguments: a dataset"):
        al.compute(NAME, MODEL, {"alpha": [0.1]}, finished=finished)


def test_a_function_of_any_three_arguments_is_called():
    calls = []
    al.compute(NAME, MODEL, {"alpha": [0.1]}, finished=lambda *given: calls.append(given[1:]))
    assert calls == [(1, 1)]


def test_fractions_and_decimals_are_numbers():
    """They are Python's own exact numbers; a grid of them is the grid of the same floats."""
    model, name = {"channel": "linear", "tokens": 2}, "attention_indexed.state_evolution"
    exact = al.compute(name, {**model, "ratio": Fraction(1, 2)}, {"alpha": [Decimal("0.1"), Fraction(1, 5)]})
    xr.testing.assert_identical(exact, al.compute(name, {**model, "ratio": 0.5}, {"alpha": [0.1, 0.2]}))
