"""The data of the explorer are the numbers of the cube, the flags and the published values that belong to it."""

import base64
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import attention_limits as al
from attention_limits.interface.describe import unit
from attention_limits.interface.explorer import OPENS, _first, described
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.yaml_reader import read_yaml

ROOT = Path(__file__).parents[2]


def unpacked(record, name):
    """The values of a variable as the page unpacks them."""
    numbers = np.frombuffer(zlib.decompress(base64.b64decode(record["numbers"])), "<f8")
    own = record["variables"][name]
    size = int(np.prod(own["shape"], dtype=int))
    return numbers[own["offset"] : own["offset"] + size].reshape(own["shape"])


@pytest.fixture
def cube():
    """Values of two estimators with errors and flags, a long trajectory, and texts."""
    rng = np.random.default_rng(0)
    points = ("alpha", "replica")
    made = xr.Dataset(
        {
            "overlap": (("estimator", *points), rng.normal(size=(2, 3, 2)), {"symbol": "Q"}),
            "overlap_error": (points, rng.normal(size=(3, 2)), {"estimator": "theory"}),
            "converged": (points, np.array([[1.0, 0.0]] * 3), {"estimator": "theory"}),
            "path": ((*points, "iteration"), rng.normal(size=(3, 2, 1000)), {"estimator": "theory"}),
            "phase": (points, np.array([["easy", ""], ["hard", "easy"], ["", ""]]), {"estimator": "theory"}),
        },
        {
            "estimator": ["theory", "simulation"],
            "alpha": [0.5, 1.0, 2.0],
            "replica": [0, 1],
            "iteration": np.arange(1000),
        },
        {"title": "A </script> title", "summary": "", "source": "", "spec": '{"family": "attention_indexed"}'},
    )
    made.overlap.values[1, 1] = np.nan
    return made


def test_the_numbers_are_those_of_the_cube(cube, tmp_path):
    record = described(cube, tmp_path / "mine.nc", tmp_path)
    assert record["grid"] == ["alpha", "estimator", "replica"]
    np.testing.assert_array_equal(unpacked(record, "overlap"), cube.overlap)
    own = record["variables"]["overlap"]
    assert (own["flags"], own["error"], own["kept"]) == ({"converged": 1.0}, "overlap_error", {})
    roles = {name: own["role"] for name, own in record["variables"].items()}
    assert roles == {
        "overlap": "result",
        "overlap_error": "error",
        "converged": "flag",
        "path": "result",
        "phase": "result",
    }
    assert (record["first"], record["opens"]) == ("overlap", False)
    kept = record["variables"]["path"]["kept"]["iteration"]
    assert (len(kept), kept[0], kept[-1]) == (41, 0, 999)
    np.testing.assert_array_equal(unpacked(record, "path"), cube.path.values[:, :, kept])
    labels = record["variables"]["phase"]["labels"]
    back = [["" if np.isnan(code) else labels[int(code)] for code in row] for row in unpacked(record, "phase")]
    assert back == cube.phase.values.tolist()
    assert (record["figures"], record["published"]) == ([], [])


def test_figures_and_published_numbers_of_a_project(cube, tmp_path):
    """The published values of one variable at one point; thresholds and slopes that a reading computes are no points."""
    cube = cube.rename(overlap="mmse").expand_dims(ratio=[0.1, 0.5, 1.0])
    record = described(cube, tmp_path / "fig1_left_hardmax.nc", ROOT)
    assert record["figures"][0]["caption"]
    assert record["first"] == "mmse"
    entries = read_yaml(ROOT / "config/attention_indexed/published.yaml")["numbers"]
    wanted = [entry for entry in entries if entry["cubes"] == ["fig1_left_hardmax"]]
    assert len(record["published"]) == len(wanted) > 3
    for found, entry in zip(record["published"], wanted, strict=True):
        assert (found["variable"], found["published"]) == ("mmse", entry["published"])
        arguments = entry["arguments"]
        assert found["point"] == {
            "alpha": arguments["x"],
            "ratio": arguments["ratio"],
            "estimator": arguments["estimator"],
        }


