"""The cost of data files counts the data sets that the estimators draw."""

import importlib.util
from pathlib import Path

import pytest

import attention_limits as al

ROOT = Path(__file__).parents[2]


def _tool():
    spec = importlib.util.spec_from_file_location("data_cost", ROOT / "tools" / "data_cost.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_numbers_are_those_of_the_drawn_sequences():
    """At smoke: n M D of the realised numbers of sequences that a cube of GAMP states, for each point and replica."""
    tool = _tool()
    found = {(e.family, e.experiment, e.name): tool.numbers(e) for e in tool.estimators("smoke")}
    count, sets = found["sequence_multi_index", "fig1_learning_curve", "gamp"]
    # Three values of alpha from 0.1 to 1.5, two replicas, two tokens of dimension 100.
    assert (count, sets) == (2 * (10 + 80 + 150) * 2 * 100, 6)
    # Estimators that read data have files already.
    assert ("sequence_multi_index", "fig2_common", "gamp") not in found
    cube = al.compute(
        "attention_indexed.matrix_amp", {"channel": "softmax", "tokens": 2, "ratio": 0.5}, {"alpha": 0.1},
        solver={"dimension": 20, "max_iterations": 2},
    )  # fmt: skip
    assert (
        tool._extensive({"tokens": 2, "alpha": 0.1}, cube_solver(20))
        == round(cube.realised_alpha.item() * 400) * 2 * 20
    )


def cube_solver(dimension):
    """A section with a dimension."""
    return type("Solver", (), {"dimension": dimension})
