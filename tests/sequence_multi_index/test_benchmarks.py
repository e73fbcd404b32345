import importlib

import numpy as np
import pytest
from smi_tools import channel_of

from attention_limits.sequence_multi_index.channels.averages import sample_outputs
from attention_limits.sequence_multi_index.channels.posterior import denoiser
from attention_limits.sequence_multi_index.erm.losses import make_loss
from attention_limits.sequence_multi_index.erm.prox import prox
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention

pytestmark = pytest.mark.slow

# The benchmarks are scripts beside the package, not part of it.
naive = importlib.import_module("naive_sequence_multi_index")


@pytest.mark.parametrize(("skip", "seed"), [(1.0, 3), (0.5, 4)])
def test_the_naive_peer_computes_the_same_quantities(skip, seed, monkeypatch):
    # At its usual settings the truncation of the forward differences is larger than the agreement asked for here.
    monkeypatch.setattr(naive, "TOLERANCE", 1e-9)
    monkeypatch.setattr(naive, "DIFFERENCE", 1e-5)
    model = DeepAttention(skip=skip)
    V = np.array([[0.8, -0.1], [-0.1, 0.4]])
    omega, u = sample_outputs(model, np.eye(2) - V, V, np.random.default_rng(seed).standard_normal((1, 8)))
    ours = channel_of(model).posterior(u, omega, V)
    g, dg = denoiser(ours, V)
    log_z, mean = naive.posterior_mean(model, u[0], omega[0], V)
    naive_g, naive_dg = naive.denoiser(model, u[0], omega[0], V)
    assert log_z == pytest.approx(ours.log_z[0], abs=1e-4)
    np.testing.assert_allclose(mean, ours.mean[0], atol=1e-4)
    np.testing.assert_allclose(naive_g, g[0, 0], atol=1e-4)
    np.testing.assert_allclose(naive_dg, dg[0], atol=1e-4)


def test_the_naive_proximal_operator_finds_the_same_minimum():
    link, rng = DeepAttention(depth=1), np.random.default_rng(0)
    h = rng.standard_normal((20, 1, 2))
    omega, outputs = 0.7 * h + 0.4 * rng.standard_normal(h.shape), link.forward(h)
    ours = prox(make_loss("square", link), outputs.reshape(20, 4), h, omega, 2.0 * np.eye(1))
    for k in range(20):
        point, value = naive.prox(outputs[k], omega[k, 0], 2.0, (omega[k, 0], h[k, 0]))
        assert value == pytest.approx(ours.envelope[k], abs=1e-8)
        np.testing.assert_allclose(point, ours.point[k, 0], atol=1e-3)
