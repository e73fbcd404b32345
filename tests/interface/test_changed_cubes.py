"""A cube that a user cut or extended with xarray opens everywhere, with a warning that it changed; it is never called damaged."""

import warnings

import numpy as np
import pytest
import xarray as xr

import attention_limits as al
from attention_limits.__main__ import main
from attention_limits.pipeline.base.errors import CubeError, SpecError

MODEL = {"tokens": 2, "channel": "linear"}
GRID = {"alpha": [0.1, 0.2], "ratio": [0.5, 1.0]}
# What users do with a cube, by the name of the file that they write then.
CHANGES = {
    "part": lambda cube: cube.sel(alpha=0.1),
    "one_point": lambda cube: cube.isel(alpha=0, ratio=0, replica=0),
    "one_variable": lambda cube: cube[["mmse"]],
    "without_replica": lambda cube: cube.mean("replica", keep_attrs=True),
    "squeezed": lambda cube: cube.squeeze(),
    "derived": lambda cube: cube.assign(rmse=cube.mmse**0.5),
    "own_dimension": lambda cube: cube.assign(extra=("own", [1.0, 2.0, 3.0])),
    "text": lambda cube: cube.assign(label=("ratio", ["narrow", "wide"])),
    "renamed": lambda cube: cube.rename(alpha="samples"),
    "more_replicas": lambda cube: xr.concat([cube, cube.assign_coords(replica=[1])], "replica"),
    "masked": lambda cube: cube.where(cube.mmse > 0.1),
    "transposed": lambda cube: cube.transpose(..., "alpha"),
    "nothing": lambda cube: cube.isel(alpha=[]),
    "missing_coordinate": lambda cube: cube.assign_coords(alpha=[0.1, float("nan")]),
    "dated": lambda cube: cube.assign_coords(day=("alpha", np.array(["2020-01-01", "2020-01-02"], "M8[ns]"))),
}


@pytest.fixture(scope="module")
def cube():
    return al.compute("attention_indexed.state_evolution", MODEL, GRID)


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_cube_opens_everywhere(name, cube, tmp_path, capsys):
    changed = CHANGES[name](cube)
    changed.to_netcdf(path := tmp_path / f"{name}.nc")
    with pytest.warns(UserWarning, match=f"{name}.nc: changed since it was written"):
        opened = al.open(path)
    points = changed.mmse.count().item()
    assert al.table(opened, ["mmse"]).mmse.count() == points
    assert len(al.table(opened, aggregate=True)) <= max(points, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert main(["show", str(path)]) == 0
        assert main(["export", str(path)]) == 0
        assert main(["explore", str(path), "--output", str(tmp_path / "page.html")]) == 0
    assert "mmse" in capsys.readouterr().out
    if points and name != "one_point":
        al.plot(opened, y="mmse")
        return
    with pytest.raises(SpecError, match=r"allowed: |has no value"):
        al.plot(opened, y="mmse")


def test_numbers_of_a_changed_cube_are_those_of_the_file(cube, tmp_path):
    """Without a replica the grid keys come from the specification."""
    table = al.table(cube.mean("replica", keep_attrs=True), ["mmse"])
    assert list(table) == ["alpha", "ratio", "mmse"]
    for row in table.to_dict("records"):
        assert row["mmse"] == cube.mmse.sel(alpha=row["alpha"], ratio=row["ratio"]).item()


def test_a_cube_without_its_attributes_is_refused_with_the_reason(cube, tmp_path, capsys):
    cube.drop_attrs().to_netcdf(path := tmp_path / "foreign.nc")
    with pytest.raises(CubeError, match=r"lost its attributes .xarray: keep_attrs=True"):
        al.open(path)
    assert main(["show", str(path)]) == 2
    # The file of a user is not to be removed.
    assert "rm -f" not in capsys.readouterr().err


def test_a_changed_cube_is_drawn_by_hand_and_not_by_the_workflow(cube, tmp_path, monkeypatch):
    import sys
    import types

    from matplotlib.figure import Figure

    from attention_limits.cli import jobs

    module = types.ModuleType("attention_limits.attention_indexed.figures.changed")
    module.draw = lambda cubes: (cubes["derived"].rmse, Figure())[1]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(jobs, "has_module", lambda name: True)
    monkeypatch.setattr(jobs, "figure_module", lambda family, name: module.__name__)
    CHANGES["derived"](cube).to_netcdf(path := tmp_path / "derived.nc")
    output = tmp_path / "changed.pdf"
    with pytest.raises(CubeError, match="changed since it was written"):
        jobs.draw_command("attention_indexed/changed", [path], output, None, [cube.attrs["cube_digest"]])
    assert not output.exists()
    with pytest.warns(UserWarning, match="changed since it was written"):
        jobs.draw_command("attention_indexed/changed", [path], output, None, [])
    assert output.exists()


def test_the_axis_of_a_picture_is_a_grid_key_of_numbers(cube):
    drawn = al.plot(cube.sel(ratio=0.5).transpose(..., "alpha"), "mmse")
    assert drawn.axes[0].lines[0].get_xdata().tolist() == GRID["alpha"]
    with pytest.raises(SpecError, match=r"^x: missing; allowed: replica$"):
        al.plot(cube.isel(alpha=0, ratio=0), "mmse")
    with pytest.raises(SpecError, match=r"^x: 'alpha': holds no numbers; give another dimension"):
        al.plot(cube.assign_coords(alpha=["a", "b"]), "mmse", x="alpha")


@pytest.mark.parametrize("spec", ["{", "[1]", "text"])
def test_a_specification_that_is_none_is_named(cube, spec, tmp_path):
    """A Dataset of which a program has replaced the attribute."""
    changed = cube.assign_attrs(spec=spec)
    for use in (al.table, al.plot, lambda it: al.explore(it, tmp_path / "page.html")):
        with pytest.raises(
            SpecError, match=r"cube: its attribute spec: .*: allowed: that of compute, a mapping in JSON"
        ):
            use(changed)
    with pytest.raises(SpecError, match="family: 'nope': allowed: attention_indexed, potts_mlm"):
        al.explore(cube.assign_attrs(spec='{"family": "nope"}'), tmp_path / "page.html")


def test_texts_that_are_gone_and_stacked_points(cube, tmp_path):
    """The name of the experiment is the title then; a point of a stack is a column of its own."""
    bare = cube.drop_attrs(deep=False).assign_attrs(spec=cube.spec)
    for changed in (bare, cube.assign_attrs(title=3)):
        assert al.explore(changed, tmp_path / "page.html").is_file()
    stacked = cube.stack(point=("alpha", "ratio")).reset_index("point")
    assert (
        al.table(stacked, "mmse").to_numpy()[0, 1:].tolist()
        == cube.mmse.transpose("alpha", "ratio", ...).values.ravel().tolist()
    )
    assert al.explore(stacked, tmp_path / "page.html").is_file()
