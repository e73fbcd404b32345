import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.base.files import canonical_json, digest, replacing
from attention_limits.pipeline.base.registry import Coordinate, Variable
from attention_limits.pipeline.cubes import reader
from attention_limits.pipeline.cubes.cube_bytes import annotate, data_digest, linked, write_atomic


@pytest.fixture(autouse=True)
def family(monkeypatch):
    """A registered family `toy`."""
    module = types.ModuleType("attention_limits.toy.variables")
    module.SOURCE = "A toy"
    module.COORDINATES = (Coordinate("alpha", "sample ratio", "α", "n / d"),)
    module.VARIABLES = (
        Variable("height", (), "height", "h", "by one", "eq. (1)"),
        Variable("trace", ("iteration",), "height by iteration", "h_t", "by one", "eq. (2)"),
        Variable("converged", (), "whether it converged", "", "true or false", "eq. (3)"),
        Variable("method", (), "name of the method", "", "text", "none"),
    )
    module.OWN = {"other": (Variable("height", (), "height", "h", "by two", "eq. (4)"),)}
    monkeypatch.setitem(sys.modules, module.__name__, module)


def example(**attributes):
    rng = np.random.default_rng(0)
    spec = {"what": "example"}
    shape = (4, 3)
    dataset = xr.Dataset(
        {
            "height": (("alpha", "replica"), rng.normal(size=shape)),
            "trace": (("alpha", "replica", "iteration"), rng.normal(size=(*shape, 50))),
            "converged": (("alpha", "replica"), rng.random(shape) < 0.5),
            "method": (("alpha", "replica"), np.full(shape, "plain")),
        },
        {"alpha": [0.1, 0.2, 0.3, 0.4], "replica": [0, 1, 2], "iteration": np.arange(50)},
        {"spec": canonical_json(spec), "spec_digest": digest(spec), **attributes},
    )
    dataset["height"][1, 1] = np.nan
    return dataset


def test_a_file_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "deep" / "cube.nc"
    written = example(title="x")
    write_atomic(written, path)
    found = reader.read(path, "none")
    xr.testing.assert_identical(found.drop_attrs(), written.drop_attrs())
    assert found.converged.dtype == bool
    assert found.attrs["title"] == "x"
    assert [item.name for item in path.parent.iterdir()] == ["cube.nc"]


