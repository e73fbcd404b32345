"""Error of matrix AMP, its own prediction and state evolution agree where d is extrapolated to infinity, for each channel."""

import numpy as np
import pytest
from aim_tools import amp_settings

from attention_limits.attention_indexed.amp import matrix_amp
from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.model.sizes import Sizes, samples
from attention_limits.attention_indexed.readings import inverse_law, pooled_errors
from attention_limits.attention_indexed.state_evolution.curve import solve

pytestmark = pytest.mark.slow

DATA_SETS, DIMENSIONS = 16, (32, 48, 72, 108)
# Standard errors of the extrapolation that are allowed: a false-alarm rate of 5e-4 for each comparison; the seeds are fixed.
ALLOWED = 3.5


def extrapolated(values, converged):
    """The error at d = infinity, by the same law as in the figures and the audit; `values` (dimensions, data sets)."""
    coefficients, spread = inverse_law(*pooled_errors(np.array(DIMENSIONS), np.where(converged, values, np.nan)))
    return coefficients[0], spread


@pytest.mark.parametrize(("name", "alpha"), [("linear", 0.06), ("softmax", 0.08), ("hardmax", 0.2)])
def test_actual_and_predicted_error_extrapolate_to_state_evolution(name, alpha):
    """rho = 0.5, two tokens; means over the converged data sets."""
    channel = make_channel(name, 2)
    error, predicted = np.empty((2, len(DIMENSIONS), DATA_SETS))
    converged = np.empty(error.shape, dtype=bool)
    for place, dimension in enumerate(DIMENSIONS):
        size = Sizes(samples(alpha, dimension), dimension, dimension // 2)
        for replica, rng in enumerate(np.random.default_rng(dimension).spawn(DATA_SETS)):
            run = matrix_amp.run(channel, matrix_amp.draw_dataset(channel, size, rng), amp_settings())
            error[place, replica], predicted[place, replica] = run.error[run.best], run.variance[run.best]
            converged[place, replica] = run.converged
    limit = float(solve(channel, 0.5, [alpha]).mmse[0])
    assert converged.mean() > 0.9
    for values in (error, predicted, limit + error - predicted):
        value, spread = extrapolated(values, converged)
        assert abs(value - limit) < ALLOWED * spread
        # The comparison is sharp: the error of the extrapolation is below a tenth of the limit.
        assert spread < 0.1 * limit
