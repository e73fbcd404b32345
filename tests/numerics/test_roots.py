import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.numerics.roots import bisect, false_position


@given(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=5), st.sampled_from([1, 3]))
def test_bisection_finds_roots_of_any_order(roots, order):
    roots = np.array(roots)
    found = bisect(lambda x: (x - roots) ** order, np.full_like(roots, 1e-3), np.full_like(roots, 20.0))
    np.testing.assert_allclose(found, roots, rtol=1e-12)


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=5), st.booleans())
def test_false_position_finds_simple_roots(roots, reverse):
    """Curved functions, brackets in either order."""
    roots = np.array(roots)
    ends = np.full_like(roots, -4.0), np.full_like(roots, 5.0)
    sign = -1.0 if reverse else 1.0
    low, high = ends[::-1] if reverse else ends
    found = false_position(lambda x: sign * (np.exp(x) - np.exp(roots)), low, high)
    np.testing.assert_allclose(found, roots, atol=1e-12)


def test_roots_at_the_ends_of_the_bracket():
    for at in (0.0, 1.0):
        assert false_position(lambda x, at=at: x - at, np.array([0.0]), np.array([1.0]))[0] == pytest.approx(
            at, abs=1e-14
        )
