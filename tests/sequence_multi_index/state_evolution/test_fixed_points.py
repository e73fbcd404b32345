"""Fixed points of the state evolution do not depend on how they are reached."""

import numpy as np
import pytest
from smi_tools import channel_of, node_sets, search_settings

from attention_limits.sequence_multi_index.channels.averages import channel_averages
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.priors.overlaps import overlap_from_precision, symmetrized
from attention_limits.sequence_multi_index.state_evolution.fixed_point import Steps, solve

pytestmark = pytest.mark.slow

CHANNEL = channel_of(DeepAttention(1.0))
NODES = node_sets(CHANNEL.link, 128, 1, seed=51)[0]


@pytest.mark.parametrize(("alpha", "side_information"), [(0.3, 0.0), (0.5, 0.0), (0.9, 0.0), (1.3, 0.0), (0.5, 0.4)])
def test_informed_and_uninformed_starts_meet(alpha, side_information):
    """No statistical-to-computational gap. On common nodes both follow one deterministic map. Q_hat changes by less than
    1e-6 in the last iteration; even at a contraction rate of 0.99 per iteration it is then within 1e-4 of the limit."""
    settings = search_settings(side_information=side_information, tolerance=1e-6)
    found = [solve(CHANNEL, alpha, NODES, start, settings) for start in (0.01, 0.9999)]
    assert all(outcome.converged for outcome in found)
    np.testing.assert_allclose(found[1].value, found[0].value, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.9])
def test_acceleration_does_not_move_the_fixed_point(alpha):
    """As above; the plain iteration is the reference."""
    plain = solve(
        CHANNEL, alpha, NODES, 0.01, search_settings(tolerance=1e-6, max_iterations=5000), steps=Steps(lookahead=0)
    )
    for lookahead in (8, 16):
        accelerated = solve(
            CHANNEL, alpha, NODES, 0.01, search_settings(tolerance=1e-6), steps=Steps(lookahead=lookahead)
        )
        assert plain.converged
        assert accelerated.converged
        np.testing.assert_allclose(accelerated.value, plain.value, atol=1e-4)


@pytest.mark.parametrize(("alpha", "side_information"), [(0.5, 0.0), (0.5, 0.3), (0.9, 0.0)])
def test_fixed_point_solves_the_equations(alpha, side_information):
    """Q = Q_hat (I + Q_hat)^-1 and Q_hat = alpha E sum g g^T + hint, written out; tolerance as asked of `solve`, times ten for
    the change of one further iteration and the layers reported as exactly unlearned (Q_hat below 1e-4)."""
    overlap = solve(
        CHANNEL, alpha, NODES, 0.01, search_settings(side_information=side_information, tolerance=1e-5)
    ).value
    # On a finite set of nodes the two signs of a layer are not exactly balanced: the solver averages over them.
    q_hat = alpha * symmetrized(CHANNEL.link.sign_symmetry, channel_averages(CHANNEL, overlap, NODES).information)
    q_hat += side_information / (1 - side_information) * np.eye(2)
    np.testing.assert_allclose(overlap, q_hat @ np.linalg.inv(np.eye(2) + q_hat), atol=1e-4)
    np.testing.assert_allclose(overlap, overlap_from_precision(q_hat), atol=1e-4)


def test_fixed_point_without_data_is_what_the_hint_gives():
    """alpha = 0: Q = lambda exactly."""
    overlap = solve(CHANNEL, 0.0, NODES, 0.5, search_settings(side_information=0.35)).value
    np.testing.assert_allclose(overlap, 0.35 * np.eye(2), atol=1e-9)
    assert np.all(solve(CHANNEL, 0.0, NODES, 0.5, search_settings()).value == 0)


def test_more_data_and_more_side_information_give_larger_overlaps():
    """On common nodes, up to the tolerance 1e-4 of the solutions."""
    learned = [np.diag(solve(CHANNEL, alpha, NODES, 0.01, search_settings()).value) for alpha in (0.1, 0.3, 0.5, 1.3)]
    assert np.all(np.diff(learned, axis=0) >= -1e-4)
    hinted = [
        np.diag(solve(CHANNEL, 0.4, NODES, 0.01, search_settings(side_information=side)).value)
        for side in (0.0, 0.1, 0.3, 0.6)
    ]
    assert np.all(np.diff(hinted, axis=0) > 0)


def test_regularization_keeps_recovery_from_becoming_exact():
    """The noise epsilon on the fields is never removed: Q_11 saturates below its unregularised value."""
    exact = solve(CHANNEL, 1.3, NODES, 0.01, search_settings()).value
    noisy = solve(CHANNEL, 1.3, NODES, 0.01, search_settings(regularization=1e-3)).value
    assert 1.0 - exact[0, 0] < 1e-3
    assert 0.5 < noisy[0, 0] < 0.97
