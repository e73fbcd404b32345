"""Tables and pictures of a cube hold its numbers, and no others."""

import io
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import attention_limits as al
from attention_limits.interface.table import to_csv, write_parquet
from attention_limits.numerics.probability.statistics import student
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.plotting import LAYER_COLORS, ordered_colors


@pytest.fixture
def cube():
    """Two estimators on overlapping grids, three replicas, a vector, a trajectory."""
    coordinates = {
        "estimator": ["theory", "simulation"],
        "alpha": [0.5, 1.0, 2.0],
        "replica": [0, 1, 2],
        "layer": [1, 2],
    }
    overlap = np.arange(36.0).reshape(2, 3, 3, 2)
    overlap[1, 1] = np.nan
    converged = np.ones((2, 3, 3))
    converged[1, 1], converged[1, 2], converged[0, 0, 2] = np.nan, 0, 0
    dims = ("estimator", "alpha", "replica")
    made = xr.Dataset(
        {
            "overlap": (
                (*dims, "layer"),
                overlap,
                {"symbol": "Q", "long_name": "overlap", "normalisation": "1 exact", "units": "1"},
            ),
            "converged": (dims, converged),
            "path": (("alpha", "replica", "iteration"), np.zeros((3, 3, 65)), {"estimator": "simulation"}),
        },
        {**coordinates, "iteration": np.arange(65)},
    )
    made.alpha.attrs = {"symbol": "α", "long_name": "samples per dimension", "definition": "n / D: a ratio"}
    return made


def test_one_row_per_point_and_replica(cube):
    table = al.table(cube)
    assert list(table) == ["estimator", "alpha", "replica", "overlap[layer=1]", "overlap[layer=2]", "converged"]
    # The simulation has nothing at alpha = 1.
    assert len(table) == 15
    for row in table.to_dict("records"):
        place = {key: row[key] for key in ("estimator", "alpha", "replica")}
        assert [row["overlap[layer=1]"], row["overlap[layer=2]"]] == cube.overlap.sel(place).values.tolist()
    assert table.attrs["left_out"] == ["path"]
    assert al.table(cube, ["path"]).shape == (9, 2 + 65)


def test_aggregates(cube):
    table = al.table(cube, ["overlap", "converged"], aggregate=True)
    (row,) = table[(table.estimator == "theory") & (table.alpha == 0.5)].to_dict("records")
    values = cube.overlap.sel(estimator="theory", alpha=0.5, layer=2).values
    assert row["overlap[layer=2]"] == pytest.approx(values.mean())
    assert row["overlap[layer=2]_error"] == pytest.approx(values.std(ddof=1) / np.sqrt(3) * student(3))
    assert (row["overlap[layer=2]_replicas"], row["converged"]) == (3, pytest.approx(2 / 3))
    assert len(table) == 5


def test_csv_comes_back(cube):
    text = to_csv(al.table(cube))
    assert text.startswith(
        "# overlap: Q; overlap; 1 exact; 1\n# converged: \n# left out, more than 64 values per point: path\n"
    )
    back = pd.read_csv(io.StringIO(text), comment="#")
    pd.testing.assert_frame_equal(back, pd.DataFrame(al.table(cube)), check_dtype=False)


def test_parquet_comes_back_with_its_units(cube, tmp_path):
    table, path = al.table(cube, aggregate=True), tmp_path / "table.parquet"
    write_parquet(table, path)
    back = pd.read_parquet(path)
    pd.testing.assert_frame_equal(back, pd.DataFrame(table))
    assert back.attrs["units"]["overlap"] == "Q; overlap; 1 exact; 1"
    assert back.attrs["left_out"] == ["path"]


def test_parquet_without_its_library(cube, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        SpecError, match=r"pip install \"attention-limits\[parquet\]\", or in a checkout pip install \"\.\[parquet\]\""
    ):
        write_parquet(al.table(cube), tmp_path / "table.parquet")


def test_unknown_variables_are_refused(cube):
    with pytest.raises(SpecError, match=r"overlaps: not in the cube; allowed: overlap, converged, path"):
        al.table(cube, ["overlaps"])


@pytest.mark.parametrize("reader", [al.table, al.plot])
def test_a_cube_is_a_dataset(cube, reader):
    with pytest.raises(SpecError, match="cube: NoneType; allowed: a Dataset that compute or open returns"):
        reader(None)
    with pytest.raises(SpecError, match="cube: DataArray; allowed: a Dataset"):
        reader(cube.overlap)


def test_layers_have_their_colors_and_parameters_an_order(cube):
    axes = al.plot(cube.sel(estimator="theory", layer=[2]), "overlap", x="alpha", color="layer").axes[0]
    assert axes.lines[0].get_color() == LAYER_COLORS[2]
    axes = al.plot(cube.sel(alpha=[1.0, 0.5]), "path", x="iteration", color="alpha").axes[0]
    handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    shown = [handles[f"α = {alpha:g}"].get_color() for alpha in (0.5, 1.0)]
    np.testing.assert_array_equal(shown, ordered_colors([0, 1]))


