import json

import numpy as np
import pytest
import xarray as xr

from attention_limits.numerics.probability.statistics import student
from attention_limits.sequence_multi_index.readings import (
    EASY,
    HARD,
    IMPOSSIBLE,
    branch_of_layer,
    equal_free_entropy,
    layer_threshold,
    lowest_start,
    phases,
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
        "threshold_node_error": np.full(threshold.shape, shift), "step_converged": np.ones(threshold.shape),
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
    assert threshold_of_layer(cube, 1) == pytest.approx((0.8, 0.1 * student(2)))


def test_layers_that_are_learned_in_one_step_share_its_threshold():
    cube = staircase_cube([[[0.5, 0.5]]] * 2, [[0.6], [0.8]], [[0.01], [0.01]])
    assert threshold_of_layer(cube, 1) == threshold_of_layer(cube, 2) == pytest.approx((0.7, 0.1 * student(2)))


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
    assert public_step(cube, 1, 1.5) == (pytest.approx(0.5), pytest.approx(0.1 * student(2)))


def test_recovery_is_the_middle_of_the_brackets():
    """Two replicas at 1.5 and 1.7: error 0.1, half of a bracket of width 0.2, and 0.1 from few nodes."""
    dims = ("noise", "replica")
    numbers = {"recovery_below": [[1.4, 1.6]], "recovery_above": [[1.6, 1.8]], "recovery_node_error": [[0.1, 0.1]]}
    cube = xr.Dataset({name: (dims, values) for name, values in numbers.items()})
    assert recovery(cube) == pytest.approx((1.6, np.sqrt(0.02 + 0.01 * student(2) ** 2)))


def phase_cube(entropy, overlap, entropy_shift=0.0, overlap_shift=0.0, learned=True, converged=True):
    """A cube of `phase_comparison` of one row, gap 0.01: arrays (alpha, replica, init)."""
    entropy, dims = np.asarray(entropy, dtype=float), ("alpha", "replica", "init")
    matrices = {"overlap_by_start": overlap, "overlap_by_start_node_error": overlap_shift}
    numbers = {
        "free_entropy_by_start": entropy, "free_entropy_by_start_node_error": entropy_shift, "learned_by_start": learned,
        "converged_by_start": converged,
    }  # fmt: skip
    pair = ("layer", "layer_star")
    variables = {
        name: ((*dims, *pair), np.broadcast_to(value, entropy.shape)[..., None, None])
        for name, value in matrices.items()
    }
    variables |= {name: (dims, np.broadcast_to(value, entropy.shape)) for name, value in numbers.items()}
    inits = ["uninformed", "informed", "random 1"][: entropy.shape[-1]]
    coordinates = {"alpha": 1.0 + np.arange(len(entropy)), "layer": [1], "layer_star": [1], "init": inits}
    spec = {"estimators": {"phase_comparison": {"solver": {"gap": 0.01}}}}
    return xr.Dataset(variables, coordinates, {"spec": json.dumps(spec)})


# Four replicas of an uninformed and an informed fixed point, overlaps 0.3 and 0.4.
APART = [0.3, 0.4]


def gains(*values):
    return [[[0.0, value] for value in values]]


@pytest.mark.parametrize(
    ("more", "phase"),
    [
        ({"entropy": gains(0.10, 0.11, 0.09, 0.10)}, HARD),
        ({"entropy": gains(-0.10, -0.11, -0.09, -0.10)}, EASY),
        ({"entropy": gains(-0.10, -0.11, -0.09, -0.10), "learned": [False, True]}, IMPOSSIBLE),
        # Three of four scramblings have the sign of the mean: the mean is 1.9 standard errors above zero.
        ({"entropy": gains(0.05, 0.15, 0.10, -0.02)}, np.nan),
        # No scatter: the errors of few nodes decide, 0.05 in each replica and of one sign.
        ({"entropy": gains(0.1, 0.1, 0.1, 0.1), "entropy_shift": [0.0, 0.05]}, np.nan),
        # What both starts share is no error of the difference.
        ({"entropy": gains(0.1, 0.1, 0.1, 0.1), "entropy_shift": [0.05, 0.05]}, HARD),
        # The overlaps differ by 0.1, within three errors of few nodes.
        ({"entropy": gains(0.1, 0.1, 0.1, 0.1), "overlap_shift": [0.0, 0.05]}, np.nan),
        # One fixed point within the gap, whatever the rounding of the free entropy.
        ({"entropy": gains(1e-9, 1e-9, 1e-9, 1e-9), "overlap": [0.300, 0.302]}, EASY),
        ({"entropy": gains(1e-9, 1e-9, 1e-9, 1e-9), "overlap": [0.300, 0.302], "overlap_shift": [0.0, 0.02]}, np.nan),
        ({"entropy": gains(np.inf, np.inf, np.inf, np.inf)}, HARD),
        ({"entropy": gains(np.inf, np.inf, np.inf, 0.5)}, np.nan),
        # Exact on all nodes, not on few.
        ({"entropy": gains(*[np.inf] * 4), "entropy_shift": [0.0, -np.inf]}, np.nan),
        ({"entropy": [[[np.inf, np.inf]] * 4], "overlap": [0.3, 0.4]}, np.nan),
        # Replicas that fail have no part; two of four are enough, one is not.
        ({"entropy": gains(0.1, 0.11, -9, -9), "converged": [[[True, True]] * 2 + [[True, False]] * 2]}, HARD),
        ({"entropy": gains(0.1, -9, -9, -9), "converged": [[[True, True]] + [[True, False]] * 3]}, np.nan),
        # The replicas disagree on whether anything is learned.
        ({"entropy": gains(0, 0, 0, 0), "overlap": [0.0, 0.0], "learned": [[[True, True]] + [[False, False]] * 3]}, np.nan),
        # A random start finds a better fixed point than both.
        ({"entropy": [[[0.0, 0.0, 0.1]] * 4], "overlap": [0.3, 0.3, 0.5]}, HARD),
        ({"entropy": [[[0.0, 0.0, -0.1]] * 4], "overlap": [0.3, 0.3, 0.5]}, EASY),
        ({"entropy": [[[0.0, 0.0, -0.1]] * 4], "overlap": [0.3, 0.3, 0.5], "converged": [True, True, False]}, np.nan),
    ],
)  # fmt: skip
def test_a_phase_is_decided_over_all_replicas_together(more, phase):
    np.testing.assert_array_equal(phases(phase_cube(**{"overlap": APART, **more})).phase, [phase])


def test_copies_that_a_symmetry_exchanges_are_one_fixed_point():
    """diag(0.9, 0.2) and diag(0.2, 0.9) have one spectrum; with equal free entropies neither is better than the other."""
    rng = np.random.default_rng(3)
    entropy = np.stack([np.zeros(4), np.array([1e-3, -1e-3, 2e-3, -1e-3])], axis=1)[None]
    cube = phase_cube(entropy, APART).drop_dims(("layer", "layer_star"))
    overlap = np.stack([np.diag([0.9, 0.2]), np.diag([0.2, 0.9])]) + 1e-4 * rng.standard_normal((1, 4, 2, 1, 1))
    for name, values in (("overlap_by_start", overlap), ("overlap_by_start_node_error", 0.0 * overlap)):
        cube[name] = (("alpha", "replica", "init", "layer", "layer_star"), values)
    assert phases(cube).phase.item() == EASY
    cube["free_entropy_by_start"] = cube.free_entropy_by_start + xr.DataArray([0.0, 1.0], {"init": cube.init}, "init")
    assert phases(cube).phase.item() == HARD


def test_exact_and_unique():
    cube = phase_cube(
        [[[np.inf, np.inf]] * 4, [[0.0, 0.0]] * 4, [[0.0, 0.5]] * 4], [[[1.0, 1.0]], [[0.3, 0.3]], [[0.3, 0.4]]]
    )
    found = phases(cube)
    np.testing.assert_array_equal(found.phase, [EASY, EASY, HARD])
    np.testing.assert_array_equal(found.exact, [True, False, False])
    np.testing.assert_array_equal(found.unique, [True, True, False])


def test_free_entropies_are_equal_where_the_mean_gain_is_zero():
    """Mean gains -1 at alpha = 1 and 1 at 2: zero at 1.5. Their errors, 0.1 and 0.3, act in one direction: 0.2 over the slope
    2."""
    gain = np.array([[-1.1, -0.9], [0.7, 1.3]])
    cube = phase_cube(np.stack([np.zeros_like(gain), gain], axis=-1), APART)
    assert equal_free_entropy(cube) == pytest.approx((1.5, 0.1 * student(2)))
    shifted = phase_cube(np.stack([np.zeros_like(gain), gain], axis=-1), APART, entropy_shift=[0.0, 0.4])
    # The shift of 0.4 is shared by both replicas; the floor of each error is 0.4 / sqrt(2).
    assert equal_free_entropy(shifted)[1] == pytest.approx(
        0.5 * (np.hypot(0.4, 0.4 / 2**0.5) + np.hypot(0.4, 0.3 * student(2))) / 2.0
    )
    assert np.isnan(equal_free_entropy(phase_cube(gains(1.0, 1.0) * 2, APART))).all()


def starts_cube(objective, cosine, converged=True):
    """A cube of `erm_minimisation` of one row at one alpha: arrays (replica, init); target of norm two, student of norm one."""
    objective, cosine = np.asarray(objective, dtype=float), np.asarray(cosine, dtype=float)
    dims, pair = ("alpha", "replica", "init"), ("layer", "layer_star")
    return xr.Dataset(
        {
            "objective_by_start": (dims, objective[None]),
            "overlap_by_start": ((*dims, *pair), 2.0 * cosine[None, ..., None, None]),
            "student_norm_by_start": ((*dims, "layer", "layer_other"), np.ones((1, *cosine.shape, 1, 1))),
            "target_norm": (("alpha", "replica", "layer_star", "layer_star_other"), np.full((1, len(cosine), 1, 1), 4.0)),
            "converged_by_start": (dims, np.broadcast_to(converged, objective.shape)[None]),
        },
        {
            "alpha": [2.0], "init": ["target", "random 1"],
            **{dim: [1] for dim in ("layer", "layer_other", "layer_star", "layer_star_other")},
        },
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rise", "cosine", "start", "decided"),
    [
        (np.ones(10), 0.1, "target", True),
        (-np.ones(10), 0.1, "random 1", True),
        (np.ones(9), 0.1, "target", False),
        (np.array([-1.0, *np.ones(9)]), 0.1, "target", False),
        (np.array([-1.0, *np.ones(13)]), 0.1, "target", True),
        (1e-12 * np.array([1.0, 1.0, -1.0]), -0.9, "target", True),
    ],
    ids=["larger", "smaller", "few data sets", "one exception of 10", "one of 14", "one minimum with another sign"],
)
def test_the_start_of_the_smallest_objective(rise, cosine, start, decided):
    """Sign test at three standard deviations, 0.00135: 2^-10 = 0.00098, 11 2^-10 = 0.011, 15 2^-14 = 0.0009."""
    count = len(rise)
    cube = starts_cube(np.stack([np.ones(count), 1.0 + 0.5 * rise], axis=1), np.full((count, 2), [0.9, cosine]))
    found = lowest_start(cube)
    assert found.start.item() == start
    assert found.decided.item() is decided


def test_no_start_is_the_lowest_without_data_sets_that_converge():
    found = lowest_start(starts_cube(np.ones((2, 2)), np.ones((2, 2)), [[True, False], [False, True]]))
    assert found.start.item() == ""
    assert not found.decided.item()
