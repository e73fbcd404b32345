"""Numbers of threads in the environment."""

import pytest

from attention_limits.__main__ import main
from attention_limits.pipeline.base.threads import limited, wrong_threads


def test_one_thread_for_every_library():
    found = limited(1, {"HOME": "here", "XLA_FLAGS": "--a=1"})
    assert found["HOME"] == "here"
    assert found["NUMBA_NUM_THREADS"] == found["OMP_NUM_THREADS"] == "1"
    assert found["XLA_FLAGS"] == "--a=1 --xla_cpu_multi_thread_eigen=false"
    assert "XLA_FLAGS" not in limited(2, {})


@pytest.mark.parametrize("number", ["0", "-1", " 0 "])
def test_numba_with_no_thread_is_refused_before_its_import(number, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_NUM_THREADS", number)
    assert main(["thresholds", "--link", "phase_retrieval"]) == 2
    assert "NUMBA_NUM_THREADS: " in capsys.readouterr().err


@pytest.mark.parametrize("environment", [{}, {"NUMBA_NUM_THREADS": "2"}, {"NUMBA_NUM_THREADS": "two"}])
def test_other_numbers_of_threads_are_left_to_numba(environment):
    assert wrong_threads(environment) == ""
