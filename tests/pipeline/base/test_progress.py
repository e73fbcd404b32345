"""Bars on a terminal and in a notebook, nothing in a log file."""

import sys
import types

import pytest

from attention_limits.pipeline.base.progress import progress


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