def test_threads_can_read_at_once(tmp_path):
    # A separate process reads: without the lock it can crash. Each of ten trials without the lock failed.
    paths = [tmp_path / f"{number}.nc" for number in range(4)]
    for path in paths:
        write_atomic(example(), path)
    program = (
        "import sys; from concurrent.futures import ThreadPoolExecutor; from pathlib import Path\n"
        "from attention_limits.pipeline.cubes.reader import read\n"
        "with ThreadPoolExecutor(8) as pool: print(len(list(pool.map(read, 50 * [Path(p) for p in sys.argv[1:]]))))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


def test_the_same_dataset_gives_the_same_bytes(tmp_path):
    write_atomic(example(), tmp_path / "one.nc")
    time.sleep(1.1)
    write_atomic(example(), tmp_path / "two.nc")
    assert (tmp_path / "one.nc").read_bytes() == (tmp_path / "two.nc").read_bytes()


def test_a_variable_has_the_texts_of_its_estimators():
    alone = example()
    alone["height"].attrs["estimator"] = "other"
    assert annotate(alone, "toy", ["alpha"]).height.attrs["source"] == "eq. (4)"
    both = example()[["height"]].expand_dims(estimator=["plain", "other"])
    assert annotate(both, "toy", ["alpha"]).height.attrs["source"] == "eq. (1); eq. (4)"
    computed = both.where(both.estimator == "other")
    assert annotate(computed, "toy", ["alpha"]).height.attrs["normalisation"] == "by two"


def test_annotation_describes_every_variable(tmp_path):
    dataset = annotate(example(), "toy", ["alpha"])
    write_atomic(dataset.assign_attrs(example().attrs), tmp_path / "cube.nc")
    with xr.open_dataset(tmp_path / "cube.nc") as found:
        for name in found.variables:
            assert found[name].attrs["long_name"]
            assert "symbol" in found[name].attrs
        assert found.height.attrs["normalisation"] == "by one"
        assert found.height.attrs["units"] == "1"
        assert found.height.attrs["source"] == "eq. (1)"
        assert found.alpha.attrs["definition"] == "n / d"


def test_what_is_not_registered_is_refused():
    dataset = example()
    dataset["depth"] = dataset.height
    dataset["trace"] = dataset.trace.transpose("iteration", "alpha", "replica")
    dataset["converged"] = dataset.converged.rename(replica="sample")
    with pytest.raises(CubeError) as caught:
        annotate(dataset.drop_vars("iteration"), "toy", ["alpha"])
    text = str(caught.value)
    assert "depth: not in the registry of variables of toy" in text
    assert (
        "trace: has dimensions ('iteration', 'alpha', 'replica'), must have ('alpha', 'replica', 'iteration')" in text
    )
    assert "sample: not in the registry of coordinates" in text
    assert "iteration: the dimension has no coordinate values" in text


def test_annotation_replaces_what_was_there_and_changes_no_argument():
    dataset = example(history="yesterday")
    dataset.height.attrs["junk"] = "x"
    annotated = annotate(dataset, "toy", ["alpha"])
    assert "junk" not in annotated.height.attrs
    assert annotated.attrs == {}
    assert dataset.height.attrs == {"junk": "x"}


def test_a_missing_file_is_named_with_its_repair(tmp_path):
    with pytest.raises(CubeError, match=r"cube.nc: is missing; repair: make it"):
        reader.read(tmp_path / "cube.nc", "make it")


def test_a_folder_is_no_cube_and_is_not_to_be_removed(tmp_path):
    with pytest.raises(CubeError, match=r"is a folder; allowed: the NetCDF file of a cube$"):
        reader.read(tmp_path)


def test_foreign_and_outdated_files(tmp_path):
    path = tmp_path / "cube.nc"
    path.write_text("hello")
    with pytest.raises(CubeError, match=r"not a readable netCDF file .*repair: make it"):
        reader.read(path, "make it")
    example().to_netcdf(path)
    with pytest.raises(CubeError, match="not written by attention-limits"):
        reader.read(path, "make it")
    write_atomic(example(point_digest="old"), path)
    with pytest.raises(CubeError, match="point_digest differs"):
        reader.read(path, "make it", {"point_digest": "new"})
    write_atomic(example(spec='{"what": "else"}'), path)
    with pytest.raises(CubeError, match="specification does not agree with its checksum"):
        reader.read(path, "make it")


@given(st.data())
def test_every_truncation_and_every_harmful_flip_is_found(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damage") / "cube.nc"
    write_atomic(example(), path)
    content = bytearray(path.read_bytes())
    sound = reader.read(path, "none")
    if data.draw(st.booleans(), "truncate"):
        path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        with pytest.raises(CubeError, match=str(path)):
            reader.read(path, "make it")
        return
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        found = reader.read(path, "make it")
    except CubeError:
        return
    # A flip may hit padding or a description; it must not have reached a number or a specification.
    xr.testing.assert_equal(found, sound)
    assert found.attrs["spec"] == sound.attrs["spec"]


def test_a_flip_in_the_data_is_found(tmp_path):
    path = tmp_path / "cube.nc"
    dataset = example()
    write_atomic(dataset, path)
    with_flip = dataset.copy(deep=True)
    with_flip.height[0, 0] = np.nextafter(with_flip.height[0, 0].item(), 9)
    with_flip.attrs["data_digest"] = data_digest(dataset)
    with_flip.to_netcdf(path)
    with pytest.raises(CubeError, match="changed since it was written: its data do not agree with its checksum"):
        reader.read(path, "make it")
    with pytest.warns(UserWarning, match=r"cube\.nc: changed since it was written"):
        assert reader.read(path, changed=True).height[0, 0] == with_flip.height[0, 0]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.assign(height=np.nextafter(d.height, 9)),
        lambda d: d.assign_coords(alpha=d.alpha + 1),
        lambda d: d.rename(height="depth"),
        lambda d: d.assign(height=d.height.astype("float32")),
        lambda d: d.transpose(),
        lambda d: d.isel(alpha=[0, 1, 2]),
        lambda d: d.assign(method=d.method.str.upper()),
    ],
)
def test_the_checksum_sees_every_change_of_data(change):
    assert data_digest(change(example())) != data_digest(example())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "cube.nc"
    path.write_text("old")

    def write():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_values_name_their_errors_and_flags():
    """Attributes only: data and digest stay as they are."""
    points, own = ("alpha", "replica"), {"estimator": "theory"}
    cube = xr.Dataset(
        {
            "mmse": (("estimator", *points), np.ones((2, 2, 1))),
            "mmse_error": (points, np.ones((2, 1)), own),
            "slope_at_zero": (points, np.ones((2, 1)), own),
            "slope_error_at_zero": (points, np.ones((2, 1)), own),
            "converged": (points, np.ones((2, 1)), {"estimator": "simulation"}),
            "by_start_converged": ((*points, "start"), np.ones((2, 1, 3)), own),
            "training_error": (points, np.ones((2, 1)), {"estimator": "simulation"}),
        }
    )
    found = linked(cube)
    assert {name: array.attrs.get("ancillary_variables", "") for name, array in found.items()} == {
        "mmse": "mmse_error converged",
        "mmse_error": "",
        "slope_at_zero": "slope_error_at_zero",
        "slope_error_at_zero": "",
        "converged": "",
        "by_start_converged": "",
        "training_error": "converged",
    }
    assert data_digest(found) == data_digest(cube)
    assert "ancillary_variables" not in cube.mmse.attrs


def test_the_file_of_a_user_is_not_removed(tmp_path):
    """The repair of a file in no folder of a workflow removes nothing."""
    for place, words in ((tmp_path / "own.nc", "another path"), (tmp_path / "cubes" / "toy" / "own.nc", "snakemake")):
        place.parent.mkdir(parents=True, exist_ok=True)
        xr.Dataset({"a": ("x", [1.0])}).to_netcdf(place)
        with pytest.raises(CubeError, match=f"was not written by attention-limits.*repair: .*{words}"):
            reader.read(place)


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("results/cubes/f/x.nc", "rm -f {0} && snakemake {0}"),
        ("results/smoke/data/f/x/drawn/c.nc", "rm -f {0} && snakemake {0} --config scale=smoke"),
        ("a/smoke/cubes/f/x.nc", "rm -f {0} && snakemake {0} --config scale=smoke results=a"),
        ("cubes/f/x.nc", "rm -f {0} && snakemake {0} --config results=."),
        ("x.nc", "compute it again, or give another path"),
    ],
)
def test_the_repair_has_the_scale_and_the_results_of_the_folder(path, remedy):
    with pytest.raises(CubeError, match="is missing") as caught:
        reader.read(Path(path))
    assert str(caught.value).endswith(f"; repair: {remedy.format(path)}")
