"""Data that two estimators read: made once, kept, and made again when their specification or their code changes."""

import shutil

import pytest
import xarray as xr

from toy import Toy
from toy_data import share

pytestmark = pytest.mark.slow

CUBE = "results/cubes/toy/shared.nc"
SPEC = "config/toy/experiments/shared.yaml"
DRAWN, MEANS, SPREADS, MERGE = (f"toy/shared: {word}" for word in ("drawn", "means", "spreads", "merge"))
EVERYTHING = [*[DRAWN] * 4, *[MEANS] * 2, MERGE, SPREADS]
CODE = "src/attention_limits/toy/estimators"


@pytest.fixture(scope="module")
def shared_once(tmp_path_factory):
    toy = Toy(tmp_path_factory.mktemp("shared") / "project")
    share(toy)
    done = toy.snakemake("--cores", "2", CUBE)
    assert done.returncode == 0, done.stderr
    return toy


@pytest.fixture
def shared(shared_once, toy):
    """A toy project with data, chunks and cube, to be changed. The files keep their dates."""
    shutil.rmtree(toy.folder)
    shutil.copytree(shared_once.folder, toy.folder)
    return toy


def data_files(toy):
    return sorted(toy.folder.glob("results/data/*/*/*/[!.]*.nc"))


@pytest.mark.parametrize(("longest", "first"), [("counting", "counting"), ("spreads", "drawn")])
def test_the_job_of_most_minutes_is_first_and_before_it_the_data_that_it_reads(toy, longest, first):
    share(toy)
    name = "shared" if longest == "spreads" else "growth_curve"
    toy.edit(
        f"config/toy/experiments/{name}.yaml", f"  {longest}:\n", f"  {longest}:\n    resources: {{minutes: 90}}\n"
    )
    # The first job names itself and fails, and no other one starts.
    toy.edit("profiles/default/config.yaml", "keep-going: true", "keep-going: false")
    assert toy.snakemake("--cores", "1", TOY_SLEEP="no number").returncode == 1
    assert [line.split()[0] for line in toy.computed()] == [first]


def test_data_are_made_once_and_kept(shared):
    assert shared.computed() == sorted(
        [f"{name} {alpha} {r}" for name in ("drawn", "means") for alpha in (0.2, 0.4) for r in (0, 1)]
        + ["spreads 0.4 0", "spreads 0.4 1"]
    )
    assert len(data_files(shared)) == 4
    with xr.open_dataset(shared.folder / CUBE) as cube:
        assert cube.height.sizes == {"estimator": 2, "alpha": 2, "replica": 2}
        assert '"reads": "drawn"' in cube.attrs["spec"]
    assert shared.planned(CUBE) == []


def test_an_edit_reruns_exactly_its_dependants(shared):
    shared.edit(f"{CODE}/spreads.py", "values.std()", "values.var()")
    assert shared.planned(CUBE) == [MERGE, SPREADS]
    shared.edit(SPEC, "shift: 1", "shift: 2")
    assert shared.planned(CUBE) == [MEANS, MEANS, MERGE, SPREADS]
    shared.edit(SPEC, "samples: 5", "samples: 6")
    assert shared.planned(CUBE) == EVERYTHING
    shared.edit(SPEC, "samples: 6", "samples: 5")
    shared.edit(f"{CODE}/drawn.py", "normal(", "uniform(")
    assert shared.planned(CUBE) == EVERYTHING
    # One run makes the data and then runs the jobs that read them.
    shared.computed()
    (spreads,) = shared.folder.glob("results/chunks/toy/shared/spreads/*.nc")
    done = shared.snakemake("--cores", "2", str(spreads.relative_to(shared.folder)))
    assert done.returncode == 0, done.stderr
    assert shared.computed() == ["drawn 0.4 0", "drawn 0.4 1", "spreads 0.4 0", "spreads 0.4 1"]
    assert shared.planned(CUBE) == [DRAWN, DRAWN, MEANS, MEANS, MERGE]


def test_more_replicas_make_new_data_alone(shared):
    before = {path: path.read_bytes() for path in data_files(shared)}
    shared.computed()
    done = shared.snakemake("--cores", "2", CUBE, "--config", "scale=paper")
    assert done.returncode == 0, done.stderr
    assert shared.computed() == ["drawn 0.2 2", "drawn 0.4 2", "means 0.2 2", "means 0.4 2"]
    with xr.open_dataset(shared.folder / CUBE) as cube:
        assert not cube.height.sel(estimator="means").isnull().any()
    assert all(path.read_bytes() == content for path, content in before.items())
    assert shared.planned(CUBE, "--config", "scale=paper") == []
