import numpy as np
import pytest
import xarray as xr

from attention_limits.sequence_multi_index.readings import (
    branch_of_layer,
    equal_free_entropy,
    layer_threshold,
    public_step,
    recovery,
    threshold_of_layer,
)


def staircase_cube(direction, threshold, error, shift=0.0):
    """A cube of P layers: directions (replica, step, P) on the diagonal, thresholds and own errors (replica, step).

    The layers of the steps before have the overlap 0.9.
    """
    direction = np.asarray(direction, dtype=float)
    before = 0.9 * (np.cumsum(direction, axis=1) - direction > 0)
    threshold, layers = np.asarray(threshold), 1 + np.arange(direction.shape[-1])
    dims = ("replica", "step")
    matrices = {
        name: ((*dims, "layer", "layer_star"), np.einsum("rsl,lm->rslm", values, np.eye(len(layers))))
        for name, values in (("direction", direction), ("overlap_at_threshold", before))
    }
    numbers = {
        "threshold": threshold, "threshold_error": np.asarray(error), "step_resolved": np.ones(threshold.shape),
        "threshold_node_error": np.full(threshold.shape, shift),
    }  # fmt: skip
    return xr.Dataset(
        matrices | {name: (dims, values) for name, values in numbers.items()},
        {"layer": layers, "layer_star": layers},
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


def test_threshold_is_the_mean_over_one_branch():
    """Three layers, six replicas of 512 nodes at c = 1: noise joins layers 1 and 2 in the last one.

    Its 1.038 is the threshold of layer 1 with layer 3 known, not that of layer 2 with layers 1 and 3 known.
    """
    one, two, three = np.eye(3)
    directions = [[three, one, two]] * 5 + [[three, 0.5 * (one + two), np.zeros(3)]]
    second = [0.935, 1.011, 0.959, 1.088, 0.969, 1.038]
    third = [1.155, 1.115, 1.157, 1.136, 1.124, np.nan]
    thresholds = np.stack([np.full(6, 0.207), second, third], axis=1)
    cube = staircase_cube(directions, thresholds, np.zeros((6, 3)))
    assert threshold_of_layer(cube, 2)[0] == pytest.approx(np.mean(third[:5]))
    assert threshold_of_layer(cube, 1)[0] == pytest.approx(np.mean(second[:5]))
    np.testing.assert_array_equal(np.isfinite(layer_threshold(cube, 2)), [True] * 5 + [False])
    branch = branch_of_layer(cube, 2)
    np.testing.assert_array_equal(branch.known, [True, False, True])
    assert not branch.together.any()
    # A branch with fewer than half of the replicas gives no number.
    others = staircase_cube(
        [[three, one, two], [three, two, one], [two, three, one]], np.ones((3, 3)), np.zeros((3, 3))
    )
    assert np.isnan(threshold_of_layer(others, 2)[0])


def test_a_step_of_two_layers_is_named():
    cube = staircase_cube([[[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]] * 2, [[0.2, 1.04], [0.2, 1.05]], np.zeros((2, 2)))
    branch = branch_of_layer(cube, 1)
    np.testing.assert_array_equal(branch.known, [False, False, True])
    np.testing.assert_array_equal(branch.together, [False, True, False])


def test_error_of_few_nodes_does_not_fall_with_the_replicas():
    """A shift of 0.05 by few nodes that all replicas share, with no scatter."""
    cube = staircase_cube([[[0, 1], [1, 0]]] * 16, [[0.2, 0.7]] * 16, np.zeros((16, 2)), shift=0.05)
    assert threshold_of_layer(cube, 1) == pytest.approx((0.7, 0.05))


def test_a_step_of_the_public_map_keeps_outputs_that_its_quadratures_miss():
    dims = ("alpha", "replica", "iteration", "layer", "layer_star")
    steps = np.array([0.4, 0.6])[None, :, None, None, None]
    coordinates = {"alpha": [1.5], "replica": [0, 1], "iteration": [1], "layer": [1], "layer_star": [1]}
    cube = xr.Dataset({"overlap_trajectory": (dims, steps), "resolved": (dims[:2], [[0.6, 0.8]])}, coordinates)
    assert public_step(cube, 1, 1.5) == (pytest.approx(0.5), pytest.approx(0.1))


def test_recovery_is_the_middle_of_the_brackets():
    """Two replicas at 1.5 and 1.7: error 0.1, half of a bracket of width 0.2, and 0.1 from few nodes."""
    dims = ("noise", "replica")
    numbers = {"recovery_below": [[1.4, 1.6]], "recovery_above": [[1.6, 1.8]], "recovery_node_error": [[0.1, 0.1]]}
    cube = xr.Dataset({name: (dims, values) for name, values in numbers.items()})
    assert recovery(cube) == pytest.approx((1.6, np.sqrt(0.03)))


def test_free_entropies_are_equal_between_the_points_of_the_grid():
    """Gains -1, 1 and -1, 3 between alpha = 1 and 2: zeros at 1.5 and 1.25; a replica without a zero is left out."""
    gain = np.array([[-1.0, -1.0, -1.0], [1.0, 3.0, -0.5]])
    entropy = np.stack([np.zeros_like(gain), gain], axis=-1)
    cube = xr.Dataset(
        {"free_entropy_by_start": (("alpha", "replica", "init"), entropy)},
        {"alpha": [1.0, 2.0], "init": ["uninformed", "informed"]},
    )
    assert equal_free_entropy(cube) == pytest.approx((1.375, 0.125))
