import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attention_limits.numerics.probability.statistics import (
    combine_unbiased,
    lies_on_two_sides,
    mean_and_error,
    mean_with_floor,
    student,
)


def pairs(seed, correlation, spread, n=400):
    rng = np.random.default_rng(seed)
    first = rng.standard_normal(n)
    second = correlation * first + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
    return 1.0 + first, 1.0 + spread * second


@given(st.integers(0, 10**6), st.floats(-0.99, 0.99), st.floats(0.1, 10))
def test_combination_varies_no_more_than_either(seed, correlation, spread):
    first, second = pairs(seed, correlation, spread)
    combined = combine_unbiased(first, second)
    assert combined.var() <= min(first.var(), second.var()) * (1 + 1e-12)


@given(st.integers(0, 10**6), st.floats(-0.99, 0.99), st.floats(0.1, 10))
def test_combination_is_the_best_weighted_sum(seed, correlation, spread):
    first, second = pairs(seed, correlation, spread)
    weights = np.linspace(0, 1, 201)[:, None]
    best = (weights * first + (1 - weights) * second).var(axis=1).min()
    assert combine_unbiased(first, second).var() <= best * (1 + 1e-12)


@pytest.mark.parametrize(("correlation", "spread"), [(0.0, 1.0), (-0.9, 2.0), (0.6, 0.5)])
def test_combination_is_unbiased(correlation, spread):
    """4000 replicas of 50 samples; |t| < 4.5 with false-alarm rate 7e-6 each. The weight is correlated with the samples, a
    bias that vanishes for these symmetric distributions."""
    means = np.array([combine_unbiased(*pairs((seed, 7), correlation, spread, 50)).mean() for seed in range(4000)])
    assert abs(means.mean() - 1.0) < 4.5 * means.std() / np.sqrt(len(means))


def test_entries_are_combined_separately():
    first, second = (np.stack(rows, axis=1) for rows in zip(pairs(1, 0.3, 0.5), pairs(2, -0.3, 4.0), strict=True))
    combined = combine_unbiased(first, second)
    for k in range(2):
        np.testing.assert_allclose(combined[:, k], combine_unbiased(first[:, k], second[:, k]))


def test_identical_and_constant_estimates():
    x = np.arange(5.0)
    np.testing.assert_allclose(combine_unbiased(x, x), x)
    np.testing.assert_allclose(combine_unbiased(np.full(5, 2.0), x), 2.0)


def test_mean_and_error_of_complete_replicas():
    values = np.random.default_rng(3).standard_normal((6, 4))
    mean, error = mean_and_error(values)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(error, values.std(axis=0, ddof=1) / np.sqrt(6) * student(6))
    for found, expected in zip(mean_and_error(values.T, axis=1), (mean, error), strict=True):
        np.testing.assert_allclose(found, expected)


def test_missing_replicas_are_left_out():
    values = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan], [8.0, np.nan, np.nan]])
    mean, error = mean_and_error(values)
    np.testing.assert_allclose(mean, [4.0, 5.0, np.nan])
    np.testing.assert_allclose(error, [np.std([1, 3, 8], ddof=1) / np.sqrt(3) * student(3), np.nan, np.nan])


@pytest.mark.parametrize("count", [2, 3, 4, 7, 100])
def test_the_factor_is_that_of_students_law(count):
    assert stats.t.sf(student(count), count - 1) == pytest.approx(stats.norm.sf(1.0), rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_one_error_holds_the_mean_of_normal_replicas_with_the_stated_probability(count):
    """4000 means; five standard deviations of the fraction, one false alarm in 10^6; without the factor 0.50, 0.58, 0.61."""
    values = np.random.default_rng(5).standard_normal((4000, count))
    mean, error = mean_and_error(values, axis=1)
    expected = 0.6827 if count < 8 else 2.0 * stats.t.cdf(1.0, 7) - 1.0
    assert abs(np.mean(np.abs(mean) < error) - expected) < 5.0 * np.sqrt(expected * (1.0 - expected) / 4000)


def test_one_replica_has_no_error():
    mean, error = mean_and_error([2.0])
    assert mean == 2.0
    assert np.isnan(error)


@pytest.mark.parametrize("replicas", [2, 4, 8, 32])
def test_noise_is_no_jump(replicas):
    """20 points of normal replicas on a line have two sides at the stated rates (1000 curves, fixed seed)."""
    rng = np.random.default_rng(3)
    x = np.linspace(0.0, 1.0, 20)[:, None]
    found = [lies_on_two_sides(x + 0.1 * rng.standard_normal((20, replicas))).mean() for _ in range(1000)]
    assert np.mean(found) < (2e-3 if replicas == 2 else 2e-4)


@pytest.mark.parametrize("replicas", [2, 4, 8])
def test_two_sides_of_a_jump(replicas):
    """One replica has jumped earlier than the others, with noise of a hundredth of the jump."""
    rng = np.random.default_rng(4)
    values = np.repeat([0.2, 0.2, 0.2, 0.9, 0.9], replicas).reshape(5, replicas) + 0.007 * rng.standard_normal(
        (5, replicas)
    )
    values[2, 0] += 0.7
    values[4, 1:] = np.nan
    assert lies_on_two_sides(values).tolist() == [False, False, True, False, False]
    assert not lies_on_two_sides(np.full((3, replicas), np.nan)).any()


def test_a_mean_has_at_least_the_error_that_its_replicas_show():
    """Three equal values of error 0.3; values that scatter by more; a value without an error, and none at all."""
    nan = np.nan
    values = [[1.0, 1.0, 1.0], [0.0, 3.0, nan], [2.0, 2.0, nan], [nan, nan, nan]]
    own = [[0.3, 0.3, 0.3], [0.3, 0.3, 0.3], [0.4, nan, 0.3], [0.3, 0.3, 0.3]]
    mean, error = mean_with_floor(values, own)
    np.testing.assert_allclose(mean, [1.0, 1.5, 2.0, nan])
    np.testing.assert_allclose(error, [0.3 / np.sqrt(3), 1.5 * student(2), 0.4, nan])
