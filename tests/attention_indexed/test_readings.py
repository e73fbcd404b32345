"""Single numbers read off cubes of the attention-indexed family."""

from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from attention_limits.attention_indexed.readings import (
    agreement,
    at_infinite_size,
    by_dimension,
    curve_at,
    descent_excess,
    dropped,
    errors_of_mean,
    inverse_law,
    mean_of_starts,
    normal_number,
    overall,
    pooled_errors,
)
from attention_limits.attention_indexed.training.gradient_descent import averages
from attention_limits.numerics.probability.statistics import student


def test_a_curve_is_interpolated_between_its_points_alone():
    alpha = np.array([0.0, 0.1, 1.0, 10.0, 20.0])
    cube = xr.Dataset({"mmse": (("alpha", "replica"), [[1.0], [0.1], [0.01], [0.001], [0.0]])}, {"alpha": alpha})
    assert curve_at(cube, 3.0) == (pytest.approx(0.01 / 3.0), 0.0)
    for outside in (0.05, 15.0):
        with pytest.raises(KeyError):
            curve_at(cube, outside)
    with pytest.raises(KeyError):
        curve_at(cube.where(cube.alpha < 0), 1.0)


def test_a_curve_that_jumps_is_not_interpolated():
    """Several solutions from 0.2 to 0.3: between 0.1 and 0.4, and beside 0.2 and 0.3, lies the jump."""
    alpha = np.array([0.05, 0.1, 0.25, 0.4, 0.5])
    arrays = {"mmse": [0.9, 0.8, 0.7, 0.01, 0.005], "informed_begin": [0.2] * 5, "uninformed_end": [0.3] * 5}
    cube = xr.Dataset({k: (("alpha", "replica"), np.array(v)[:, None]) for k, v in arrays.items()}, {"alpha": alpha})
    for inside in (0.15, 0.25, 0.35):
        with pytest.raises(KeyError, match="several solutions"):
            curve_at(cube, inside)
        # Also if no point of the grid lies between.
        with pytest.raises(KeyError, match="several solutions"):
            curve_at(cube.drop_sel(alpha=0.25), inside)
    assert curve_at(cube, 0.1)[0] == pytest.approx(0.8)
    assert curve_at(cube, 0.45)[0] == pytest.approx(
        np.exp(np.interp(np.log(0.45), np.log([0.4, 0.5]), np.log([0.01, 0.005])))
    )


def test_a_curve_beside_a_simulation_keeps_its_own_variables():
    """Of two estimators in a cube, one alone computes whether its solution is unique."""
    alpha = np.array([0.1, 1.0])
    both = (("estimator", "alpha", "replica"), np.array([[[0.1], [0.01]], [[0.2], [0.02]]]))
    own = (("alpha", "replica"), np.ones((2, 1)), {"estimator": "state_evolution"})
    cube = xr.Dataset({"mmse": both, "unique": own}, {"alpha": alpha, "estimator": ["state_evolution", "matrix_amp"]})
    assert curve_at(cube, 0.1, estimator="state_evolution") == (pytest.approx(0.1), 0.0)


def test_mean_of_starts_lies_between_one_and_the_limit():
    """Two data sets; 32 starts leave 1/32 of the excess of one start over the limit."""
    cube = xr.Dataset(
        {
            "mmse_average": (("alpha", "replica", "average"), [[[0.5, 0.4], [0.7, 0.5]]]),
            "mmse_extrapolated": (("alpha", "replica"), [[0.3, 0.3]]),
        },
        {"alpha": [0.1], "average": [1, 2]},
    )
    assert mean_of_starts(cube, 1, alpha=0.1) == pytest.approx((0.6, 0.1 * student(2)))
    assert mean_of_starts(cube, 32, alpha=0.1) == pytest.approx((0.3 + 0.3 / 32, 0.1 / 32 * student(2)))
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


SCATTER = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 400.0])


