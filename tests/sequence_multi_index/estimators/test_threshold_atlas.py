"""Thresholds of many models: rows summed by layers, exact recovery by bisection, the table."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from smi_tools import channel_of, node_sets, search_settings

from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.base.files import digest
from attention_limits.pipeline.base.streams import Streams
from attention_limits.pipeline.cubes.cube_bytes import data_digest
from attention_limits.sequence_multi_index.estimators.at_point import completed
from attention_limits.sequence_multi_index.estimators.thresholds import exact_recovery as estimator
from attention_limits.sequence_multi_index.estimators.thresholds import staircase, threshold_atlas
from attention_limits.sequence_multi_index.figures.thresholds.atlas import together
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval
from attention_limits.sequence_multi_index.readings import first_atlas_threshold, layer_threshold_and_error
from attention_limits.sequence_multi_index.reports.threshold_table import atlas_table, csv_text, page
from attention_limits.sequence_multi_index.state_evolution.exact_recovery import exact_recovery

pytestmark = pytest.mark.slow

MODEL = {"link": "deep_attention", "tokens": 2, "skip": 1.0, "beta": 1.0}
SOLVER = {"nodes": 64, "nodes_at_zero": 256, "tolerance": 0.01, "resolution": 0.5, "steps": 3, "layers": 3}
RECOVERY = {
    "nodes": 64, "tolerance": 1e-3, "max_iterations": 100, "highest": 4.0, "width": 0.1, "resolution": 0.5
}  # fmt: skip
STREAMS = Streams(0, "sequence_multi_index", "test")


def spec(name, grid, solver, model=MODEL, replicas=2):
    return {
        "estimator": name, "model": model, "grid": grid, "replicas": list(range(replicas)),
        "solver": SimpleNamespace(**solver), "project": ".",
    }  # fmt: skip


def as_cube(dataset, *parts):
    """A dataset of one estimator as the cube of an experiment."""
    described = {
        part["estimator"]: {"model": part["model"], "grid": part["grid"], "solver": vars(part["solver"])}
        for part in parts
    }
    return dataset.assign_attrs(spec=json.dumps({"estimators": described}))


@pytest.fixture(scope="module")
def atlas():
    return threshold_atlas.run(spec("threshold_atlas", {"depth": [1, 2]}, SOLVER), STREAMS)


def test_atlas_of_two_layers_is_the_staircase(atlas):
    """The same numbers, on the same nodes; layers that a model lacks are missing."""
    single = spec("staircase", {"skip": [1.0]}, SOLVER, MODEL | {"depth": 2})
    steps = staircase.run(single, STREAMS).isel(skip=0)
    here = atlas.sel(depth=2)
    np.testing.assert_array_equal(here.threshold[:, :2], steps.threshold)
    assert np.isnan(here.threshold[:, 2]).all()
    for layer in (1, 2):
        np.testing.assert_allclose(layer_threshold_and_error(here, layer), layer_threshold_and_error(steps, layer))
        np.testing.assert_allclose(
            here.learnt.sel(layer=layer)[:, :2], steps.direction.sel(layer=layer, layer_star=layer), atol=1e-12
        )
    assert np.isnan(here.learnt.sel(layer=3)).all()


def test_rows_of_a_layer_count_together():
    """Rank two: both rows are learned at once, and the layer has the whole share."""
    model = {"link": "rank_attention", "tokens": 2, "skip": 1.0, "beta": 1.0, "depth": 1}
    found = threshold_atlas.run(spec("threshold_atlas", {"rank": [2]}, SOLVER, model), STREAMS)
    np.testing.assert_allclose(found.learnt.sel(step=1, layer=1), 1.0)
    assert np.isnan(found.threshold.sel(step=2)).all()


def test_recovery_out_of_reach_is_missing():
    channel = channel_of(phase_retrieval())
    (nodes,) = node_sets(channel.link, 64, 1, seed=3)
    found = exact_recovery(channel, nodes, completed(search_settings(), highest=0.4, width=0.1))
    assert np.isnan(found.below)
    assert np.isnan(found.above)


def test_table_has_a_row_for_each_layer_and_recovery(atlas):
    part = spec("threshold_atlas", {"depth": [1, 2]}, SOLVER)
    other = spec("exact_recovery", {"depth": [1]}, RECOVERY)
    exact = estimator.run(other, STREAMS)
    frame = atlas_table({"a": as_cube(atlas, part), "b": as_cube(exact, other)})
    assert frame.quantity.tolist() == [
        "weak recovery of layer 1", "weak recovery of layer 1", "weak recovery of layer 2", "exact recovery"
    ]  # fmt: skip
    assert frame.depth.tolist() == [1, 2, 2, 1]
    np.testing.assert_allclose(frame.alpha[2], atlas.threshold.sel(depth=2, step=1).mean())
    bracket = 0.5 * (exact.recovery_below + exact.recovery_above).mean()
    np.testing.assert_allclose(frame.alpha[3], bracket)
    assert frame.error[3] >= 0.5 * float((exact.recovery_above - exact.recovery_below).mean()) - 1e-12
    # One line for each model, and the header.
    assert page(csv_text(frame)).count("<tr") == 3
    assert isinstance(frame, pd.DataFrame)


def test_the_command_writes_the_table(atlas, tmp_path, capsys):
    part = spec("threshold_atlas", {"depth": [1, 2]}, SOLVER)
    cube = as_cube(atlas, part)
    cube.attrs["spec_digest"] = digest(json.loads(cube.attrs["spec"]))
    cube.attrs["data_digest"] = data_digest(cube)
    cube.to_netcdf(tmp_path / "small.nc")
    assert main(["threshold-table", str(tmp_path / "small.nc"), "--output", str(tmp_path / "found")]) == 0
    assert capsys.readouterr().out.startswith("3 thresholds in ")
    written, frame = pd.read_csv(tmp_path / "found/thresholds.csv"), atlas_table({"small": cube})
    assert written.columns.tolist() == frame.columns.tolist()
    assert written.quantity.tolist() == frame.quantity.tolist()
    np.testing.assert_allclose(written[["alpha", "error"]], frame[["alpha", "error"]], rtol=1e-5)
    assert (tmp_path / "found/thresholds.html").read_text(encoding="utf-8").count("<tr") == 3


def test_layers_that_the_errors_do_not_separate_are_marked():
    """Two layers in one step; three layers far apart; two that differ by 1.4 errors of the difference; a missing one."""
    means = np.array([[1.0, 1.0, 1.0, np.nan], [1.0, 2.0, 1.2, 1.0], [0.2, 0.2, 0.2, 0.2]])
    found = together(means, np.full((3, 4), 0.1))
    np.testing.assert_array_equal(found, [[1, 0, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0]])


def test_table_refuses_other_cubes():
    with pytest.raises(SpecError, match="no estimator threshold_atlas"):
        atlas_table({"x": as_cube(xr.Dataset(), spec("gamp", {"alpha": [1.0]}, {}))})


def test_layer_that_few_replicas_learn_has_no_threshold():
    """One of four replicas learns layer 1 at 1.0, three learn layer 2 at 2.0."""
    learned = np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.0, 1.0]], [[0.0, 1.0]]])
    threshold = np.array([[1.0], [2.0], [2.0], [2.0]])
    cube = xr.Dataset(
        {"learnt": (("replica", "step", "layer"), learned), "threshold": (("replica", "step"), threshold),
         "threshold_error": (("replica", "step"), np.full((4, 1), np.nan)),
         "threshold_node_error": (("replica", "step"), np.zeros((4, 1))),
         "overlap_before": (("replica", "step", "layer"), np.zeros((4, 1, 2))),
         **{f"step_{flag}": (("replica", "step"), np.ones((4, 1))) for flag in ("resolved", "converged")}},
        {"layer": [1, 2]},
    )  # fmt: skip
    assert np.isnan(layer_threshold_and_error(cube, 1)[0])
    assert layer_threshold_and_error(cube, 2)[0] == 2.0


@pytest.mark.parametrize(("flag", "less"), [("step_resolved", 0.06), ("step_converged", 1.0)])
def test_threshold_that_fails_a_flag_is_missing(atlas, flag, less):
    failing = atlas.assign({flag: atlas[flag].astype(float) - less})
    assert np.isfinite(layer_threshold_and_error(atlas, 2)[0][1])
    assert np.isnan(layer_threshold_and_error(failing, 2)[0]).all()
    assert np.isfinite(first_atlas_threshold(atlas)[0]).any()
    assert np.isnan(first_atlas_threshold(failing)[0]).all()
