"""Numbers read off cubes: what they are, and what is missing."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.sequence_multi_index.readings import threshold_of_layer
from attention_limits.sequence_single_index.readings import equal_curvatures, gain_exponent


def test_crossing_of_curvatures_beside_runs_with_more_replicas():
    omega = np.array([0.0, 0.3, 0.5, 1.0])
    # Two replicas with theory, crossing at 0.4 and 0.6, three more with runs alone; no theory at 0.3.
    position = np.full((4, 5), np.nan)
    position[:, 0], position[:, 1] = 0.4 - omega, 0.6 - omega
    position[1] = np.nan
    cube = xr.Dataset(
        {
            "curvature_position": (("omega", "replica"), position),
            "curvature_semantic": (("omega", "replica"), np.zeros((4, 5))),
        },
        {"omega": omega},
    )
    assert equal_curvatures(cube) == pytest.approx((0.5, 0.1))
    with pytest.raises(KeyError):
        equal_curvatures(cube.isel(omega=slice(2)))


def test_gain_exponent_of_a_power_law():
    """Escape steps 100 L^2 of untied and 100 of tied weights, with a spread of one per cent."""
    tokens = np.array([1, 2, 4])
    spread = np.array([0.99, 1.01])
    untied = xr.Dataset(
        {
            "escape_step": (("tokens", "replica"), 100.0 * tokens[:, None] ** 2 * spread),
            "escaped": (("tokens", "replica"), np.ones((3, 2), bool)),
        },
        {"tokens": tokens},
    )
    tied = untied.assign(escape_step=(("tokens", "replica"), 100.0 * np.ones((3, 1)) * spread))
    tied = tied.expand_dims({"learning_rate_exponent": [1.0]}, axis=1).transpose(
        "tokens", "learning_rate_exponent", "replica"
    )
    exponent, error = gain_exponent(tied, untied, 1.0)
    assert exponent == pytest.approx(2.0)
    assert 0 < error < 0.02


def staircase_cube(direction, threshold, error):
    """A cube of two layers: directions (replica, step, 2) on the diagonal, thresholds and own errors (replica, step)."""
    direction = np.einsum("rsl,lm->rslm", np.asarray(direction, dtype=float), np.eye(2))
    dims = ("replica", "step")
    return xr.Dataset(
        {
            "direction": ((*dims, "layer", "layer_star"), direction),
            "threshold": (dims, np.asarray(threshold)),
            "threshold_error": (dims, np.asarray(error)),
        },
        {"layer": [1, 2], "layer_star": [1, 2]},
    )


def test_error_of_a_threshold_is_at_least_that_of_its_nodes():
    """Two replicas that agree by chance; the second step has no error of its own, and a spread of 0.1."""
    own = [[0.03, np.nan], [0.04, np.nan]]
    cube = staircase_cube([[[0, 1], [1, 0]]] * 2, [[0.2, 0.7], [0.2, 0.9]], own)
    assert threshold_of_layer(cube, 2) == pytest.approx((0.2, 0.025))
    assert threshold_of_layer(cube, 1) == pytest.approx((0.8, 0.1))


def test_layers_that_are_learnt_in_one_step_share_its_threshold():
    cube = staircase_cube([[[0.5, 0.5]]] * 2, [[0.6], [0.8]], [[0.01], [0.01]])
    assert threshold_of_layer(cube, 1) == threshold_of_layer(cube, 2) == pytest.approx((0.7, 0.1))
