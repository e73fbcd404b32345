"""Readings and figures of the attention-indexed family get the product of all flags of a point."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.attention_indexed.figures.erm import erm_shared
from attention_limits.attention_indexed.figures.extensions import layers, two_layers
from attention_limits.attention_indexed.readings import mean_of_passed
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import new_figure

ALPHA = [0.1, 0.2]


def points(**flags):
    """Two points of three replicas, with all flags good but for the given ones (alpha, replica)."""
    dims, good = ("alpha", "replica"), np.ones((2, 3))
    values = {name: (dims, np.array(flags.get(name, good), float)) for name in flags}
    return xr.Dataset(
        {"converged": (dims, good), "mse": (dims, good.copy()), **values}, {"alpha": ALPHA, "replica": range(3)}
    )


@pytest.mark.parametrize("flag", ["converged", "unique", "replica_symmetric", "resolved"])
def test_each_flag_alone_makes_a_point_fail(flag):
    bad = np.ones((2, 3))
    bad[1, 2] = 0.5 if flag == "resolved" else 0.0
    expected = np.ones((2, 3))
    expected[1, 2] = 0.0
    np.testing.assert_array_equal(passed(points(**{flag: bad}), "mse", unique=True), expected)


def test_a_flag_that_an_estimator_lacks_does_not_count():
    one = points(unique=np.ones((2, 3))).expand_dims(estimator=["theory"])
    other = points().isel(alpha=[0]).expand_dims(estimator=["amp"])
    cube = xr.merge([one, other], join="outer", compat="no_conflicts")
    np.testing.assert_array_equal(passed(cube.sel(estimator="amp"), "mse", unique=True), np.ones((2, 3)))
    np.testing.assert_array_equal(passed(cube.sel(estimator="theory"), "mse", unique=True), np.ones((2, 3)))


def test_a_mean_has_the_replicas_that_pass_and_at_least_the_error_of_their_nodes():
    """Two values of one branch, and one of the other that fails: 0.9 and 0.2 are not averaged."""
    cube = points(unique=[[1, 1, 0], [0, 0, 0]])
    cube["mse"][:] = [[0.9, 0.9, 0.2], [0.9, 0.9, 0.2]]
    cube["mse_node_error"] = xr.full_like(cube.mse, 0.02)
    mean, error = mean_of_passed(cube, "mse")
    np.testing.assert_allclose(mean, [0.9, np.nan])
    np.testing.assert_allclose(error, [0.02 / np.sqrt(2), np.nan])


@pytest.fixture
def drawn(monkeypatch):
    """The flags that each call of `curve` gets, in the figures of weight decay and of two layers."""
    seen = []

    def curve(axes, x, replicas, color, label, linestyle="-", flags=None, jump=np.nan, **look):
        seen.append(flags)

    for module in (erm_shared, layers, two_layers):
        monkeypatch.setattr(module, "curve", curve)
    return seen


def test_figures_of_weight_decay_pass_all_flags(drawn):
    bad = [[1, 0, 1], [1, 1, 1]]
    cube = points(replica_symmetric=bad)
    erm_shared.evolution(new_figure(1, 1, 2, 2)[1], cube.expand_dims(weight_decay=[0.1]), 0.1, "mse", 1.0)
    erm_shared.best(new_figure(1, 1, 2, 2)[1], cube, "mse", 1.0)
    for flags in drawn:
        np.testing.assert_array_equal(flags, bad)
    assert len(drawn) == 2


def test_figures_of_two_layers_pass_all_flags(drawn):
    bad = [[1, 0, 1], [1, 1, 1]]
    cube = points(unique=bad).rename(mse="mmse_by_layer")
    cube["mmse_by_layer"] = cube.mmse_by_layer.expand_dims(layer=[1, 2])
    cube["mmse_by_layer_node_error"] = cube.mmse_by_layer
    layers._theory(new_figure(1, 1, 2, 2)[1], cube.expand_dims(skip=[1.0]))
    cube = cube.expand_dims(estimator=["two_layers_state_evolution", "two_layers_amp"])
    for name in ("error_bayes", "error_plug_in"):
        cube[name] = cube.converged
    cube["predicted_by_layer"], cube["realised_alpha"] = cube.mmse_by_layer, cube.converged
    axes = new_figure(1, 2, 2, 2)[1]
    two_layers._draw_layers(axes[0], cube)
    two_layers._draw_output(axes[1], cube)
    assert len(drawn) == 6
    for flags in drawn:
        np.testing.assert_array_equal(flags, bad)
