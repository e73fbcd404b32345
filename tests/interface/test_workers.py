"""Chunks in several processes. `test_interface_compute` tests that they give the bytes of one process."""

import os
import signal
import subprocess

import pytest

from attention_limits.interface import workers
from attention_limits.interface.workers import Task, workers_of
from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.cubes.chunks import is_current

pytestmark = pytest.mark.slow

ESTIMATOR = "ridge_simulation"
GRID = {"gamma": {"values": [3.0]}, "ridge": {"values": [0.1]}, "alpha": {"values": [0.5, 2.0]}}


@pytest.fixture
def task(tmp_path):
    """Four chunks of one replica."""
    written = {"grid": GRID, "solver": {"sites": 20}, "replicas": 4, "chunk": {"replicas": 1}}
    document = {"title": "Ridge", "description": "Ridge.", "model": {}, "estimators": {ESTIMATOR: written}}
    source = tmp_path / "config/potts_mlm/experiments/ridge.yaml"
    return Task(str(source), document, seed=3, results=str(tmp_path / "results"))


@pytest.fixture
def started(monkeypatch):
    """The processes that the test starts."""
    processes, start = [], subprocess.Popen
    monkeypatch.setattr(
        workers.subprocess, "Popen", lambda *given, **more: processes.append(start(*given, **more)) or processes[-1]
    )
    return processes


def test_two_processes_compute_all_chunks_and_end(task, started, capfd, tmp_path, monkeypatch):
    """A file of the working directory hides no module."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workers.sys, "path", [path for path in workers.sys.path if path])
    estimator = task.experiment().estimators[ESTIMATOR]
    with workers_of(task, 2) as computed:
        assert list(computed(ESTIMATOR, estimator.chunks)) == [None] * 4
    for chunk in estimator.chunks:
        assert is_current(estimator.path(task.results, chunk), estimator, chunk, task.seed)
    assert [process.poll() for process in started] == [0, 0]
    assert "Error" not in capfd.readouterr().err


def test_errors_come_back(task, started):
    chunks = task.experiment().estimators[ESTIMATOR].chunks
    with pytest.raises(RuntimeError, match="KeyError: 'nowhere'"), workers_of(task, 1) as computed:
        list(computed("nowhere", chunks))
    # Data without their file.
    spec = {"title": "t", "description": "d", "model": {"depth": 2, "skip": 1.0}}
    grid = {"alpha": {"values": [0.5]}}
    data = {"data": {"gaussian_sequences": {"grid": grid, "solver": {"dimension": 20}}}}
    reading = {"estimators": {"gamp": {"grid": grid, "reads": "gaussian_sequences"}}}
    source = task.source.replace("potts_mlm", "sequence_multi_index")
    readers = Task(source, {**spec, **data, **reading}, seed=0, results=task.results)
    chunks = readers.experiment().estimators["gamp"].chunks
    with pytest.raises(CubeError, match="is missing; repair: ") as caught, workers_of(readers, 1) as computed:
        list(computed("gamp", chunks))
    assert len(caught.value.problems) == 1
    assert all(process.poll() is not None for process in started)


def test_a_killed_process_is_an_error(task, started):
    chunks = task.experiment().estimators[ESTIMATOR].chunks

    def killed():
        with workers_of(task, 2) as computed:
            os.kill(started[0].pid, signal.SIGKILL)
            list(computed(ESTIMATOR, chunks))

    with pytest.raises(RuntimeError, match=f"ended with status -{int(signal.SIGKILL)}"):
        killed()
    assert all(process.poll() is not None for process in started)
