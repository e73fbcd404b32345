"""Promises of two layers in the attention-indexed family."""

import numpy as np
import pytest
from attention_indexed_promises import FAMILY, computed, slow_mmse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_attention_indexed import layer_information, two_layer_information
from specifications import section

pytestmark = pytest.mark.slow


@settings(max_examples=1)
@given(
    model=section(FAMILY, "two_layers_state_evolution", "model", "skip", "beta", ratio=st.floats(0.1, 2.0)),
    alpha=st.floats(0.02, 0.3),
    settles=st.just(False),
)
@example(model={"ratio": 0.5, "skip": 1.0, "beta": 1.0}, alpha=0.2, settles=True)
@example(model={"ratio": 0.5, "skip": 0.3, "beta": 1.0}, alpha=0.2, settles=True)
def test_two_layers_state_evolution_is_a_fixed_point_of_brute_force(model, alpha, settles):
    """V_l = mmse(V_l / (alpha k_l)), k_l = 2 E |z_l|^2 of 30 random outputs, each on a lattice of 200 x 200 points over the
    whole prior: five standard errors of the average and of the four scramblings (64 nodes). False-alarm rate 1e-3 per layer.
    Points that are not converged or not resolved are flagged; an example that `settles` is neither."""
    solver = {"nodes": 64, "max_iterations": 100}
    found = computed("two_layers_state_evolution", model, {"alpha": alpha}, solver=solver, replicas=4)
    if found.converged.min() < 1 or found.resolved.min() < 0.999:
        assert not settles
        return
    V = found.mmse_by_layer.values.reshape(4, 2)
    _assert_fixed_point(
        V,
        model["ratio"],
        alpha,
        *two_layer_information(V.mean(axis=0), model["skip"], model["beta"], 30, np.random.default_rng(0)),
    )


def test_two_layers_state_evolution_flags_posteriors_that_no_lattice_resolves():
    """Attention weights that jump, beta = 1000. The lattice refines to its end, so few nodes and iterations take long enough."""
    found = computed(
        "two_layers_state_evolution",
        {"ratio": 0.5, "skip": 1.0, "beta": 1000.0},
        {"alpha": 0.1},
        solver={"nodes": 16, "max_iterations": 3},
    )
    assert found.resolved.item() < 0.5


def _assert_fixed_point(V, ratio, alpha, k, error):
    """Errors V (replicas, 2) are a fixed point with k_l (2,) up to five standard errors."""
    for layer in range(2):
        at = [
            slow_mmse(ratio, V[:, layer].mean() / (alpha * max(x, 1e-9)))[0]
            for x in (k[layer], k[layer] - error[layer])
        ]
        # An error of the average moves the fixed point further than one step: by 1 / (1 - dF/dV), at most 5 away from recovery.
        spread = np.hypot(5.0 * abs(at[1] - at[0]), 5.0 * V[:, layer].std(ddof=1))
        assert abs(V[:, layer].mean() - at[0]) < spread + 1e-3


@pytest.mark.parametrize(
    ("model", "alpha"),
    [
        ({"ratio": 0.5, "skip": 1.0, "beta": 1.0, "tokens": 3, "channel": "softmax"}, 0.03),
        ({"ratio": 1.5, "skip": 2.0, "beta": 0.5, "tokens": 3, "channel": "softmax"}, 0.05),
        ({"ratio": 0.5, "skip": 0.0, "beta": 1.0, "tokens": 2, "channel": "hardmax"}, 0.5),
        ({"ratio": 1.0, "skip": 1.0, "beta": 3.0, "tokens": 2, "channel": "hardmax"}, 0.3),
    ],
)
def test_two_layers_state_evolution_of_sampled_posteriors_is_a_fixed_point_of_plain_draws(model, alpha):
    """As above, with 40 outputs by plain draws from the prior; false-alarm rate 1e-3 per layer."""
    found = computed("two_layers_state_evolution", model, {"alpha": alpha}, solver={"nodes": 64}, replicas=4)
    assert found.converged.min() == 1
    assert found.resolved.min() >= 0.95
    V = found.mmse_by_layer.values.reshape(4, 2)
    _assert_fixed_point(
        V, model["ratio"], alpha, *layer_information(model, V.mean(axis=0), 40, np.random.default_rng(0))
    )


