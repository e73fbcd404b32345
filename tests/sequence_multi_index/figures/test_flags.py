"""Readings and figures of empirical risk minimisation get the product of all flags of a point."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.pipeline.cubes.readings import passed, value
from attention_limits.plotting import new_figure
from attention_limits.sequence_multi_index.figures.erm import erm, erm_classic, erm_positional

FLAGS = ("converged", "replica_symmetric", "resolved")


def theory(**flags):
    """Two points of two replicas of state evolution; all flags are good but for the given ones (alpha, replica)."""
    dims, good = ("alpha", "replica"), np.ones((2, 2))
    pair = np.ones((2, 2, 1, 1))
    found = xr.Dataset(
        {
            name: (dims, np.array(flags.get(name, good), float))
            for name in (*FLAGS, "test_loss", "objective", "error_plug_in")
        }
        | {"misclassification": (dims, good), "overlap": ((*dims, "layer", "layer_star"), pair)}
        | {"student_norm": ((*dims, "layer", "layer_other"), pair)},
        {"alpha": [1.0, 2.0], "replica": [0, 1], "layer": [1], "layer_star": [1], "layer_other": [1]},
    )
    return found.expand_dims(estimator=["erm_state_evolution", "erm_minimisation"])


@pytest.mark.parametrize("flag", FLAGS)
def test_a_reading_has_the_replicas_that_pass_every_flag(flag):
    cube = theory(**{flag: [[1, 0], [0, 0]]})
    cube["test_loss"] = cube.test_loss * xr.DataArray([1.0, 5.0], {"replica": [0, 1]})
    part = cube.sel(estimator="erm_state_evolution")
    np.testing.assert_array_equal(passed(part, "test_loss"), [[1.0, 0.0], [0.0, 0.0]])
    assert value(cube, "test_loss", estimator="erm_state_evolution", alpha=1.0)[0] == 1.0
    assert np.isnan(value(cube, "test_loss", estimator="erm_state_evolution", alpha=2.0)[0])


@pytest.mark.parametrize("flag", FLAGS)
def test_figures_pass_every_flag(monkeypatch, flag):
    seen = []
    for module in (erm, erm_classic, erm_positional):
        monkeypatch.setattr(module, "curve", lambda *args, flags=None, **look: seen.append(args[6:] or flags))
    bad = [[1, 0], [1, 1]]
    cube, axes = theory(**{flag: bad}), new_figure(1, 1, 2, 2)[1]
    monkeypatch.setattr(erm_positional, "points", lambda *args, **look: None)
    erm._draw_theory([(axes, erm._error)], cube.sel(estimator="erm_state_evolution"), "k", None)
    cube["realised_alpha"] = cube.converged
    erm_positional._draw_branch(axes, cube, "test_loss", "k", None)
    assert len(seen) == 2
    for flags in seen:
        np.testing.assert_array_equal(np.squeeze(flags), bad)


@pytest.mark.parametrize("doubtful", [False, True])
def test_a_ridge_without_a_mean_has_an_open_circle_in_the_legend(doubtful):
    cube = theory(replica_symmetric=np.full((2, 2), 0 if doubtful else 1)).sel(estimator="erm_state_evolution")
    axes = new_figure(1, 1, 2, 2)[1]
    erm._draw_theory([(axes, erm._error)], cube, "k", "a ridge")
    (entry,) = axes.get_legend_handles_labels()[0]
    assert (entry.get_marker(), entry.get_linestyle()) == (("o", "None") if doubtful else ("None", "-"))
