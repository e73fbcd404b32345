"""Readings of the audit on cubes written by hand."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.potts_mlm.readings import excess_exponent, ordered, peak


def test_peak_of_a_curve_that_diverges():
    cube = xr.Dataset(
        {"error": (("gamma", "alpha", "replica"), [[[1.0], [np.inf], [2.0], [np.nan]]])},
        {"gamma": [2.5], "alpha": [0.5, 1.0, 1.5, 2.0], "replica": [0]},
    )
    assert peak(cube, "error", "alpha", gamma=2.5) == (1.0, 0.0)


def test_exponent_and_its_error():
    """Means 0.3 and 0.1 at a factor of three: the exponent is -1. Relative errors 0.1 and 0.2 add up to sqrt(0.05) / log 3."""
    few, many = [0.27, 0.33], [0.08, 0.12]
    cube = xr.Dataset(
        {"excess_loss": (("samples", "replica"), [few, many])}, {"samples": [1000, 3000], "replica": [0, 1]}
    )
    exponent, error = excess_exponent(cube, 1000, 3000)
    assert exponent == pytest.approx(-1.0)
    assert error == pytest.approx(np.sqrt(0.05) / np.log(3.0))


def test_order_of_the_learners_is_counted_by_replica():
    """In the first replica three layers end between factored attention and one layer, in the second below factored attention.

    The third replica has no transformer, and does not count.
    """
    dims = ("distance", "samples", "layers", "optimizer", "epoch", "replica")
    last = np.array([[0.5, 0.5, np.nan], [0.3, 0.05, np.nan]])[None, None, :, None, None, :]
    cube = xr.Dataset(
        {
            "transformer_test_loss": (dims, np.concatenate([last + 1.0, last + 0.1], axis=4)),
            "transformer_optimal_loss": (("distance", "replica"), [[0.1, 0.1, 0.1]]),
            "excess_loss": (("distance", "samples", "ridge", "attention", "replica"), [[[[[0.1, 0.1, 0.1]]]]]),
        },
        {
            "distance": [0.7], "samples": [3000], "layers": [1, 3], "optimizer": ["adam"], "epoch": [5, 10],
            "replica": [0, 1, 2], "ridge": [1e-6], "attention": ["raw"],
        },
    )  # fmt: skip
    assert ordered(cube, samples=3000, ridge=1e-6, attention="raw", optimizer="adam", distance=0.7) == (0.5, 0.0)
