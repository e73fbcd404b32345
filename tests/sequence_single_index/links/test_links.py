"""Links by name and from files."""

from pathlib import Path

import numpy as np
import pytest

from attention_limits.sequence_single_index.links.link import Link, hermite_sum, named_link, softmax_attention
from attention_limits.sequence_single_index.links.names import BUILT_IN, link_file

OWN = "def odd(z):\n    return z[:, 0] ** 3 - 3 * z[:, 0]\n"


def test_every_built_in_name_has_a_link():
    for name in BUILT_IN:
        assert named_link(name, 2)(np.zeros((3, 2))).shape[0] == 3
        assert link_file(name) is None
    assert link_file("a/b.py:f", "root") == Path("root/a/b.py")


def test_missing_function_is_named(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    with pytest.raises(ValueError, match="no function 'even'"):
        named_link("own.py:even", 1, tmp_path)


@pytest.mark.parametrize("function", [lambda z: z.T, lambda z: z[:, :, None], lambda z: 1.0])
def test_links_of_the_wrong_shape_are_refused(function):
    with pytest.raises(ValueError, match="must map"):
        Link(2, function)(np.zeros((3, 2)))


def test_links_without_finite_values_are_refused():
    with pytest.raises(ValueError, match="second moment"):
        Link(1, lambda z: np.where(z[:, 0] > 0, np.inf, 0.0))(np.ones((1, 1)))
    with pytest.raises(ValueError, match="at least one token"):
        Link(0, lambda z: z[:, 0])


def test_built_in_links_are_what_their_names_say():
    z = np.array([[0.3, -1.2], [2.0, 0.5]])
    attention = softmax_attention(z)
    np.testing.assert_allclose(attention.sum(axis=2), 1.0)
    assert attention[0, 0, 1] == pytest.approx(1 / (1 + np.exp(0.3 * 0.3 + 0.3 * 1.2)))
    np.testing.assert_allclose(
        named_link("trace_attention", 2)(z)[:, 0], np.trace(attention, axis1=1, axis2=2) / np.sqrt(2)
    )
    np.testing.assert_allclose(named_link("relu_sum", 2)(z)[:, 0], [0.0, 2.5 / np.sqrt(2)])
    target = hermite_sum(2, {2: [1, 0.5], 3: 2}, 0.7)
    expected = 0.7 + (z**2 - 1) @ [1, 0.5] + 2 * (z**3 - 3 * z).sum(axis=1)
    np.testing.assert_allclose(target(z)[:, 0], expected)
