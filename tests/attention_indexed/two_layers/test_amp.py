"""Matrix AMP of two layers: its informed start, and layers without information at first."""

import numpy as np
import pytest
from aim_tools import amp_settings

from attention_limits.attention_indexed.model.sizes import Sizes
from attention_limits.attention_indexed.two_layers.amp import draw_dataset, informed_start, run
from attention_limits.attention_indexed.two_layers.hardmax import HardmaxLayers
from attention_limits.attention_indexed.two_layers.two_tokens.softmax import TwoLayers


@pytest.mark.parametrize("error", [0.05, 0.5])
def test_the_informed_start_has_its_error(error):
    """d = 200, r = 100: errors of the posterior means of both layers, to the correction 4 / d of a finite size."""
    data = draw_dataset(TwoLayers(), Sizes(1, 200, 100), np.random.default_rng(0))
    estimates, V = informed_start(data, error, np.random.default_rng(1))
    found = np.sum((estimates - data.teacher) ** 2, axis=(1, 2)) / 200
    np.testing.assert_allclose(found, error, rtol=0.02 + 4.0 / 200)
    np.testing.assert_array_equal(V, error)


def test_a_layer_without_information_at_first_does_not_end_the_run():
    """c = 0: k_1 vanishes at V = (1, 1), and sampled posterior variances exceed those of the prior about every second time."""
    model = HardmaxLayers(0.0, 10.0)
    for seed in range(4):
        data = draw_dataset(model, Sizes(80, 40, 4), np.random.default_rng(seed))
        found = run(model, data, amp_settings(max_iterations=3))
        assert len(found.error) == 3
        assert np.all(np.isfinite(found.variance))
