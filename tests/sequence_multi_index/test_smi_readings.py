import numpy as np
import pytest
import xarray as xr

from attention_limits.sequence_multi_index.readings import equal_free_entropy, recovery, threshold_of_layer


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
    """Two replicas that agree by chance; the second step has no stated error, and a spread of 0.1."""
    own = [[0.03, np.nan], [0.04, np.nan]]
    cube = staircase_cube([[[0, 1], [1, 0]]] * 2, [[0.2, 0.7], [0.2, 0.9]], own)
    assert threshold_of_layer(cube, 2) == pytest.approx((0.2, 0.025))
    assert threshold_of_layer(cube, 1) == pytest.approx((0.8, 0.1))


def test_layers_that_are_learned_in_one_step_share_its_threshold():
    cube = staircase_cube([[[0.5, 0.5]]] * 2, [[0.6], [0.8]], [[0.01], [0.01]])
    assert threshold_of_layer(cube, 1) == threshold_of_layer(cube, 2) == pytest.approx((0.7, 0.1))


def test_recovery_is_the_middle_of_the_brackets():
    """Two replicas at 1.5 and 1.7: error 0.1, and half of a bracket of width 0.2."""
    dims = ("noise", "replica")
    cube = xr.Dataset({"recovery_below": (dims, [[1.4, 1.6]]), "recovery_above": (dims, [[1.6, 1.8]])})
    assert recovery(cube) == pytest.approx((1.6, np.hypot(0.1, 0.1)))


def test_free_entropies_are_equal_between_the_points_of_the_grid():
    """Gains -1, 1 and -1, 3 between alpha = 1 and 2: zeros at 1.5 and 1.25; a replica without a zero is left out."""
    gain = np.array([[-1.0, -1.0, -1.0], [1.0, 3.0, -0.5]])
    entropy = np.stack([np.zeros_like(gain), gain], axis=-1)
    cube = xr.Dataset(
        {"free_entropy_by_start": (("alpha", "replica", "init"), entropy)},
        {"alpha": [1.0, 2.0], "init": ["uninformed", "informed"]},
    )
    assert equal_free_entropy(cube) == pytest.approx((1.375, 0.125))