def sizes_cube(slope, dimension=(50, 100, 200), curvature=0.0):
    """Errors 0.3 + slope / d + curvature / d^2 over 6 data sets, the last not converged.

    They scatter by multiples of 1 / d relative to their mean; the mean of the scatter is zero.
    """
    d = np.array(dimension)[:, None]
    values = (0.3 + slope / d + curvature / d**2) * (1.0 + SCATTER / d)
    converged = np.broadcast_to(np.arange(6) < 5, values.shape)
    coordinates = {"alpha": [0.1], "dimension": list(dimension), "replica": np.arange(6)}
    data = {"mmse": (tuple(coordinates), values[None]), "converged": (tuple(coordinates), converged[None])}
    return xr.Dataset(data, coordinates)


def test_all_dimensions_together_determine_the_scatter():
    """c^2 = sum of squares / degrees of freedom = 3 * 10 / (3 * 4); the error of a mean over five is c mean / (d sqrt(5))."""
    dimension, mean, error = by_dimension(sizes_cube(2.0), "mmse", alpha=0.1)
    np.testing.assert_allclose(mean, 0.3 + 2.0 / dimension, rtol=1e-12)
    np.testing.assert_allclose(error, np.sqrt(2.5 / 5) * mean / dimension, rtol=1e-9)
    assert dropped(sizes_cube(2.0), alpha=0.1) == (3, 18)


def test_one_data_set_has_the_scatter_of_the_other_dimensions():
    values = np.array([[0.9, 1.1], [1.0, np.nan], [np.nan, np.nan]])
    dimension, mean, error = pooled_errors(np.array([10, 20, 40]), values)
    np.testing.assert_array_equal(dimension, [10, 20])
    np.testing.assert_allclose(mean, 1.0)
    np.testing.assert_allclose(error, [np.sqrt(2.0) / (10 * np.sqrt(2.0)), np.sqrt(2.0) / 20])
    assert all(len(array) == 0 for array in pooled_errors(np.array([10, 20]), values[1:2].repeat(2, axis=0)))


@pytest.mark.parametrize(
    ("dimension", "curvature", "order"),
    [((50, 100, 200), 0.0, 1), ((50, 100, 200), 30.0, 2), ((50, 70, 100, 200), 30.0, None)],
)
def test_a_polynomial_in_the_inverse_dimension_has_its_intercept(dimension, curvature, order):
    """Three dimensions: by default a line; more: a parabola. The error of the intercept is that of the linear estimator."""
    cube = sizes_cube(2.0, dimension, curvature)
    sizes, mean, error = by_dimension(cube, "mmse", alpha=0.1)
    coefficients, spread = inverse_law(sizes, mean, error, order)
    assert coefficients[0] == pytest.approx(0.3, abs=1e-11)
    design = np.vander(1.0 / sizes, len(coefficients), increasing=True)
    weights = np.linalg.inv(design.T @ (design / error[:, None] ** 2))[0] @ (design / error[:, None] ** 2).T
    assert spread == pytest.approx(np.sqrt(np.sum((weights * error) ** 2)), rel=1e-7)


def test_means_off_the_line_raise_the_error_and_two_dimensions_have_none():
    cube = sizes_cube(2.0)
    value, error = at_infinite_size(cube, alpha=0.1)
    assert value == pytest.approx(0.3, abs=1e-11)
    bent = cube.assign(mmse=cube.mmse + xr.DataArray([0.0, 0.1, 0.0], dims="dimension"))
    assert at_infinite_size(bent, alpha=0.1)[1] > 3.0 * error
    with pytest.raises(ValueError, match="three dimensions"):
        at_infinite_size(cube.isel(dimension=slice(2)), alpha=0.1)


