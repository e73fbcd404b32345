"""Datasets of chunks and of estimators are put together, each point at its place."""

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.base.errors import CubeError
from attention_limits.pipeline.cubes.combine import fill, join, union
from attention_limits.pipeline.experiments.grid import cut


def dataset(alphas, replicas, kind=float, **more):
    """A dataset whose value at a point identifies the point."""
    values = np.array([[1000 * a + r for r in replicas] for a in alphas]).astype(kind)
    return xr.Dataset({"height": (("alpha", "replica"), values), **more}, {"alpha": alphas, "replica": replicas})


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True).map(sorted),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_cut_and_fill_is_the_whole(tenths, replicas, by_alpha, by_replica, random):
    alphas = [0.1 * n for n in tenths]
    chunks = cut({"alpha": alphas}, replicas, {"alpha": by_alpha, "replicas": by_replica})
    datasets = [dataset(chunk.grid["alpha"], chunk.replicas) for chunk in chunks]
    random.shuffle(datasets)
    whole = dataset(alphas, list(range(replicas)))
    xr.testing.assert_identical(fill(datasets, union(datasets)), whole)
    xr.testing.assert_identical(fill(datasets), whole)


@pytest.mark.parametrize(("kind", "filled"), [(float, float), (int, float), (bool, float)])
def test_only_what_is_missing_becomes_nan(kind, filled):
    whole = fill([dataset([1.0, 2.0], [0], kind)], {"alpha": np.array([1.0, 2.0]), "replica": np.array([0])})
    assert whole.height.dtype == kind
    holes = fill(
        [dataset([1.0], [0], kind), dataset([2.0], [1], kind)], {"alpha": np.array([1.0, 2.0]), "replica": np.arange(2)}
    )
    assert holes.height.dtype == filled
    np.testing.assert_array_equal(np.isnan(holes.height), [[False, True], [True, False]])


def test_datasets_that_do_not_fit_are_refused():
    with pytest.raises(CubeError, match="height: two datasets hold the same point"):
        fill([dataset([1.0], [0]), dataset([1.0], [0])], {"alpha": np.array([1.0]), "replica": np.array([0])})
    axes = {"alpha": np.array([1.0, 2.0]), "replica": np.array([0])}
    with pytest.raises(CubeError, match="in some datasets and not in others: height, other"):
        fill([dataset([1.0], [0]), dataset([2.0], [0]).rename(height="other")], axes)
    with pytest.raises(CubeError, match="another type"):
        fill([dataset([1.0], [0]), dataset([2.0], [0], int)], axes)


def test_estimators_are_joined_over_the_union_of_their_grids():
    theory = dataset([0.0, 0.1, 0.2], [0, 1], more=(("alpha",), [1, 2, 3]))
    simulation = dataset([0.1, 0.3], [0, 1, 2])
    cube = join(
        {"theory": theory, "simulation": simulation},
        {"theory": {}, "simulation": {}},
        ["estimator", "alpha", "replica"],
    )
    assert cube.height.dims == ("estimator", "alpha", "replica")
    assert cube.estimator.values.tolist() == ["theory", "simulation"]
    assert cube.alpha.values.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert cube.height.sel(estimator="simulation", alpha=0.3, replica=2) == 302
    for estimator, alpha, replica in itertools.product(cube.estimator.values, cube.alpha.values, cube.replica.values):
        source = {"theory": theory, "simulation": simulation}[estimator]
        inside = alpha in source.alpha.values and replica in source.replica.values
        assert np.isnan(cube.height.sel(estimator=estimator, alpha=alpha, replica=replica)) == (not inside)
    assert cube.more.dims == ("alpha",)
    assert cube.more.attrs["estimator"] == "theory"
    np.testing.assert_array_equal(cube.more, [1, 2, 3, np.nan])


def test_a_fixed_key_meets_a_scanned_one():
    scanned = xr.Dataset({"height": (("skip", "replica"), [[1.0], [2.0]])}, {"skip": [0.0, 1.0], "replica": [0]})
    fixed = xr.Dataset({"height": (("replica",), [5.0])}, {"replica": [0]})
    cube = join({"a": scanned, "b": fixed}, {"a": {}, "b": {"skip": 1.0}}, ["estimator", "skip", "replica"])
    assert cube.height.dims == ("estimator", "skip", "replica")
    assert cube.height.sel(estimator="b", skip=1.0, replica=0) == 5
    assert np.isnan(cube.height.sel(estimator="b", skip=0.0, replica=0))
    with pytest.raises(CubeError, match="skip in another estimator and not in b"):
        join({"a": scanned, "b": fixed}, {"a": {}, "b": {}}, ["estimator", "skip", "replica"])
