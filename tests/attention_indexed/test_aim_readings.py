"""Single numbers read off cubes of the attention-indexed family."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from attention_limits.attention_indexed.gradient_descent import averages
from attention_limits.attention_indexed.readings import at_infinite_size, curve_at, errors_of_mean, mean_of_starts


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


def sizes_cube(slope):
    """Errors .3 + slope / d over 6 data sets, the last not converged, with a scatter whose mean is zero."""
    dimension, scatter = np.array([50, 100, 200]), np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 400.0])
    values = 0.3 + slope / dimension[:, None] + 0.01 * scatter
    converged = np.broadcast_to(np.arange(6) < 5, values.shape)
    coordinates = {"alpha": [0.1], "dimension": dimension, "replica": np.arange(6)}
    data = {"mmse": (tuple(coordinates), values[None]), "converged": (tuple(coordinates), converged[None])}
    return xr.Dataset(data, coordinates)


def test_a_straight_line_in_the_inverse_dimension_has_its_intercept():
    """Errors of equal size e at x = 1/d: the error of the intercept is e sqrt(mean x^2 / sum (x - mean x)^2)."""
    value, error = at_infinite_size(sizes_cube(2.0), alpha=0.1)
    x = 1.0 / np.array([50.0, 100.0, 200.0])
    single = 0.01 * np.sqrt(2.5 / 5)
    assert value == pytest.approx(0.3, abs=1e-12)
    assert error == pytest.approx(single * np.sqrt(np.mean(x**2) / np.sum((x - x.mean()) ** 2)), rel=1e-9)


def test_means_off_the_line_raise_the_error_and_two_dimensions_have_none():
    cube = sizes_cube(2.0)
    _, error = at_infinite_size(cube, alpha=0.1)
    bent = cube.assign(mmse=cube.mmse + xr.DataArray([0.0, 0.1, 0.0], dims="dimension"))
    assert at_infinite_size(bent, alpha=0.1)[1] > 3.0 * error
    with pytest.raises(ValueError, match="three dimensions"):
        at_infinite_size(cube.isel(dimension=slice(2)), alpha=0.1)
