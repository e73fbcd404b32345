"""Phases: known transitions of phase retrieval; and a layer that is held where it would be anyway changes nothing."""

from types import SimpleNamespace

import numpy as np
import pytest
from smi_tools import search_settings

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index.channels.averages import node_dimension
from attention_limits.sequence_multi_index.channels.channel import Channel
from attention_limits.sequence_multi_index.estimators.at_point import completed
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.loading import load_link
from attention_limits.sequence_multi_index.schema.bayes import PhasesSolver
from attention_limits.sequence_multi_index.state_evolution import fixed_point, phases
from attention_limits.sequence_multi_index.state_evolution.fixed_point import OverlapFixedPoint, solve
from attention_limits.sequence_multi_index.state_evolution.phases import EASY, HARD, IMPOSSIBLE, compare

pytestmark = pytest.mark.slow

SETTINGS = completed(PhasesSolver(), warm_up=1, side_information=0.0, regularization=0.0)


# Noiseless real phase retrieval with Gaussian weights: weak recovery at 1/2, exact recovery possible from 1 on and found by
# approximate message passing from 1.128 on (Barbier et al. 2019, PNAS 116, 5451; Maillard et al. 2020, arXiv:2006.05228).
@pytest.mark.parametrize(
    ("alpha", "phase"), [(0.4, IMPOSSIBLE), (0.6, EASY), (0.95, EASY), (1.05, HARD), (1.1, HARD), (1.2, EASY)]
)
def test_phase_retrieval(alpha, phase):
    link = load_link({"link": "phase_retrieval"}, ".")
    nodes = gaussian_nodes(node_dimension(link), 2048, np.random.default_rng(1))
    found = compare(Channel(link, 1.0, np.random.default_rng(2)), alpha, nodes, SETTINGS)
    assert found.converged.all()
    assert found.phase == phase
    # Exact recovery, and only that, has an unbounded free entropy.
    assert np.isinf(found.free_entropy[1]) == (alpha > 1.0)


def test_no_overlap_without_data():
    link = DeepAttention(skip=1.0)
    nodes = gaussian_nodes(node_dimension(link), 64, np.random.default_rng(1))
    assert compare(Channel(link, 0.75, np.random.default_rng(2)), 0.0, nodes, SETTINGS).phase == IMPOSSIBLE


def test_a_layer_held_at_its_own_fixed_point_changes_nothing():
    link = DeepAttention(skip=1.0)
    nodes = gaussian_nodes(node_dimension(link), 256, np.random.default_rng(3))
    channel = Channel(link, 0.75, np.random.default_rng(4))
    tolerance = 1e-4
    free = np.diag(solve(channel, 0.9, nodes, 1e-3, search_settings(tolerance=tolerance)).value)
    for row in (0, 1):
        held = np.full(2, np.nan)
        held[row] = free[row]
        found = np.diag(solve(channel, 0.9, nodes, 1e-3, search_settings(tolerance=tolerance), held=held).value)
        # Each stops within `tolerance` of its fixed point per iteration, which a slow mode of rate 0.9 amplifies tenfold.
        assert np.allclose(found, free, atol=20 * tolerance)


def test_overlaps_are_held_only_where_they_are_diagonal():
    link = load_link({"link": "product", "rows": 2}, ".")
    nodes = gaussian_nodes(node_dimension(link), 16, np.random.default_rng(3))
    with pytest.raises(ValueError, match="diagonal"):
        solve(Channel(link, 0.5, np.random.default_rng(4)), 1.0, nodes, 1e-3, search_settings(), held=[0.5, np.nan])


@pytest.mark.parametrize(("error", "known"), [(0.02, True), (0.05, False)])
def test_a_difference_within_the_error_of_few_nodes_is_no_hard_phase(monkeypatch, error, known):
    """The starts end at .3 and .4; on a quarter of the nodes the uninformed one ends at .3 + error sqrt(3)."""
    link = load_link({"link": "phase_retrieval"}, ".")
    nodes = gaussian_nodes(node_dimension(link), 64, np.random.default_rng(1))
    monkeypatch.setattr(phases, "channel_averages", lambda *given, **more: SimpleNamespace(log_z=0.0, resolved=1.0))

    def solved(channel, alpha, nodes, start, settings, prior):
        value = 0.4 if start > 0.5 else 0.3 + error * np.sqrt(3.0) * (len(nodes) == 16)
        overlap = np.array([[value]])
        return OverlapFixedPoint(overlap, 0.0, 1, True, overlap / (1.0 - overlap), np.zeros((1, 1)))

    for module in (phases, fixed_point):
        monkeypatch.setattr(module, "solve", solved)
    monkeypatch.setattr(phases, "free_entropy", lambda overlap, *given, **more: float(overlap[0, 0]))
    found = compare(Channel(link, 1.0, np.random.default_rng(2)), 1.05, nodes, SETTINGS)
    assert found.node_error.ravel() == pytest.approx([error, 0.0])
    assert found.phase == HARD if known else np.isnan(found.phase)
