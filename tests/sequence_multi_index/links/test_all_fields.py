"""The search of all fields with one output: it finds fields that are known to exist, and nothing that is none."""

import numpy as np
import pytest

from attention_limits.sequence_multi_index.links.attention import all_fields
from attention_limits.sequence_multi_index.links.attention.all_fields import candidates, search, signed_exchanges
from attention_limits.sequence_multi_index.links.attention.sequence_output import SequenceOutput
from attention_limits.sequence_multi_index.links.heads.multi_head import MultiHeadAttention


def squares(h):
    """An output of four numbers that two fields share with all their signs."""
    x = h[..., 0, :]
    return np.concatenate([x**2, (x**2) ** 2], axis=-1)


def test_fields_that_no_turn_connects_are_all_found():
    """Without the turns each of the four signs of two fields is another set of fields."""
    h = np.random.default_rng(51).standard_normal((6, 1, 2)) + 2.0
    identity = np.eye(1)[None]
    found = search(squares, h, identity)
    counts = np.any(found != 0, axis=(2, 3)).sum(axis=1)
    assert np.all(counts == 4)
    np.testing.assert_allclose(np.abs(found), np.broadcast_to(np.abs(h)[:, None], found.shape), rtol=1e-6)
    # With the common sign as a turn two are left, whose candidates are the four again.
    halves = search(squares, h, signed_exchanges([[0]], 1))
    assert halves.shape[1] == 2
    points, log_weight = candidates(squares, halves, signed_exchanges([[0]], 1))
    assert points.shape == (6, 1, 4, 1, 2)
    # sqrt(det J^T J) = prod_a sqrt(4 x_a^2 + 16 x_a^6)
    volume = 0.5 * np.log(4.0 * h**2 + 16.0 * h**6).sum(axis=(1, 2))
    np.testing.assert_allclose(log_weight[:, 0], -np.repeat(volume[:, None], 4, axis=1), rtol=1e-6)


@pytest.mark.parametrize(
    ("link", "turns"),
    [
        (MultiHeadAttention(tokens=4), 8),
        (MultiHeadAttention(tokens=4, readout=(0.7, 0.3)), 4),
        (MultiHeadAttention(tokens=6, depth=2), 64),
        (SequenceOutput(tokens=4), 4),
    ],
)
def test_turns_are_those_that_leave_the_output(link, turns):
    h = np.random.default_rng(52).standard_normal((5, link.rows, link.tokens))
    assert len(link._turns) == turns
    y = link.forward(np.einsum("tpq,nqa->ntpa", link._turns, h))
    np.testing.assert_allclose(y, np.broadcast_to(link.forward(h)[:, None], y.shape), rtol=1e-10)


@pytest.mark.parametrize("link", [MultiHeadAttention(tokens=4), SequenceOutput(tokens=4)])
def test_outputs_of_four_tokens_and_two_rows_have_one_set_of_fields(link):
    """32 outputs. A third of the starts at least ends at the true fields, so that the search would see others of the same
    size."""
    h = np.random.default_rng(53).standard_normal((32, 2, 4))
    assert link.observe(h).shape == (32, 1, 2, 4)
    starts = np.random.default_rng(0).standard_normal((all_fields.STARTS, 2, 4))
    ends = all_fields._descend(link.forward, link.forward(h), np.broadcast_to(starts, (32, *starts.shape)))
    error = np.abs(link.forward(ends) - link.forward(h)[:, None]).max(axis=(2, 3))
    assert np.mean(error < all_fields.ACCURACY) > 1 / 3


def test_too_many_rows_need_noise():
    for link in (MultiHeadAttention(tokens=3), MultiHeadAttention(tokens=4, heads=3), SequenceOutput(tokens=3)):
        assert "two tokens" in link.no_density