def test_the_excess_of_descent_leaves_out_what_both_errors_share():
    """Data sets that move both errors alike do not scatter; one on which AMP did not converge, and one of a NaN, do not count."""
    d, shared = np.array([50, 100]), np.array([-0.02, 0.0, 0.01, 0.5, 0.0])
    amp = 0.17 + 1.0 / d[:, None] + shared
    descent = amp + 0.04 + np.array([0.01, -0.01, 0.0, 0.3, np.nan]) * 50 / d[:, None]
    missing, good = np.full(amp.shape, np.nan), np.ones(amp.shape)
    ended, settled = good * [1, 1, 1, 1, 0], good * [1, 1, 1, 0, 1]
    axes = ("estimator", "dimension", "replica")
    cube = xr.Dataset(
        {
            "mmse": (axes, [missing, amp]),
            "converged": (axes, [missing, settled]),
            "mmse_extrapolated": (axes, [descent, missing]),
            "finite": (axes, [ended, missing]),
        },
        {"estimator": ["gradient_descent", "matrix_amp_sizes"], "dimension": d},
    )
    dimension, mean, error = descent_excess(cube)
    np.testing.assert_array_equal(dimension, d)
    np.testing.assert_allclose(mean, 0.04, rtol=1e-12)
    # Two degrees of freedom at each dimension, relative scatter 50 / (4 d).
    np.testing.assert_allclose(error, 0.01 * 50 / d / np.sqrt(3.0), rtol=1e-12)


def agreement_cube(extra):
    """Errors 0.5 + extra / d and predictions of the same means, of exact scatter, at one alpha; the limit 0.5 has the bound
    0.01."""
    dimension, replica = np.array([20, 30, 50, 80]), np.array([-1.0, 1.0, -1.0, 1.0])
    means = 0.5 + extra / dimension
    values, predicted = (means[:, None] * (1.0 + 0.4 * r / dimension[:, None]) for r in (replica, np.sort(replica)))
    same = np.full_like(values, 0.5)
    arrays = {
        "mmse": values, "mmse_predicted": predicted, "converged": np.ones_like(values), "mmse_limit": same,
        "mmse_limit_bound": 0.02 * same,
    }  # fmt: skip
    coordinates = {"alpha": [0.1], "dimension": dimension, "replica": range(4)}
    return xr.Dataset({name: (("alpha", "dimension", "replica"), a[None]) for name, a in arrays.items()}, coordinates)


def test_agreement_with_state_evolution_is_read_at_infinite_size():
    """A parabola contains the exact law: no deviation. An error that is a tenth too large deviates by a tenth."""
    cube = agreement_cube(3.0)
    found, certain = agreement(cube, alpha=0.1), agreement(cube, (0.5, 0.0), alpha=0.1)
    for name, (deviation, error, freedom) in found.items():
        assert deviation == pytest.approx(0.0, abs=1e-9)
        # Three of four data sets at each of four dimensions.
        assert freedom == 12
        # Half of the bound, in units of the limit, adds to the scatter of the data sets; the difference does not contain it.
        own = 0.0 if name == "difference" else 0.01
        assert error == pytest.approx(np.hypot(certain[name][1], own))
        assert certain[name][1] > 0
    found = agreement(cube.assign(mmse=1.1 * cube.mmse), alpha=0.1)
    assert found["error"][0] == pytest.approx(0.1) == found["difference"][0]
    assert found["prediction"][0] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(KeyError):
        agreement(cube, alpha=0.3)
    with pytest.raises(ValueError, match="three dimensions"):
        agreement(cube.isel(dimension=slice(2)), alpha=0.1)


def test_agreement_of_a_layer_takes_the_limit_of_another_cube():
    cube = agreement_cube(3.0).rename(mmse="mmse_by_layer", mmse_predicted="predicted_by_layer")
    layers = cube.assign(
        {name: cube[name].expand_dims(layer=[1, 2]) for name in ("mmse_by_layer", "predicted_by_layer")}
    )
    found = agreement(layers, (0.25, 0.0), alpha=0.1, layer=2)
    assert found["error"][0] == pytest.approx(1.0) == found["prediction"][0]
    assert found["difference"][0] == pytest.approx(0.0, abs=1e-9)


