import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.pipeline.experiments.grid import Chunk, axis_values, cut

values = st.lists(
    st.floats(-1e6, 1e6).map(lambda x: float(f"{x:.6g}") + 0.0), min_size=1, max_size=12, unique=True
).map(sorted)


def test_a_range_hits_the_decimals_a_person_writes():
    assert axis_values({"start": 0.0, "stop": 1.6, "num": 49})[3] == 0.1
    assert axis_values({"start": -1.0, "stop": 1.0, "num": 21})[10] == 0.0
    assert axis_values({"start": 0.1, "stop": 1.5, "num": 15}) == [round(0.1 * i, 1) for i in range(1, 16)]


def test_logarithmic_spacing():
    assert axis_values({"start": 0.01, "stop": 10, "num": 4, "spacing": "log"}) == [0.01, 0.1, 1.0, 10.0]
    with pytest.raises(ValueError, match="must be positive"):
        axis_values({"start": 0.0, "stop": 1.0, "num": 3, "spacing": "log"})
    with pytest.raises(ValueError, match="strictly increasing"):
        axis_values({"start": 2.0, "stop": 1.0, "num": 3, "spacing": "log"})


def test_a_single_value():
    assert axis_values({"start": 0.5, "stop": 0.5, "num": 1}) == [0.5]
    with pytest.raises(ValueError, match="num: 1"):
        axis_values({"start": 0.5, "stop": 1.0, "num": 1})


@pytest.mark.parametrize(
    "axis",
    [{"values": [0.2, 0.1]}, {"values": [0.1, 0.1]}, {"start": 1, "stop": 0, "num": 3}, {"values": [1, 1 + 1e-14]}],
)
def test_values_that_do_not_increase_are_refused(axis):
    with pytest.raises(ValueError, match="strictly increasing"):
        axis_values(axis)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 60))
def test_a_range_is_linspace_to_rounding(start, width, num):
    found = axis_values({"start": start, "stop": start + width, "num": num})
    np.testing.assert_allclose(
        found, np.linspace(start, start + width, num), rtol=1e-11, atol=1e-11 * (abs(start) + width)
    )
    assert all(float(f"{value:.12g}") == value for value in found)
    assert not any(math.copysign(1, value) < 0 and value == 0 for value in found)


@given(values, values, st.integers(1, 9), st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
def test_chunks_cover_every_point_once(alphas, skips, replicas, by_alpha, by_skip, by_replica):
    chunks = cut(
        {"alpha": alphas, "skip": skips}, replicas, {"alpha": by_alpha, "skip": by_skip, "replicas": by_replica}
    )
    points = [
        (a, s, r) for chunk in chunks for a in chunk.grid["alpha"] for s in chunk.grid["skip"] for r in chunk.replicas
    ]
    assert sorted(points) == sorted((a, s, r) for a in alphas for s in skips for r in range(replicas))
    assert sum(chunk.size for chunk in chunks) == len(points)
    assert len({chunk.name for chunk in chunks}) == len(chunks)
    assert all(chunk.replicas[0] % by_replica == 0 for chunk in chunks)


def test_a_missing_block_size_is_the_whole_axis():
    assert len(cut({"alpha": [0.1, 0.2]}, 7, {})) == 1
    assert [chunk.replicas for chunk in cut({}, 5, {"replicas": 2})] == [[0, 1], [2, 3], [4]]


def test_names_are_of_the_content():
    few = {chunk.name for chunk in cut({"alpha": [0.1, 0.2]}, 4, {"replicas": 2})}
    more = {chunk.name for chunk in cut({"alpha": [0.1, 0.2]}, 6, {"replicas": 2})}
    assert few < more
    assert few.isdisjoint(chunk.name for chunk in cut({"alpha": [0.1, 0.15, 0.2]}, 4, {"replicas": 2}))
    # The ranges are the same to six digits; the values are not.
    assert Chunk({"alpha": [0.1]}, [0]).name != Chunk({"alpha": [0.1 + 1e-9]}, [0]).name


@given(values, st.integers(1, 9))
def test_names_are_safe_in_a_shell(alphas, replicas):
    assert set(Chunk({"alpha": alphas}, list(range(replicas))).name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.-")
