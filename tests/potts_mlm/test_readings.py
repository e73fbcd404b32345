"""Readings of the audit on cubes written by hand."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.numerics.probability.statistics import student
from attention_limits.potts_mlm.readings import (
    at_the_end,
    excess_exponent,
    good,
    good_value,
    ordered,
    peak,
    settled,
    value_at_target,
    value_of_best_start,
)


def test_peak_of_a_curve_that_diverges():
    cube = xr.Dataset(
        {"error": (("gamma", "alpha", "replica"), [[[1.0], [np.inf], [2.0], [np.nan]]])},
        {"gamma": [2.5], "alpha": [0.5, 1.0, 1.5, 2.0], "replica": [0]},
    )
    assert peak(cube, "error", "alpha", gamma=2.5) == (1.0, 0.0)


def fits(excess, chosen_converged=1, confirmed=1, agree=1):
    """A cube of fits with the excess losses (samples, replica); the flags are numbers or lists over the replicas."""
    excess = np.array(excess, dtype=float)
    flags = [np.broadcast_to(np.array(flag, dtype=float), excess.shape) for flag in (chosen_converged, confirmed)]
    dims = ("samples", "replica")
    return xr.Dataset(
        {
            "excess_loss": (dims, excess),
            "chosen": (dims, np.ones(excess.shape)),
            # The start that was not chosen has not converged.
            "converged": ((*dims, "start"), np.stack([np.zeros(excess.shape), flags[0]], axis=-1)),
            "confirmed": (dims, flags[1]),
            "sample_converged": (("replica",), np.broadcast_to(np.array(agree, dtype=float), excess.shape[1:])),
        },
        {"samples": [1000, 3000][: len(excess)], "replica": np.arange(excess.shape[1])},
    )


def test_exponent_and_its_error():
    """Means 0.3 and 0.1 at a factor of three: the exponent is -1. Relative errors 0.1 and 0.2 add up to sqrt(0.05) / log 3."""
    cube = fits([[0.27, 0.33], [0.08, 0.12]])
    exponent, error = excess_exponent(cube, 1000, 3000)
    assert exponent == pytest.approx(-1.0)
    assert error == pytest.approx(np.sqrt(0.05) / np.log(3.0) * student(2))


@pytest.mark.parametrize("flag", ["chosen_converged", "confirmed", "agree"])
def test_a_mean_holds_only_replicas_that_pass_all_flags(flag):
    """The third replica fails one flag, whichever: neither the mean nor the exponent of the audit contains it."""
    cube = fits([[0.27, 0.33, 9.0], [0.08, 0.12, 5.0]], **{flag: [1, 1, 0]})
    assert good(cube).sel(samples=1000).values.tolist() == [1.0, 1.0, 0.0]
    assert settled(cube).sel(samples=1000).values.tolist() == [1.0, 1.0, 1.0 if flag == "confirmed" else 0.0]
    assert good_value(cube, "excess_loss", samples=1000) == pytest.approx((0.3, 0.03 * student(2)))
    assert excess_exponent(cube, 1000, 3000)[0] == pytest.approx(-1.0)


def test_the_best_start_counts_in_equilibrium_alone():
    cube = fits([[0.27, 0.33, 9.0]], chosen_converged=0, confirmed=0, agree=[1, 1, 0])
    assert value_of_best_start(cube, "excess_loss", samples=1000) == pytest.approx((0.3, 0.03 * student(2)))


@pytest.mark.parametrize("flag", ["sample_converged", "distance_converged", "hamming_error", "converged"])
def test_a_frozen_instance_one_above_the_distance_and_an_open_fit_enter_no_mean(flag):
    """The chosen start is the second one; the third replica fails a flag of the samples or of this start."""
    flags = {
        name: ("replica", [1.0, 1.0, 0.0 if name == flag else 1.0])
        for name in ("sample_converged", "distance_converged")
    }
    # The error of the mean of two runs of error 0.03 is 0.021.
    slow = 0.03 if flag == "hamming_error" else 0.01
    flags["hamming_error"] = (("replica", "run"), [[0.01, 0.01], [0.01, 0.01], [slow, slow]])
    # The first start of the first replica has not converged, and is not chosen.
    flags["converged"] = (("replica", "start"), [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0 if flag == "converged" else 1.0]])
    errors = np.array([[0.9, 0.27], [0.9, 0.33], [0.9, 5.0]])
    cube = xr.Dataset(
        {"site_error": (("replica", "start"), errors), "chosen": ("replica", np.ones(3)), **flags},
        {"replica": np.arange(3)},
    )
    assert value_at_target(cube, "site_error") == pytest.approx((0.3, 0.03 * student(2)))


def test_a_figure_has_the_flags_of_the_readings():
    """A row of potts_fig2 passes `good` to every mean of factored attention: the same replicas as the audit, none otherwise."""
    from attention_limits.potts_mlm.figures import shared

    cube = fits([[0.27, 0.33, 9.0]], agree=[1, 1, 0])
    assert shared.good_mean(cube.excess_loss, good(cube)) == pytest.approx(
        good_value(cube, "excess_loss", samples=1000)[0]
    )
    none = fits([[0.27, 0.33]], agree=0)
    assert np.isnan(shared.good_mean(none.excess_loss, good(none)))


def test_the_last_epoch_is_that_of_the_learner():
    """Learners that share the axis of epochs stop at different ones; without any value the result is missing."""
    loss = xr.DataArray([[3.0, 2.0, np.nan], [4.0, np.nan, np.nan]], dims=("replica", "epoch"))
    np.testing.assert_array_equal(at_the_end(loss), [2.0, np.nan])
    np.testing.assert_array_equal(at_the_end(np.nan * loss), [np.nan, np.nan])


def test_order_of_the_learners_is_counted_by_replica():
    """In the first replica three layers end between factored attention and one layer, in the second below factored attention.

    The third replica has no transformer, the runs of the fourth disagree: they do not count. No second start confirms the fit of
    the first, whose loss is an upper bound: the order holds. The error of two instances is 0.5 times the factor 1.837 of
    Student's law with one degree of freedom.
    """
    dims = ("distance", "samples", "layers", "optimizer", "epoch", "replica")
    last = np.array([[0.5, 0.5, np.nan, 0.5], [0.3, 0.05, np.nan, 0.05]])[None, None, :, None, None, :]
    cube = fits([[0.1, 0.1, 0.1, 0.1]], confirmed=[0, 1, 1, 1], agree=[1, 1, 1, 0]).assign_coords(samples=[3000])
    cube = cube.expand_dims({"distance": [0.7], "ridge": [1e-6], "attention": ["raw"]})
    cube["transformer_test_loss"] = (dims, np.concatenate([last + 1.0, last + 0.1], axis=4))
    cube["transformer_optimal_loss"] = (("distance", "replica"), [[0.1, 0.1, 0.1, 0.1]])
    cube = cube.assign_coords(layers=[1, 3], optimizer=["adam"], epoch=[5, 10])
    point = {"samples": 3000, "ridge": 1e-6, "attention": "raw", "optimizer": "adam", "distance": 0.7}
    assert ordered(cube, **point) == pytest.approx((0.5, 0.5 * 1.837337), rel=1e-6)
    with pytest.raises(KeyError, match="no replica in equilibrium"):
        ordered(cube.assign(sample_converged=cube.sample_converged * 0.0), **point)