@settings(max_examples=2)
@given(
    model=section(FAMILY, "two_layers_phases", "model", "skip", "beta", "channel"),
    grid=section(FAMILY, "two_layers_phases", "grid", "ratio"),
)
@example(model={"skip": 0.0, "beta": 10.0, "channel": "hardmax"}, grid={"ratio": 1e-9})
@example(model={"skip": 1000.0, "beta": 10.0, "channel": "hardmax"}, grid={"ratio": 0.1})
def test_two_layers_phases_are_in_order_or_missing(model, grid):
    """begin <= equal <= end where they are there; a unique curve has no turn; where the curve is not whole nothing is claimed."""
    found = computed("two_layers_phases", model, grid, solver={"nodes": 16, "degree": 6}).squeeze()
    begin, equal, end = (
        float(found[name]) for name in ("informed_begin", "information_theoretic_threshold", "uninformed_end")
    )
    ordered = [value for value in (begin, equal, end) if not np.isnan(value)]
    assert ordered == sorted(ordered)
    if found.unique:
        assert np.isnan([begin, equal, end]).all()
        assert np.all(np.diff(found.alpha_by_place) > 0)
    if np.isnan(found.followed):
        assert not found.unique
        assert np.isnan([begin, equal, end]).all()


def test_two_layers_phases_are_fixed_points_of_plain_draws():
    """The place in the middle of the curve of width 0.01, c = beta = 1, with 40 outputs by plain draws: one step of the state
    evolution leaves V within five standard errors of the average and of the four scramblings. False-alarm rate 1e-3 per layer."""
    model, ratio = {"skip": 1.0, "beta": 1.0, "tokens": 2, "channel": "hardmax"}, 0.01
    found = computed("two_layers_phases", model, {"ratio": ratio}, solver={"nodes": 64, "degree": 8}, replicas=4)
    place = found.isel(ratio=0, place=80)
    V, alpha = place.mmse_by_place.values, place.alpha_by_place.values
    k, error = layer_information(model, V.mean(axis=0), 40, np.random.default_rng(0))
    for layer in range(2):
        moved = [slow_mmse(ratio, v / (a * k[layer]))[0] - v for v, a in zip(V[:, layer], alpha, strict=True)]
        less = slow_mmse(ratio, V[0, layer] / (alpha[0] * (k[layer] - error[layer])))[0] - V[0, layer]
        assert abs(np.mean(moved)) < 5.0 * np.hypot(less - moved[0], np.std(moved, ddof=1))


@settings(max_examples=1)
@given(
    model=section(FAMILY, "two_layers_amp", "model", "skip", "beta", ratio=st.floats(0.3, 2.0)),
    grid=section(FAMILY, "two_layers_amp", "grid", alpha=st.floats(0.02, 0.3)),
    settles=st.just(0),
)
@example(model={"ratio": 0.5, "skip": 1.0, "beta": 1.0}, grid={"alpha": 0.1}, settles=2)
def test_two_layers_amp_meets_the_theory_at_its_realised_sizes(model, grid, settles):
    """Each of four data sets of dimension 50 that has converged and is resolved: errors of both layers below 1.5 times the prior
    Q = 1 + rho, and their mean within five standard errors and the corrections 2/d + 2/r + d /
    (16 n). At least `settles` data sets are such; some end beyond every posterior mean, and are flagged."""
    solver = {"dimension": 50, "max_iterations": 40, "tolerance": 1e-2}
    found = computed("two_layers_amp", model, grid, solver=solver, replicas=4)
    ratio, alpha = float(found.realised_ratio.max()), float(found.realised_alpha.max())
    sound = (found.converged & (found.resolved >= 0.999)).values.ravel()
    assert sound.sum() >= settles
    assert not np.any(found.converged & found.diverged)
    errors = found.mmse_by_layer.values.reshape(4, 2)[sound]
    assert np.all(errors < 1.5 * (1.0 + ratio))
    if len(errors) < 2:
        return
    solver = {"nodes": 64, "max_iterations": 100}
    theory = computed(
        "two_layers_state_evolution", {**model, "ratio": ratio}, {"alpha": alpha}, solver=solver, replicas=2
    )
    if theory.resolved.min() < 0.999:
        return
    expected = theory.mmse_by_layer.values.reshape(2, 2)
    allowed = 2.0 / 50 + 2.0 / (50 * ratio) + 50 / (16.0 * alpha * 2500)
    spread = 5.0 * np.hypot(errors.std(axis=0, ddof=1) / np.sqrt(len(errors)), expected.std(axis=0, ddof=1))
    assert np.all(np.abs(errors.mean(axis=0) - expected.mean(axis=0)) < spread + allowed)