def test_a_picture_shows_means_errors_and_flags(cube):
    axes = al.plot(cube, "overlap", color="layer").axes[0]
    line, bars = axes.lines[0], axes.containers
    theory = cube.overlap.sel(estimator="theory", layer=1).where(cube.converged.sel(estimator="theory") == 1)
    assert line.get_xdata().tolist() == [0.5, 1.0, 2.0]
    assert line.get_ydata() == pytest.approx(theory.mean("replica").values)
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    count = theory.count("replica").values
    error = theory.std("replica", ddof=1).values / np.sqrt(count) * student(count)
    assert band.max() == pytest.approx((theory.mean("replica").values + error).max())
    # One replica of the theory at 0.5 did not converge, no replica of the simulation at 2: faint open circles, in no mean.
    left_out = [line for line in axes.lines if line.get_gid() == "flagged"]
    assert left_out[0].get_xydata().tolist() == [[0.5, float(cube.overlap[0, 0, 2, 0])]]
    assert left_out[1].get_xdata().tolist() == [2.0] * 3
    assert bars[0][0].get_ydata().tolist() == pytest.approx([20.0, np.nan], nan_ok=True)
    assert axes.get_xlabel() == "samples per dimension, α\nn / D"
    assert axes.get_ylabel() == "overlap, Q\n1 exact"
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    shown = ["layer = 1, theory", "layer = 2, theory", "layer = 1, simulation", "layer = 2, simulation"]
    assert sorted(labels) == sorted([*shown, "one replica, fails a flag"])
    # Colours show the dimension that is left over.
    again = al.plot(cube, "overlap").axes[0]
    for line, same in zip(axes.lines, again.lines, strict=True):
        assert np.array_equal(line.get_ydata(), same.get_ydata(), equal_nan=True)
    assert len(al.plot(cube, "overlap", panel="layer").axes) == 2


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"y": "overlaps"}, "y: 'overlaps': allowed: overlap, converged, path"),
        (
            {"y": "path", "color": "replica"},
            r"iteration: has 65 values; give it to x, color or panel, or select one with cube.sel\(iteration=...\)",
        ),
        ({"y": "overlap", "x": "depth"}, "x: 'depth': allowed: estimator, alpha, replica, layer"),
    ],
)
def test_pictures_that_cannot_be_drawn(cube, keys, message):
    with pytest.raises(SpecError, match=message):
        al.plot(cube, **keys)


def test_of_a_matrix_over_layers_the_diagonal_is_drawn(cube):
    """Column k of the matrix is k times the overlap, so the diagonal has 1 and 2 times its rows."""
    matrix = cube.overlap.isel(layer=0, drop=True) * xr.DataArray([1.0, 2.0], {"layer_star": [1, 2]})
    layers = xr.DataArray([1.0, 10.0], {"layer": [1, 2]}, "layer")
    both = cube.assign(overlap=(layers * matrix).transpose("estimator", "alpha", "replica", "layer", "layer_star"))
    first, second = (
        line.get_ydata()
        for line in al.plot(both).axes[0].lines
        if len(line.get_ydata()) == 3 and line.get_linestyle() == "-"
    )
    assert second == pytest.approx(20 * first)
    assert len(al.plot(both, color="layer", panel="layer_star").axes) == 2


def test_every_estimator_is_described():
    names = al.estimators()
    assert names.computes.str.len().min() > 10
    assert names.loc["sequence_multi_index.gamp", "rule"] == "smi_gamp"
    for name in names.index:
        keys = al.describe(name)
        assert set(keys.section) <= {"model", "grid", "solver", "variable"}
        variables = keys.section == "variable"
        assert (keys.equation[variables].str.len() > 0).all()
        assert (keys.allowed[~variables].str.len() > 0).all()
        # The text is complete, and a notebook shows complete cells.
        assert all(meaning in repr(keys) for meaning in keys.meaning)
        assert "...</td>" not in keys._repr_html_()
        assert (keys.meaning.str.len() > 0).all()
    with pytest.raises(SpecError, match=r"potts_mlm.gamp: no such estimator"):
        al.describe("potts_mlm.gamp")


def test_a_table_prints_whole(cube):
    table = al.table(cube, "overlap")
    assert list(table) == list(al.table(cube, ["overlap"]))
    long = table.assign(text="word " * 40, **{f"column{k}": 0.125 for k in range(20)})
    for frame in (long, long[long.alpha > 0.5]):
        printed, page = repr(frame), frame._repr_html_()
        for whole in (printed, page):
            assert all(f"column{k}" in whole for k in range(20))
            assert ("word " * 40).strip() in whole
            assert "..." not in whole
        assert page.count("<tr") == len(frame) + 1
    assert type(long[["text"]]) is type(table)