def test_the_page_holds_everything_and_asks_nothing(tmp_path):
    grid = {"alpha": [0.0, 0.1]}
    found = al.compute("attention_indexed.state_evolution", {"tokens": 2, "ratio": 0.5, "channel": "linear"}, grid)
    from attention_limits.pipeline.cubes.cube_bytes import write_atomic

    write_atomic(found.assign_attrs(title="A </script> title"), tmp_path / "cube.nc")
    page = al.explore([tmp_path / "cube.nc"], tmp_path / "explorer.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 3
    assert "@DATA@" not in page
    assert " src=" not in page.partition("plotly.js v")[0]
    with pytest.raises(SpecError, match=r"must end in .html"):
        al.explore([tmp_path / "cube.nc"], tmp_path / "explorer.pdf")


def test_it_opens_on_the_first_figure_of_the_readme():
    """The cube that the page opens on is one of the figure whose picture comes first in README.md."""
    first = re.search(r"docs/figures/smi_(\w+)\.png", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
    family, cube = OPENS
    assert cube in read_yaml(ROOT / "config" / family / "figures.yaml")[first]["cubes"]


def test_one_path_or_cubes_in_memory(tmp_path, monkeypatch):
    """A path alone gives a page beside it; Datasets have the names of their experiments."""
    monkeypatch.chdir(tmp_path)
    model = {"channel": "linear", "tokens": 2, "ratio": 0.5}
    cube = al.compute("attention_indexed.state_evolution", model, {"alpha": [0.1, 0.2]}, experiment="mine")
    cube.to_netcdf("other.nc")
    page = al.explore("other.nc")
    assert (page, page.is_file()) == (Path("other.html"), True)
    page = al.explore([cube, "other.nc"])
    assert page == Path("explorer.html")
    assert re.findall('"name": "(mine|other)"', page.read_text(encoding="utf-8")) == ["mine", "other"]
    with pytest.raises(SpecError, match="allowed: a Dataset that compute or open returns"):
        al.explore(xr.Dataset())


def test_a_cube_opens_on_what_a_fit_is_for_and_not_on_what_it_minimises():
    along = xr.DataArray([1.0, 2.0], dims="alpha")
    cube = xr.Dataset({"training_loss": along, "pair_objective": along, "test_loss": along}, {"alpha": [0.1, 0.2]})
    cube.attrs["spec"] = json.dumps({"estimators": {"fit": {"grid": {"alpha": [0.1, 0.2]}}}})
    variables = {name: {"role": "result", "dims": ["alpha"], "labels": None} for name in map(str, cube)}
    assert _first(variables, cube, list(variables)) == "test_loss"


def test_what_a_count_or_a_last_change_is_and_the_unit_below_an_axis(cube, tmp_path):
    """A width that the grid fixes, a residual and a count are no results; an axis has words below it, or nothing."""
    cube["width"] = cube.overlap_error.assign_attrs(normalisation="rounded to a whole number")
    cube["solutions"] = cube.overlap_error.assign_attrs(normalisation="count")
    cube["residual"] = cube.overlap_error.assign_attrs(normalisation="||S - S_hat||_F^2 / d: 0 exact")
    record = described(cube, tmp_path / "mine.nc", tmp_path)["variables"]
    assert {record[name]["role"] for name in ("width", "solutions", "residual")} == {"flag"}
    assert [record[name]["unit"] for name in ("width", "solutions", "residual")] == [
        "rounded to a whole number",
        "count",
        "",
    ]
    assert [unit("n / d^2, the same at all alpha"), unit("missing after the end"), unit("tr S / d = q")] == [
        "n / d², the same at all alpha", "", "",
    ]  # fmt: skip


def test_a_figure_says_on_which_variable_its_cube_opens(cube, tmp_path):
    """The protein opens on its contacts, and not on the first curve that varies."""
    cube = cube.assign_attrs(spec='{"family": "potts_mlm"}').rename(overlap="pair_test_loss", path="precision")
    assert described(cube, tmp_path / "protein.nc", ROOT)["first"] == "precision"
    assert described(cube, tmp_path / "fig3_right.nc", ROOT)["first"] == "pair_test_loss"
