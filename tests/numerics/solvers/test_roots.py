import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_limits.numerics.solvers.roots import bisect, root_between


@given(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=5), st.sampled_from([1, 3]))
def test_bisection_finds_roots_of_any_order(roots, order):
    roots = np.array(roots)
    found = bisect(lambda x: (x - roots) ** order, np.full_like(roots, 1e-3), np.full_like(roots, 20.0))
    np.testing.assert_allclose(found, roots, rtol=1e-12)


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=5), st.booleans())
def test_root_between_finds_each_root(roots, reverse):
    """Curved functions, brackets in either order, an argument for each element."""
    roots = np.array(roots)
    ends = np.full_like(roots, -4.0), np.full_like(roots, 5.0)
    sign = -1.0 if reverse else 1.0
    low, high = ends[::-1] if reverse else ends
    found = root_between(lambda x, root: sign * (np.exp(x) - np.exp(root)), low, high, roots)
    np.testing.assert_allclose(found, roots, atol=1e-12)


@pytest.mark.parametrize(("at", "end"), [(0.0, 0.0), (1.0, 1.0), (-1e-15, 0.0), (1.0 + 1e-15, 1.0)])
def test_root_at_an_end_or_beyond_it_by_rounding_is_the_end(at, end):
    assert root_between(lambda x: x - at, np.array([0.0]), np.array([1.0])).item() == end


def test_finished_elements_are_left_out():
    """The first element has its root at an end, the second takes many steps."""
    sizes = []

    def function(x, power):
        sizes.append(np.size(x))
        return x**power - 0.5 * (power > 1)

    np.testing.assert_allclose(root_between(function, 0.0, 1.0, np.array([1, 9])), [0.0, 0.5 ** (1 / 9)], rtol=1e-15)
    assert sizes[-1] == 1
