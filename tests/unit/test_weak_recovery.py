"""What the thresholds say when there is none."""

import numpy as np
import pytest

from attention_limits.numerics.gaussian_nodes import gaussian_nodes
from attention_limits.sequence_multi_index import weak_recovery
from attention_limits.sequence_multi_index.deep_attention import DeepAttention
from attention_limits.sequence_multi_index.state_evolution import node_dimension


@pytest.mark.parametrize("growth", [0.5, 2.0])
def test_a_growth_that_never_crosses_one_gives_a_missing_threshold(monkeypatch, growth):
    model = DeepAttention(1.0)
    nodes = gaussian_nodes(node_dimension(model), 16, np.random.default_rng(0))
    point = weak_recovery.BranchPoint(alpha=1.0, growth=growth)
    monkeypatch.setattr(weak_recovery, "unlearnt_first_layer", lambda *arguments: point)
    assert np.all(np.isnan(weak_recovery.second_instability(model, nodes)))


def test_a_growth_that_crosses_one_gives_the_threshold_there(monkeypatch):
    model = DeepAttention(1.0)
    nodes = gaussian_nodes(node_dimension(model), 16, np.random.default_rng(0))

    def branch(model, overlap, nodes, resolution):
        return weak_recovery.BranchPoint(alpha=2.0 * overlap, growth=overlap / 0.9)

    monkeypatch.setattr(weak_recovery, "unlearnt_first_layer", branch)
    alpha, overlap = weak_recovery.second_instability(model, nodes, tolerance=1e-10)
    assert overlap == pytest.approx(0.9, abs=1e-9)
    assert alpha == pytest.approx(1.8, abs=1e-9)
