"""Functions for loops against those of NumPy: over their range, and at zero, infinity and NaN."""

import numpy as np
import pytest

from attention_limits.numerics.tracing import elementary

ONE = ["ceil", "floor", "exp", "log", "log1p", "expm1", "tanh", "sinh", "cosh", "sign"]
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, 1e-310, 2.3e-308, 1e308, -1e308, 800.0, -800.0]
)


def values(name, x):
    return np.array([getattr(elementary, name)(number) for number in x])


@pytest.mark.parametrize("name", ONE)
def test_values_over_the_range(name):
    rng = np.random.default_rng(0)
    x = np.concatenate([scale * rng.standard_normal(400) for scale in (1e-12, 1e-3, 0.1, 1.0, 10.0, 200.0)])
    if name in ("log", "log1p"):
        x = np.abs(x) * (0.9 if name == "log1p" else 1.0)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            values(name, x), getattr(np, name)(x), rtol=1e-12, atol=1e-12 if "log" in name else 0.0
        )


@pytest.mark.parametrize("name", ONE)
def test_zero_infinity_and_nan(name):
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(SPECIAL)
        found = values(name, SPECIAL)
    # Below the smallest normal number exp is not exact; its weight is nothing.
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-300)


def test_largest_and_smallest_propagate_nan():
    pairs = np.array([(x, y) for x in SPECIAL for y in SPECIAL])
    for name in ("maximum", "minimum"):
        found = np.array([getattr(elementary, name)(x, y) for x, y in pairs])
        np.testing.assert_array_equal(found, getattr(np, name)(*pairs.T))


def test_logistic():
    x = np.array([-800.0, -30.0, -1.0, 0.0, 1e-8, 2.0, 30.0, 800.0, np.inf, -np.inf])
    expected = 1.0 / (1.0 + np.exp(-np.clip(x, -700, 700)))
    expected[[0, 9]] = 0.0
    np.testing.assert_allclose(values("logistic", x), expected, rtol=1e-12, atol=1e-300)
