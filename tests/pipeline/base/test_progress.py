"""Bars on a terminal and in a notebook, nothing in a log file."""

import sys
import types

import numba
import pytest
from numba.core import event

from attention_limits.pipeline.base import progress as module
from attention_limits.pipeline.base.progress import compilation_reported, progress


@pytest.mark.parametrize(
    ("terminal", "notebook", "shown"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_where_a_bar_is_shown(monkeypatch, terminal, notebook, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    bar = progress(range(3), 3, "points")
    assert bar.disable is not shown
    assert list(bar) == [0, 1, 2]


def compiles(seconds, path, clock):
    """What numba does when it compiles a function whose code the file `path` keeps, with another function inside of it."""
    own = types.SimpleNamespace(stats=types.SimpleNamespace(cache_path=path))
    with event.trigger_event("numba:compile", data={"dispatcher": own}):
        with event.trigger_event("numba:compile", data={"dispatcher": own}):
            clock.now += 0.5 * seconds
        clock.now += 0.5 * seconds


@pytest.mark.parametrize("terminal", [True, False])
def test_the_compiler_is_reported_once(monkeypatch, capsys, terminal):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(module, "_watched", lambda: terminal)
    with compilation_reported(), compilation_reported():
        for seconds, path in ((2.0, "a"), (3.0, "b"), (3.0, "c"), (7.0, None)):
            compiles(seconds, path, clock)
    while_it_happens, kept, again = ([] if terminal else [""]) + capsys.readouterr().err.splitlines()
    assert while_it_happens == ("compiling, once on this machine" if terminal else "")
    assert kept.startswith("compiled for 8 s, once on this machine; ")
    assert again == "compiled for 7 s what no file keeps: each process compiles it again"
    with compilation_reported():
        compiles(0.5, "a", clock)
    assert capsys.readouterr().err == ""


def test_numba_says_when_it_compiles(monkeypatch, capsys):
    monkeypatch.setattr(module, "_WORTH", 1e-9)
    with compilation_reported():
        assert numba.njit(lambda x: x + 1)(1) == 2
    assert capsys.readouterr().err.split(" ", 3)[3].startswith("s what no file keeps")
