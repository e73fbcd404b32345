"""One chunk: points that other files hold are copied, the rest is computed, and few files are opened to find out."""

import itertools
import shutil
from pathlib import Path
from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.cubes import chunks
from attention_limits.pipeline.experiments.experiment import load_experiment
from attention_limits.pipeline.experiments.grid import Chunk
from toy import EXPERIMENT, Toy, imported
from toy_data import share


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    toy = Toy(tmp_path_factory.mktemp("chunks") / "project")
    share(toy)
    with imported(toy):
        yield toy


@pytest.fixture
def compute(project, tmp_path):
    """Computes chunks of an estimator of the toy experiment with edits: the points that were computed, in order."""

    def run(*edits, seed=0, file="growth_curve", name="growth"):
        text = EXPERIMENT
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        if file == "growth_curve":
            project.experiment.write_text(text)
        project.computed()
        experiment = load_experiment(project.experiment.with_name(f"{file}.yaml"))
        estimator = experiment.all_estimators[name]
        counts = []
        for chunk in estimator.chunks:
            output = Path(estimator.path(str(tmp_path), chunk))
            counts.append(chunks.run_chunk(experiment, estimator, chunk, seed, output, str(tmp_path)))
        points = project.computed()
        assert sum(counts) == len(points)
        return points

    return run


@pytest.fixture
def growth(tmp_path):
    return tmp_path / "chunks" / "toy" / "growth_curve" / "growth"


def files(folder):
    return sorted(path.name for path in folder.glob("[!.]*.nc"))


MORE = ("replicas: 3", "replicas: 4")
FINER = ("num: 4", "num: 7")


def test_points_of_other_files_are_copied(compute, growth):
    assert len(compute()) == 12
    before = {path: path.read_bytes() for path in growth.glob("*.nc")}
    assert compute(MORE) == [f"growth {alpha} 3" for alpha in ("0", "0.2", "0.4", "0.6")]
    assert compute(MORE, FINER, ("{alpha: 2}", "{alpha: 5, replicas: 3}")) == sorted(
        f"growth {alpha} {replica}" for alpha in (0.1, 0.3, 0.5) for replica in range(4)
    )
    assert all(path.read_bytes() == content for path, content in before.items())


def test_other_seeds_and_parameters_share_no_points(compute):
    compute()
    assert len(compute(seed=1)) == 12
    assert len(compute(("steps: 3", "steps: 4"))) == 12
    assert len(compute(("gain: 2.0", "gain: 3.0"))) == 12


def test_the_same_bytes_from_copies_and_from_scratch(compute, growth):
    one = ("chunk: {alpha: 2}", "chunk: {}")
    compute()
    assert compute(one) == []
    (joint,) = [path for path in growth.glob("*.nc") if "alpha0-0.6" in path.name]
    copied = joint.read_bytes()
    shutil.rmtree(growth)
    assert len(compute(one)) == 12
    assert joint.read_bytes() == copied


def test_a_job_opens_only_files_that_may_hold_its_points(compute, growth, monkeypatch):
    compute(("chunk: {alpha: 2}", "chunk: {alpha: 1, replicas: 1}"))
    assert len(files(growth)) == 12
    opened, read = [], chunks.reader.read
    monkeypatch.setattr(chunks.reader, "read", lambda path, **more: opened.append(path.name) or read(path, **more))
    # Chunks of one cut share no point, so none looks into another.
    compute(("chunk: {alpha: 2}", "chunk: {alpha: 1, replicas: 1}"))
    assert opened == []
    (growth / ".alpha0.12.tmp.nc").write_bytes(b"begun")
    assert compute(("chunk: {alpha: 2}", "chunk: {}"), ("num: 4", "num: 2"), ("stop: 0.6", "stop: 0.2")) == []
    assert {name.split("_")[0] for name in opened} == {"alpha0", "alpha0.2"}
    assert len(opened) == 6


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=4, unique=True).map(sorted), st.integers(0, 10**6))
def test_the_name_of_a_file_never_hides_a_point(tmp_path_factory, alphas, replica):
    folder = tmp_path_factory.mktemp("names")
    held = Chunk({"alpha": alphas}, [replica])
    (folder / f"{held.name}.nc").touch()
    estimator = SimpleNamespace(chunk={})
    for alpha in alphas:
        assert list(chunks._other_files(estimator, Chunk({"alpha": [alpha]}, [replica]), folder))
        assert not list(chunks._other_files(estimator, Chunk({"alpha": [alpha]}, [replica + 10_000_000]), folder))


