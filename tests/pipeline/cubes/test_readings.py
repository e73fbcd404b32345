"""Which numbers of a cube pass their flags."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.numerics.probability.statistics import student
from attention_limits.pipeline.cubes.cube_bytes import is_flag, linked
from attention_limits.pipeline.cubes.readings import at, judges, passed, value


@pytest.fixture
def cube():
    """Two estimators; only the second one has replica symmetry, and only the first one an overlap by start."""
    dims = ("estimator", "alpha", "replica")
    shape = (2, 2, 2)
    numbers = xr.Dataset(
        {
            "overlap": (dims, np.arange(8.0).reshape(shape)),
            "converged": (dims, np.array([[[1, 0], [1, 1]], [[1, 1], [np.nan, np.nan]]], float)),
            "resolved": (dims, np.array([[[1, 1], [0.94, 0.95]], [[np.nan] * 2] * 2], float)),
            "unique": (dims, np.zeros(shape)),
            "replica_symmetric": (dims[1:], np.array([[1.0, 0.0], [1.0, 1.0]]), {"estimator": "fit"}),
            "free_entropy": (dims[1:], np.ones((2, 2)), {"estimator": "theory"}),
        },
        {"estimator": ["theory", "fit"], "alpha": [0.5, 1.0], "replica": [0, 1]},
    )
    return linked(numbers)


def test_all_flags_of_an_estimator_count(cube):
    found = passed(cube, "overlap").transpose("estimator", "alpha", "replica").values
    assert found.tolist() == [[[1, 0], [0, 1]], [[1, 0], [1, 1]]]


@pytest.mark.parametrize("estimator", ["theory", "fit"])
def test_a_selected_estimator_keeps_its_flags_alone(cube, estimator):
    part = passed(cube.sel(estimator=estimator), "overlap")
    assert part.values.tolist() == passed(cube, "overlap").sel(estimator=estimator).values.tolist()


def test_a_variable_of_one_estimator_has_its_flags(cube):
    assert passed(cube, "free_entropy").values.tolist() == [[1, 0], [0, 1]]


def test_flags_of_two_other_estimators_have_no_part(cube):
    third = cube.assign(threshold=(("replica",), np.ones(2), {"estimator": "staircase"}))
    third = third.assign(search_converged=(("estimator", "replica"), np.zeros((2, 2))))
    assert passed(third, "threshold").values.tolist() == [1.0, 1.0]


def test_a_reading_holds_the_replicas_that_pass(cube):
    assert value(cube, "overlap", estimator="theory", alpha=0.5)[0] == 0.0
    assert value(cube, "overlap", estimator="theory", alpha=1.0)[0] == 3.0
    assert value(cube, "overlap", estimator="fit", alpha=1.0) == (6.5, pytest.approx(0.5 * student(2)))
    failed = cube.assign(converged=cube.converged * 0.0)
    assert np.isnan(value(failed, "overlap", estimator="theory", alpha=1.0)[0])


def test_a_variable_of_one_estimator_takes_its_name(cube):
    assert value(cube, "free_entropy", estimator="theory", alpha=0.5)[0] == 1.0
    assert at(cube.free_entropy, estimator="theory", alpha=1.0).values.tolist() == [1.0, 1.0]
    for point in ({"estimator": "fit"}, {"beta": 1.0}):
        with pytest.raises(ValueError, match="free_entropy has no coordinate"):
            at(cube.free_entropy, **point)
    with pytest.raises(KeyError):
        at(cube.free_entropy, alpha=0.7)


def test_names_of_flags():
    flags = ("converged", "held_converged", "converged_by_start", "unique", "step_resolved", "finite", "escaped")
    assert all(map(is_flag, flags))
    assert [name for name in flags if not judges(name)] == ["unique", "escaped"]
    assert not is_flag("convergence_rate")
