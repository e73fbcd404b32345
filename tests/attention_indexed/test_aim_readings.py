"""Single numbers read off cubes of the attention-indexed family."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from attention_limits.attention_indexed.gradient_descent import averages
from attention_limits.attention_indexed.readings import curve_at, errors_of_mean, mean_of_starts


def test_a_curve_is_interpolated_between_its_points_alone():
    alpha = np.array([0.0, 0.1, 1.0, 10.0, 20.0])
    cube = xr.Dataset({"mmse": (("alpha", "replica"), [[1.0], [0.1], [0.01], [0.001], [0.0]])}, {"alpha": alpha})
    assert curve_at(cube, 3.0) == (pytest.approx(0.01 / 3.0), 0.0)
    for outside in (0.05, 15.0):
        with pytest.raises(KeyError):
            curve_at(cube, outside)
    with pytest.raises(KeyError):
        curve_at(cube.where(cube.alpha < 0), 1.0)


def test_mean_of_starts_lies_between_one_and_the_limit():
    """Two data sets; 32 starts leave 1/32 of the excess of one start over the limit."""
    cube = xr.Dataset(
        {
            "mmse_average": (("alpha", "replica", "average"), [[[0.5, 0.4], [0.7, 0.5]]]),
            "mmse_extrapolated": (("alpha", "replica"), [[0.3, 0.3]]),
        },
        {"alpha": [0.1], "average": [1, 2]},
    )
    assert mean_of_starts(cube, 1, alpha=0.1) == pytest.approx((0.6, 0.1))
    assert mean_of_starts(cube, 32, alpha=0.1) == pytest.approx((0.3 + 0.3 / 32, 0.1 / 32))
    with pytest.raises(KeyError):
        mean_of_starts(cube, 1, alpha=0.2)


def test_fewer_starts_give_the_error_of_the_mean_of_more():
    """Starts of a few W W^T: the error of the mean of five, predicted from three of six starts and averaged over all sets of
    three, is the average error over all sets of five: the law in 1/m is exact."""
    rng = np.random.default_rng(7)
    weights, truth = 1.0 + 0.5 * rng.standard_normal((6, 3, 2)), np.eye(3)

    def law(members):
        found = averages(weights[list(members)], truth, [1])
        cube = xr.Dataset(
            {
                "mmse_average": (("alpha", "replica", "average"), found.average[None, None]),
                "mmse_extrapolated": (("alpha", "replica"), [[found.extrapolated]]),
            },
            {"alpha": [0.1], "average": [1]},
        )
        return errors_of_mean(cube, 5).item()

    expected = averages(weights, truth, [5]).average[0]
    assert np.mean([law(members) for members in combinations(range(6), 3)]) == pytest.approx(expected, rel=1e-12)
