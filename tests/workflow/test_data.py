"""Data that two estimators read: made once, gone afterwards, made again for those alone that need them."""

import os
import shutil
import signal
import subprocess
import time

import pytest
import xarray as xr

from toy import Toy
from toy_data import share

CUBE = "results/cubes/toy/shared.nc"
SPEC = "config/toy/experiments/shared.yaml"
DRAWN, MEANS, SPREADS, MERGE = (f"toy/shared: {word}" for word in ("drawn", "means", "spreads", "merge"))
EVERYTHING = [*[DRAWN] * 4, *[MEANS] * 2, MERGE, SPREADS]


@pytest.fixture(scope="module")
def shared_once(tmp_path_factory):
    toy = Toy(tmp_path_factory.mktemp("shared") / "project")
    share(toy)
    done = toy.snakemake("--cores", "2", CUBE)
    assert done.returncode == 0, done.stderr
    return toy


@pytest.fixture
def shared(shared_once, toy):
    """A toy project whose shared data have been read and are gone, to be changed."""
    shutil.rmtree(toy.folder)
    shutil.copytree(shared_once.folder, toy.folder)
    return toy


def data_files(toy):
    return sorted(toy.folder.glob("results/data/**/*.nc"))


def drawn(toy):
    """The points of the data computed since the last call, each as often as it was."""
    return [point.removeprefix("drawn ") for point in toy.computed() if point.startswith("drawn")]


def test_a_dry_run_shows_the_data(toy):
    share(toy)
    assert toy.planned(CUBE) == EVERYTHING


def test_data_are_made_once_and_deleted(shared):
    assert drawn(shared) == ["0.2 0", "0.2 1", "0.4 0", "0.4 1"]
    assert data_files(shared) == []
    assert shared.planned(CUBE) == []
    with xr.open_dataset(shared.folder / CUBE) as cube:
        assert cube.height.sizes == {"estimator": 2, "alpha": 2, "replica": 2}
        assert '"reads": "drawn"' in cube.attrs["spec"]


def test_an_edit_of_the_data_reruns_their_readers(shared):
    assert shared.planned(CUBE, "results/cubes/toy/growth_curve.nc").count("toy/growth_curve: growth") == 2
    shared.edit("src/attention_limits/toy/estimators/drawn.py", "normal(", "uniform(")
    assert shared.planned(CUBE) == EVERYTHING
    shared.edit("src/attention_limits/toy/estimators/drawn.py", "uniform(", "normal(")
    shared.edit(SPEC, "samples: 5", "samples: 6")
    assert shared.planned(CUBE) == EVERYTHING


def test_an_edit_of_one_reader_leaves_the_other_alone(shared):
    shared.edit("src/attention_limits/toy/estimators/spreads.py", "values.std()", "values.var()")
    assert shared.planned(CUBE) == [DRAWN, DRAWN, MERGE, SPREADS]
    drawn(shared)
    means = [path.read_bytes() for path in shared.chunks() if path.parent.name == "means"]
    assert shared.snakemake(CUBE).returncode == 0
    assert drawn(shared) == ["0.4 0", "0.4 1"]
    assert data_files(shared) == []
    assert shared.planned(CUBE) == []
    assert means == [path.read_bytes() for path in shared.chunks() if path.parent.name == "means"]


def test_more_replicas_make_the_data_of_the_new_points_alone(shared):
    drawn(shared)
    done = shared.snakemake(CUBE, "--config", "scale=paper")
    assert done.returncode == 0, done.stderr
    assert drawn(shared) == ["0.2 2", "0.4 2"]
    assert data_files(shared) == []
    assert shared.planned(CUBE, "--config", "scale=paper") == []
    with xr.open_dataset(shared.folder / CUBE) as cube:
        assert not cube.height.sel(estimator="means").isnull().any()


def test_killed_in_the_middle_and_resumed(shared, tmp_path):
    killed = Toy(tmp_path / "killed")
    share(killed)
    running = subprocess.Popen(
        [killed.python, "-m", "snakemake", "--cores", "1", CUBE],
        cwd=killed.folder,
        env=killed.environment(TOY_SLEEP="0.5"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        # The third data file is begun, and its log opened, once Snakemake has taken note that two are finished.
        deadline = time.monotonic() + 120
        while len(list(killed.folder.glob("results/logs/data/**/*.log"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert killed.snakemake("--unlock").returncode == 0
    done = killed.snakemake(CUBE)
    assert done.returncode == 0, done.stderr
    assert data_files(killed) == []
    assert (killed.folder / CUBE).read_bytes() == (shared.folder / CUBE).read_bytes()
    assert killed.planned(CUBE) == []


def test_data_that_a_kill_has_left_are_deleted_once_no_reader_needs_them(shared):
    names = sorted(path.stem for path in shared.folder.glob("results/logs/data/**/*.log"))
    files = [f"results/data/toy/shared/drawn/{name}.nc" for name in names]
    # Data that are asked for stay.
    assert shared.snakemake(*files).returncode == 0
    assert [str(path.relative_to(shared.folder)) for path in data_files(shared)] == files
    half = shared.folder / files[0].replace("alpha", ".alpha").replace(".nc", ".12345.tmp.nc")
    half.write_bytes(b"begun")
    # A run that makes something else leaves what a reader still needs, and data of another layout.
    foreign = shared.folder / files[0].replace("alpha0.2", "alpha0.3")
    foreign.write_bytes(b"not of this layout")
    next(path for path in shared.chunks() if path.parent.name == "spreads").unlink()
    assert shared.snakemake("--forcerun", "toy_heights").returncode == 0
    assert data_files(shared) == sorted([foreign, *(shared.folder / file for file in files if "alpha0.4" in file)])
    # With --notemp all stay.
    (shared.folder / CUBE).unlink()
    assert shared.snakemake(CUBE, "--notemp").returncode == 0
    assert len(data_files(shared)) == 3
    assert shared.snakemake("--forcerun", "toy_heights").returncode == 0
    assert data_files(shared) == [foreign]
    assert shared.planned(CUBE) == []


def test_by_hand(shared, toy):
    sound = (shared.folder / CUBE).read_bytes()
    shutil.rmtree(shared.folder / "results")
    drawn(shared)
    first = shared.program("run", SPEC, "--estimator", "means")
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("is missing; repair: made anew: made for means") == 4
    assert len(data_files(shared)) == 4
    # A file made under another specification is not taken for this one's.
    data_files(shared)[3].write_bytes(data_files(shared)[2].read_bytes())
    second = shared.program("run", SPEC, "--estimator", "spreads")
    assert second.returncode == 0, second.stderr
    assert drawn(shared) == ["0.2 0", "0.2 1", "0.4 0", "0.4 1", "0.4 1"]
    assert shared.program("merge", SPEC).returncode == 0
    assert (shared.folder / CUBE).read_bytes() == sound


def test_the_data_files(shared):
    done = shared.program("run", SPEC, "--estimator", "drawn")
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(data_files(shared)[0]) as data:
        assert data.value.dims == ("alpha", "replica", "sample")
        assert (data.value.dtype, data.sign.dtype) == ("float32", "int8")
        assert data.sign.encoding["zlib"]
        assert not data.value.encoding["zlib"]
