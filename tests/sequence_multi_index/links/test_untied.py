"""One untied head that reads three or more tokens: closed forms at zero overlap."""

import numpy as np
import pytest
from smi_tools import channel_of, draw_channels, node_sets

from attention_limits.sequence_multi_index.links.attention.untied import UntiedAttention
from attention_limits.sequence_multi_index.links.declarations import problems_of
from attention_limits.sequence_multi_index.weak_recovery.first_threshold import first_threshold

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("tokens", [3, 4])
def test_moments_are_those_of_the_inverse_gaussian_law(tokens):
    """E[k k], E[k q] and E[q q] given y by two times 2048 nodes, relative to |theta|; the closed forms of `untied`."""
    link = UntiedAttention(tokens=tokens)
    observed, omega, _ = draw_channels(link, np.eye(2), 40, 1)
    found = channel_of(link).posterior(observed, omega, np.eye(2))
    kappa, theta = observed[:, 0], observed[:, 1]
    length = np.linalg.norm(theta, axis=1)[:, None, None]
    wanted = np.empty((40, 2, tokens, 2, tokens))
    wanted[:, 0, :, 0] = length * kappa[:, :, None] * kappa[:, None, :] + 1.0 / tokens
    wanted[:, 0, :, 1] = kappa[:, :, None] * theta[:, None, :]
    wanted[:, 1, :, 0] = np.swapaxes(wanted[:, 0, :, 1], 1, 2)
    wanted[:, 1, :, 1] = (1.0 / length + 1.0 / length**2) * theta[:, :, None] * theta[:, None, :]
    assert found.resolved.all()
    assert np.abs(found.mean).max() < 1e-12
    np.testing.assert_allclose(found.covariance, wanted, atol=0.02 * (1.0 + length.max()))


@pytest.mark.parametrize("tokens", [2, 3])
def test_first_threshold_is_the_exact_one(tokens):
    """1 / alpha = (M - 1)(M + sqrt(M^2 + 1)), for two tokens by another fibre; within four stated errors and 2 %."""
    link = UntiedAttention(tokens=tokens)
    (nodes,) = node_sets(link, 1024, 1, 2)
    found = first_threshold(channel_of(link, 0.25), nodes)
    wanted = 1.0 / ((tokens - 1) * (tokens + np.sqrt(tokens**2 + 1.0)))
    assert found.error < 0.05 * wanted
    assert abs(found.alpha - wanted) < 4.0 * found.error + 0.02 * wanted


def test_the_fibre_of_deeper_layers_reproduces_the_output():
    """Two layers of four tokens, at another skip strength and temperature: outputs, symmetry and shapes."""
    assert problems_of(UntiedAttention(skip=0.5, beta=2.0, depth=2, tokens=4)) == []
