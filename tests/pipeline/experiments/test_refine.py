"""Further grid values: where a curve bends, the same every time, and written into the experiment file."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.numerics.probability.statistics import student
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.experiment import _overlaid
from attention_limits.pipeline.experiments.grid import axis_values
from attention_limits.pipeline.experiments.refine import curves_of, further_values, refined_text


def of_curve(x, y, count, error=0.0, **options):
    y = np.asarray(y, dtype=float)[:, None]
    return further_values(np.asarray(x, dtype=float), y, np.full_like(y, error), count, **options)


def test_values_go_to_an_onset_and_to_a_jump():
    x = np.linspace(0.0, 2.0, 21)
    onset = np.where(x > 0.72, 1.0 - np.exp(-0.9 * (x - 0.72)), 0.0)
    assert all(0.6 <= value <= 0.9 for value in of_curve(x, onset, 4))
    jump = (x > 1.25).astype(float)
    assert all(1.1 <= value <= 1.4 for value in of_curve(x, jump, 6))
    # Rounded to a hundredth of the distance.
    assert all(round(value, 4) == value for value in of_curve(x, jump, 6))


def test_the_straight_line_error_of_a_square_root_falls():
    """Twelve values, chosen one after the other, have less than half of the error of an even grid at a square-root onset."""

    def curve(x):
        return np.sqrt(np.maximum(x - 0.31, 0.0))

    x, fine = np.linspace(0.0, 1.0, 13), np.linspace(0.0, 1.0, 10001)
    chosen = x
    for _ in range(12):
        chosen = np.sort([*chosen, *of_curve(chosen, curve(chosen), 1)])
    even = np.linspace(0.0, 1.0, 25)
    errors = [np.abs(np.interp(fine, grid, curve(grid)) - curve(fine)).max() for grid in (chosen, even)]
    assert len(chosen) == 25
    assert errors[0] < 0.5 * errors[1]


def test_noise_is_no_bend():
    """Bends below two standard errors count nothing: the values are even, as for a straight line."""
    x = np.linspace(0.0, 1.0, 9)
    wiggle = 0.5 * x + 0.01 * (-1.0) ** np.arange(9)
    assert of_curve(x, wiggle, 8, error=0.02) == of_curve(x, 0.5 * x, 8)
    assert of_curve(x, 0.5 * x, 8) == [0.0625 + 0.125 * k for k in range(8)]


def test_logarithmic_distances_and_missing_values():
    x = np.logspace(-2, 2, 9)
    found = of_curve(x, np.full(9, np.nan), 8, logarithmic=True)
    np.testing.assert_allclose(found, np.sqrt(x[1:] * x[:-1]), rtol=1e-2)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12), st.integers(1, 30))
def test_new_values_are_inside_and_new(y, count):
    x = np.arange(len(y), dtype=float)
    found = of_curve(x, y, count)
    assert found == of_curve(x, y, count)
    assert len(found) == count == len(set(found) - set(x))
    assert min(found) > x[0]
    assert max(found) < x[-1]


FILE = """title: A
estimators:
  solve:  # comment
    grid: {{alpha: {axis}, skip: {{values: [1]}}}}
    replicas: 2
scales: {{smoke: {{}}}}
"""


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("{start: 0, stop: 1, num: 3}", "{start: 0, stop: 1, num: 3, also: [0.25, 0.6]}"),
        ("{start: 0, stop: 1, num: 3, also: [0.4]}", "{start: 0, stop: 1, num: 3, also: [0.25, 0.4, 0.6]}"),
        ("{also: [0.4], start: 0, stop: 1, num: 3}", "{also: [0.25, 0.4, 0.6], start: 0, stop: 1, num: 3}"),
        ("{values: [0, 0.5, 1.0]}", "{values: [0, 0.25, 0.5, 0.6, 1]}"),
    ],
)
def test_the_file_changes_in_its_axis_alone(tmp_path, axis, expected):
    path = tmp_path / "a.yaml"
    path.write_text(FILE.format(axis=axis))
    assert refined_text(path, "solve", "alpha", [0.25, 0.6]) == FILE.format(axis=expected)


def test_an_axis_that_the_file_does_not_write_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(FILE.format(axis="model"))
    with pytest.raises(SpecError, match=r"estimators\.solve\.grid\.alpha: write the axis as"):
        refined_text(path, "solve", "alpha", [0.5])
    with pytest.raises(SpecError, match=r"estimators\.solve\.grid\.beta: the file does not write this axis"):
        refined_text(path, "solve", "beta", [0.5])


def test_curves_of_a_cube():
    values = np.array([[[0.0, 0.2], [1.0, 1.4]], [[np.nan, np.nan], [5.0, 5.0]]])
    cube = xr.Dataset(
        {"overlap": (("estimator", "alpha", "replica"), values)}, {"estimator": ["se", "gamp"], "alpha": [0.1, 0.2]}
    )
    x, mean, error = curves_of(cube, "se", "overlap", "alpha")
    np.testing.assert_allclose(x, [0.1, 0.2])
    np.testing.assert_allclose(mean[:, 0], [0.1, 1.2])
    np.testing.assert_allclose(error[:, 0], np.array([0.1, 0.2]) * student(2))
    for arguments, message in (
        (("se", "mmse", "alpha"), "--of: 'mmse': allowed: overlap"),
        (("no", "overlap", "alpha"), "--estimator: 'no' has no overlap; allowed: se, gamp"),
        (("se", "overlap", "beta"), "--key: 'beta': allowed for overlap: alpha"),
        (("gamp", "overlap", "alpha"), "overlap has 1 values along it; at least two"),
    ):
        with pytest.raises(SpecError, match=message):
            curves_of(cube, *arguments)


def test_further_values_of_a_range():
    axis = {"start": 0.0, "stop": 1.0, "num": 3, "also": [0.75, 0.5, 0.1 + 0.2]}
    assert axis_values(axis) == [0.0, 0.3, 0.5, 0.75, 1.0]
    # A coarser overlay does not keep them, another end does.
    assert _overlaid({"alpha": axis}, {"alpha": {"num": 2}}) == {"alpha": {"start": 0.0, "stop": 1.0, "num": 2}}
    assert _overlaid({"alpha": axis}, {"alpha": {"stop": 2.0}})["alpha"]["also"] == axis["also"]