@pytest.mark.parametrize("content", ["", "a letter\n"])
def test_files_that_cannot_be_read_are_skipped(compute, growth, content):
    compute()
    first = sorted(growth.glob("[!.]*.nc"))[0]
    first.write_text(content)
    with netCDF4.Dataset(growth / "no_grid.nc", "w") as made:
        made.point_digest = "points"
    assert len(compute(("chunk: {alpha: 2}", "chunk: {}"))) == 6


def test_a_file_with_a_wrong_number_is_not_copied(compute, growth, capsys):
    compute()
    first = sorted(growth.glob("[!.]*.nc"))[0]
    with xr.open_dataset(first) as made:
        changed = made.load()
    changed.height[0, 0] += 1
    changed.to_netcdf(first)
    assert len(compute(("chunk: {alpha: 2}", "chunk: {}"))) == 6
    assert "not reused: " in capsys.readouterr().err


def test_a_reader_needs_its_data(compute, tmp_path):
    with pytest.raises(CubeError) as caught:
        compute(file="shared", name="spreads")
    assert "drawn" in str(caught.value)
    assert "is missing; repair: rm -f " in str(caught.value)
    assert compute(file="shared", name="drawn") == ["drawn 0.2 0", "drawn 0.2 1", "drawn 0.4 0", "drawn 0.4 1"]
    assert compute(file="shared", name="spreads") == ["spreads 0.4 0", "spreads 0.4 1"]
    data = sorted((tmp_path / "data" / "toy" / "shared" / "drawn").glob("*.nc"))
    assert len(data) == 4
    with xr.open_dataset(data[0]) as opened:
        assert opened.value.dims == ("alpha", "replica", "sample")
        assert (opened.value.dtype, opened.sign.dtype) == ("float32", "int8")
        # Raw numbers in single precision are not compressed.
        assert opened.sign.encoding["zlib"]
        assert not opened.value.encoding["zlib"]
    # Data of another point, and data of another seed, are refused.
    data[3].write_bytes(data[2].read_bytes())
    shutil.rmtree(tmp_path / "chunks")
    with pytest.raises(CubeError, match="spec_digest differs"):
        compute(file="shared", name="spreads")
    with pytest.raises(CubeError, match="point_digest differs"):
        compute(file="shared", name="spreads", seed=1)


def test_a_file_of_data_may_hold_several_replicas(project, compute, tmp_path):
    """The points that exist are copied into the new files, and the readers find the same numbers."""
    shared = project.experiment.with_name("shared.yaml")
    text, made = shared.read_text(), tmp_path / "chunks" / "toy" / "shared" / "means"
    assert len(compute(file="shared", name="drawn")) == 4
    assert len(compute(file="shared", name="means")) == 4
    before = {path.name: path.read_bytes() for path in made.glob("*.nc")}
    shutil.rmtree(made)
    for single in (tmp_path / "data").rglob("*replicas0_*.nc"):
        single.unlink()
    shared.write_text(text.replace("solver: {samples: 5}", "solver: {samples: 5}\n    chunk: {replicas: 2}"))
    try:
        assert compute(file="shared", name="drawn") == ["drawn 0.2 0", "drawn 0.4 0"]
        assert len(list((tmp_path / "data").rglob("*replicas0-1_*.nc"))) == 2
        assert len(compute(file="shared", name="means")) == 4
    finally:
        shared.write_text(text)
    assert {path.name: path.read_bytes() for path in made.glob("*.nc")} == before


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_blocks_cover_exactly_what_is_missing(shape, data):
    size = int(np.prod(shape))
    missing = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size))).reshape(shape)
    points = [point for block in chunks.blocks(missing) for point in itertools.product(*block)]
    assert sorted(points) == sorted(map(tuple, np.argwhere(missing).tolist()))


def test_blocks_are_few():
    missing = np.ones((5, 4), dtype=bool)
    assert len(list(chunks.blocks(missing))) == 1
    missing[:, :2] = False
    assert list(chunks.blocks(missing)) == [([0, 1, 2, 3, 4], [2, 3])]
    missing[2, :] = True
    assert len(list(chunks.blocks(missing))) == 2
