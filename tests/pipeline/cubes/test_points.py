"""One loop over the points of a specification, and its dataset."""

import numpy as np
import xarray as xr

from attention_limits.pipeline.cubes.points import collect, points

SPEC = {"estimator": "toy", "grid": {"alpha": [0.1, 0.2], "skip": [1.0, 2.0, 3.0]}, "replicas": [4, 5]}


def test_the_replica_runs_fastest_and_the_first_key_slowest():
    found = points(SPEC)
    assert len(found) == 12
    assert found[:3] == [
        ({"alpha": 0.1, "skip": 1.0}, 4),
        ({"alpha": 0.1, "skip": 1.0}, 5),
        ({"alpha": 0.1, "skip": 2.0}, 4),
    ]
    assert found[-1] == ({"alpha": 0.2, "skip": 3.0}, 5)
    assert points({"grid": {}, "replicas": [0]}) == [({}, 0)]


def test_every_value_stands_at_its_point():
    def compute(at, replica):
        value = 100 * at["alpha"] + at["skip"] + 1000 * replica
        return {"height": value, "count": np.int32(replica), "trace": value + np.arange(3), "name": f"{at['alpha']}"}

    found = collect(SPEC, compute, {"trace": ("iteration",)})
    assert found.height.dims == ("alpha", "skip", "replica")
    assert found.trace.dims == ("alpha", "skip", "replica", "iteration")
    for at, replica in points(SPEC):
        here = found.sel(**at, replica=replica)
        assert here.height == 100 * at["alpha"] + at["skip"] + 1000 * replica
        np.testing.assert_array_equal(here.trace, here.height.item() + np.arange(3))
    # A type is that of the values, not that of a mean.
    assert (found["count"].dtype, found.height.dtype) == (np.int32, np.float64)
    assert found.iteration.values.tolist() == [0, 1, 2]
    assert {name: found[name].values.tolist() for name in ("alpha", "skip", "replica")} == {
        "alpha": [0.1, 0.2],
        "skip": [1.0, 2.0, 3.0],
        "replica": [4, 5],
    }


def test_given_coordinates_stand_along_the_dimensions_of_a_variable():
    found = collect(SPEC, lambda at, replica: {"overlap": [0.0, 1.0]}, {"overlap": ("layer",)}, {"layer": [1, 2]})
    xr.testing.assert_equal(found.layer, xr.DataArray([1, 2], dims="layer", coords={"layer": [1, 2]}))


def test_no_grid_is_one_point_for_each_replica():
    spec = {"estimator": "toy", "grid": {}, "replicas": [0, 1]}
    found = collect(spec, lambda at, replica: {"height": float(replica)}, {})
    assert (found.height.dims, found.height.values.tolist()) == (("replica",), [0.0, 1.0])