def scattered(seed, sets=8, noise=0.1):
    """Errors 0.3 (1 + 5 / d) of data sets whose scatter is that of two traces of the teacher, and `noise` of it that is not."""
    rng, d = np.random.default_rng(seed), np.array([50, 100, 200])
    traces = rng.standard_normal((2, 3, sets)) / d[:, None]
    own = noise * rng.standard_normal((3, sets)) / d[:, None]
    values = 0.3 * (1.0 + 5.0 / d[:, None]) * (1.0 + 2.0 * traces[0] - traces[1] + own)
    axes = ("dimension", "replica")
    arrays = {"mmse": values, "converged": np.ones_like(values), "trace_excess": traces[0], "square_excess": traces[1]}
    return xr.Dataset({name: (axes, array) for name, array in arrays.items()}, {"dimension": d})


def test_traces_of_the_teacher_take_their_part_of_the_scatter():
    """200 cubes of three dimensions: the error is a tenth, and it is the scatter of the means about the right ones. Of 600
    quotients with Student's t distribution of 19 degrees the root mean square is within 10 % of 1.057: its standard error is
    0.03, a false-alarm rate of 0.002."""
    deviations, shrinks = [], []
    for seed in range(200):
        cube = scattered(seed)
        d, mean, error = by_dimension(cube, "mmse")
        deviations.append((mean - 0.3 * (1.0 + 5.0 / d)) / error)
        plain = by_dimension(cube.drop_vars(["trace_excess", "square_excess"]), "mmse")[2]
        shrinks.append(error / plain)
    assert np.sqrt(np.mean(np.square(deviations))) == pytest.approx(np.sqrt(19 / 17), rel=0.1)
    assert np.median(shrinks) < 0.1


def test_few_data_sets_do_not_determine_the_part_of_the_traces():
    """Three data sets at three dimensions have six degrees of freedom; two controls need ten. Traces without scatter are none."""
    few = scattered(0, sets=3)
    np.testing.assert_array_equal(
        by_dimension(few, "mmse"), by_dimension(few.drop_vars("trace_excess").drop_vars("square_excess"), "mmse")
    )
    still = scattered(0)
    still = still.assign(trace_excess=0.0 * still.mmse, square_excess=0.0 * still.mmse)
    np.testing.assert_array_equal(
        by_dimension(still, "mmse"), by_dimension(still.drop_vars(["trace_excess", "square_excess"]), "mmse")
    )


def test_small_deviations_of_one_sign_are_seen():
    """25 deviations of -0.56 have a sum of squares of 7.8, of probability 0.9996, and a signed sum of -2.8, as 0.005."""
    tests = overall(np.full(25, -0.56))
    assert tests["squares"] == (pytest.approx(25 * 0.56**2), pytest.approx(0.9996, abs=1e-4))
    assert tests["signed"] == (pytest.approx(-2.8), pytest.approx(0.0051, abs=1e-4))
    alternating = overall(0.56 * (-1.0) ** np.arange(24))
    assert alternating["signed"] == (pytest.approx(0.0, abs=1e-12), pytest.approx(1.0))


def test_a_quotient_of_few_degrees_of_freedom_is_a_smaller_normal_number():
    """Student's t of four degrees is beyond 2.776 with the probability 0.05, as a normal number is beyond 1.960."""
    assert normal_number(2.776, 1.0, 4) == pytest.approx(1.960, abs=1e-3)
    assert normal_number(-2.0, 1.0, 10_000) == pytest.approx(-2.0, abs=1e-3)


def test_no_mean_where_the_state_evolution_has_several_solutions():
    cube = agreement_cube(3.0)
    with pytest.raises(ValueError, match="several solutions"):
        agreement(cube.assign(unique=0.0 * cube.mmse), alpha=0.1)
    assert (
        agreement(cube.assign(unique=1.0 + 0.0 * cube.mmse), alpha=0.1)["error"] == agreement(cube, alpha=0.1)["error"]
    )
