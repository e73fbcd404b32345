"""Files that the file of a model imports: a call reads their edits, and takes no point that older ones computed."""

import sys

import pytest

import attention_limits as al

LINK = """\
import numpy as np
from call_scale import SCALE


def gate(h):
    return np.tanh(SCALE * h[..., 0, 0])


def even(h):
    return gate(h) ** 2
"""
# A call of 32 nodes learns nothing exact, but the same numbers each time.
SOLVER = {"nodes": 32, "max_iterations": 3}


@pytest.fixture
def edit(tmp_path, monkeypatch):
    """A function that writes the second file; the first one imports it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(LINK)
    yield lambda text: (tmp_path / "call_scale.py").write_text(text)
    sys.modules.pop("call_scale", None)


def overlap(**keys):
    model = {"link": "mine.py:gate", "noise": 0.1}
    cube = al.compute("sequence_multi_index.state_evolution", model, {"alpha": [2.0]}, solver=SOLVER, **keys)
    return float(cube.overlap.squeeze())


def test_a_call_after_an_edit_computes_again(edit):
    edit("SCALE = 1.0\n")
    first = overlap(folder="results")
    assert overlap(folder="results") == first
    # Python compares the sizes of files whose dates are in the same second.
    edit("SCALE = 3.00\n")
    changed = overlap(folder="results")
    assert changed != first
    assert overlap() == changed
    edit("SCALE = 1.0\n")
    assert overlap(folder="results") == first


def test_thresholds_read_an_edit(edit):
    def value():
        model, solver = {"link": "mine.py:even", "noise": 0.1}, {"nodes": 64}
        return al.thresholds(model, solver=solver, replicas=2).value.iloc[0]

    edit("SCALE = 1.0\n")
    first = value()
    edit("SCALE = 0.500\n")
    assert value() > 1.1 * first


def test_installed_modules_stay(edit, tmp_path):
    """A file with their name beside the link does not take their place."""
    edit("SCALE = 1.0\n")
    (tmp_path / "numpy.py").write_text("raise SystemExit\n")
    before = sys.modules["numpy"]
    overlap()
    (tmp_path / "numpy.py").write_text("raise SystemExit(1)\n")
    overlap()
    assert sys.modules["numpy"] is before
