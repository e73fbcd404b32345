"""Calls in several processes. `test_interface_compute` tests that they give the bytes of one process."""

import os
import signal
import sys

import pytest

from attention_limits.interface.workers import shared
from attention_limits.pipeline.errors import SpecError

pytestmark = pytest.mark.slow


def test_answers_come_in_order_from_processes_that_share_the_cores(capfd):
    with shared(2) as mapped:
        assert list(mapped(abs, range(-20, 0))) == list(range(20, 0, -1))
        assert len(set(mapped(_number_of_process, range(20))) - {os.getpid()}) in (1, 2)
        assert set(mapped(os.getenv, ["OMP_NUM_THREADS"])) == {str(max(1, os.cpu_count() // 2))}
        # What a job prints is no answer.
        assert list(mapped(print, ["a word"])) == [None]
    assert capfd.readouterr() == ("", "a word\n")


def _number_of_process(_):
    return os.getpid()


def test_an_exception_is_raised_here_and_names_its_place():
    with pytest.raises(ZeroDivisionError) as caught, shared(2) as mapped:
        list(mapped(_inverse, [1, 0, 2]))
    assert "in _inverse" in "".join(caught.value.__notes__)
    with pytest.raises(SpecError) as caught, shared(1) as mapped:
        list(mapped(_refuse, ["a", "b"]))
    assert caught.value.problems == ["a: no", "a: never"]


def _inverse(x):
    return 1 / x


def _refuse(name):
    raise SpecError([f"{name}: no", f"{name}: never"])


def test_a_killed_process_is_an_error():
    with pytest.raises(RuntimeError, match=f"ended with status -{int(signal.SIGKILL)}"), shared(2) as mapped:
        list(mapped(_kill, range(4)))


def _kill(_):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_finds_the_modules_of_its_caller(tmp_path, monkeypatch):
    """And no others: a file in the working directory hides no module."""
    (tmp_path / "pickle.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    with shared(1) as mapped:
        assert list(mapped(abs, [-1])) == [1]
