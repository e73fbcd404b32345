"""The estimators, end to end on tiny problems."""

import numpy as np
import pytest
from aim_tools import (
    FAMILY,
    GRADIENT_DESCENT,
    LAYERS_DESCENT,
    ONE_LAYER,
    PHASES,
    SIZES,
    TWO_LAYERS,
    UNTIED,
    computed,
    estimator,
    load,
)

from attention_limits.pipeline.cubes.cube_bytes import annotate

pytestmark = pytest.mark.slow


def test_theory_and_amp_of_one_layer(tmp_path):
    parts = load(tmp_path, ONE_LAYER).estimators
    theory, amp = computed(parts["state_evolution"]), computed(parts["matrix_amp"])
    assert theory.mmse.dims == ("alpha", "ratio", "replica")
    assert float(theory.mmse.sel(alpha=0.0, ratio=1.0, replica=0)) == 1.0
    assert float(theory.mmse.sel(alpha=0.3, ratio=1.0, replica=0)) == 0.0
    np.testing.assert_allclose(theory.recovery_threshold.sel(alpha=0.1, replica=0), [0.1875, 0.25])
    assert (amp.width == 8).all()
    np.testing.assert_allclose(amp.realised_ratio, 8 / 15)
    np.testing.assert_allclose(amp.realised_alpha.sel(alpha=0.1, ratio=0.52), 22 / 225)
    assert amp.mmse_by_iteration.dims == ("alpha", "ratio", "replica", "iteration")
    np.testing.assert_array_equal(amp.mmse_by_iteration.isel(iteration=amp.iterations - 1), amp.mmse)
    assert amp.sizes["eigenvalue"] == 15


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (ONE_LAYER, "matrix_amp"),
        (SIZES, "matrix_amp_sizes"),
        (SIZES, "posterior_sampling"),
        (GRADIENT_DESCENT, "gradient_descent"),
        (TWO_LAYERS, "two_layers_state_evolution"),
        (TWO_LAYERS, "two_layers_amp"),
        (LAYERS_DESCENT, "layers_descent"),
        (PHASES, "two_layers_phases"),
        (UNTIED, "untied_descent"),
        (UNTIED, "untied_amp"),
    ],
)
def test_a_point_is_the_same_in_any_block_and_every_variable_is_registered(tmp_path, document, name):
    part = load(tmp_path, document).estimators[name]
    whole = annotate(computed(part), FAMILY, list(part.grid))
    key = "alpha" if "alpha" in part.grid else "ratio"
    point = {key: [part.grid[key][1]]}
    alone = computed(part, [1], **point)
    for variable in alone.data_vars:
        there = whole[variable].sel(**point, replica=[1]).transpose(*alone[variable].dims).values
        # Blocks may order the sums of single precision otherwise.
        np.testing.assert_allclose(there, alone[variable].values, rtol=1e-5, atol=1e-6)
    first, second = (
        [whole[variable].isel(replica=r).values for variable in whole.data_vars if "teacher" not in variable]
        for r in (0, 1)
    )
    assert not all(np.array_equal(one, other, equal_nan=True) for one, other in zip(first, second, strict=True))


def test_small_width(tmp_path):
    model = {"channel": "softmax", "tokens": 2}
    grid = {"ratio": [0.0, 0.1], "rescaled_alpha": [0.2, 0.3]}
    found = computed(load(tmp_path, estimator("small_width_limit", model, grid)).estimators["small_width_limit"])
    np.testing.assert_allclose(found.mmse.sel(ratio=0.0, replica=0), [1.0, 0.96])
    assert float(found.weak_threshold[0, 0, 0]) == 0.25


def test_errors_of_the_hardmax_come_with_their_bound(tmp_path):
    """Three tokens: the bound is positive, below 1 % of the error, and zero for two; the law of large alpha is there for both."""
    document = estimator(
        "state_evolution", {"channel": "hardmax", "ratio": 0.5}, {"tokens": [2, 3], "alpha": [0.1, 10.0]}
    )
    found = computed(load(tmp_path, document).estimators["state_evolution"]).isel(replica=0)
    assert (found.mmse_error.sel(tokens=2) == 0).all()
    relative = (found.mmse_error / found.mmse).sel(tokens=3)
    assert (relative > 0).all()
    assert (relative < 0.01).all()
    np.testing.assert_allclose(found.mmse.sel(alpha=10.0), found.mmse_tail.sel(alpha=10.0), rtol=0.1)


def test_more_starts_leave_the_first_ones_unchanged(tmp_path):
    few = computed(load(tmp_path, GRADIENT_DESCENT).estimators["gradient_descent"], [0], alpha=[0.2])
    part = GRADIENT_DESCENT["estimators"]["gradient_descent"]
    more = {**GRADIENT_DESCENT, "estimators": {"gradient_descent": {**part, "solver": {**part["solver"], "starts": 4}}}}
    many = computed(load(tmp_path, more).estimators["gradient_descent"], [0], alpha=[0.2])
    assert many.average.values.tolist() == [1, 2, 4]
    assert few.step.values.tolist() == [0, 10, 15]
    np.testing.assert_allclose(many.mmse_by_start[..., :3], few.mmse_by_start, rtol=1e-4)
    np.testing.assert_allclose(many.mmse_average.sel(average=1), many.mmse_by_start.mean("start"), rtol=1e-12)


def test_phases_of_two_layers(tmp_path):
    """Width 0.003 has a jump, 0.2 has none on all nodes. The curve of fixed points runs from the prior to the smallest error."""
    found = computed(load(tmp_path, PHASES).estimators["two_layers_phases"], [0])
    narrow, wide = (found.sel(ratio=ratio, replica=0) for ratio in (0.003, 0.2))
    assert not narrow.unique
    assert narrow.informed_begin < narrow.information_theoretic_threshold < narrow.uninformed_end < narrow.followed
    assert np.isnan([wide.informed_begin, wide.information_theoretic_threshold, wide.uninformed_end]).all()
    assert wide.followed > wide.alpha_by_place.isel(place=0)
    for part in (narrow, wide):
        assert part.mmse_by_place.isel(place=0).min() > 0.9
        np.testing.assert_allclose(part.mmse_by_place.isel(place=-1).min(), 0.01, rtol=0.2)
    assert np.all(np.diff(wide.alpha_by_place) > 0)


def test_both_starts_of_amp_see_the_same_data_and_meet(tmp_path):
    """A single fixed point: both runs end at it. The start of error one is the run without the axis, on its data."""
    model, solver = {"ratio": 0.5, "skip": 1.0}, {"dimension": 40, "max_iterations": 150, "fresh_sequences": 10}
    grid = {"alpha": [0.2]}
    name = "two_layers_amp"
    plain = computed(load(tmp_path, estimator(name, model, grid, solver=solver)).estimators[name]).isel(
        alpha=0, replica=0
    )
    grid = {**grid, "start_error": [0.1, 1.0]}
    both = computed(load(tmp_path, estimator(name, model, grid, solver=solver)).estimators[name]).isel(
        alpha=0, replica=0
    )
    np.testing.assert_array_equal(both.mmse_by_layer.sel(start_error=1.0), plain.mmse_by_layer)
    assert both.converged.values.all()
    np.testing.assert_allclose(*both.mmse_by_layer.transpose("start_error", "layer").values, rtol=0.03)
