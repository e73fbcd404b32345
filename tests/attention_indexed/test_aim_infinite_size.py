"""Error of matrix AMP, its own prediction and state evolution agree where d is extrapolated to infinity, for each channel."""

import numpy as np
import pytest

from attention_limits.attention_indexed import matrix_amp
from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.model import Sizes, samples
from attention_limits.attention_indexed.state_evolution import solve

pytestmark = pytest.mark.slow

DATA_SETS, DIMENSIONS = 16, (40, 60, 90, 140)
# Standard errors of the extrapolation that are allowed: a false-alarm rate of 5e-4 for each comparison; the seeds are fixed.
ALLOWED = 3.5


def extrapolated(values, converged):
    """a of mean = a + b / d + c / d^2 by weighted least squares, and its standard error; `values` (dimensions, data sets).

    The dimensions are small: a straight line leaves corrections of second order, 5 % of the predicted error.
    """
    settled = [row[flags] for row, flags in zip(values, converged, strict=True)]
    mean = np.array([row.mean() for row in settled])
    error = np.array([row.std(ddof=1) / np.sqrt(len(row)) for row in settled])
    design = np.vander(1.0 / np.array(DIMENSIONS), 3) / error[:, None]
    inverse = np.linalg.inv(design.T @ design)
    return (inverse @ design.T @ (mean / error))[-1], np.sqrt(inverse[-1, -1])


@pytest.mark.parametrize(("name", "alpha"), [("linear", 0.06), ("softmax", 0.08), ("hardmax", 0.2)])
def test_actual_and_predicted_error_extrapolate_to_state_evolution(name, alpha):
    """rho = .5, two tokens; means over the converged data sets."""
    channel = make_channel(name, 2)
    error, predicted = np.empty((2, len(DIMENSIONS), DATA_SETS))
    converged = np.empty(error.shape, dtype=bool)
    for place, dimension in enumerate(DIMENSIONS):
        size = Sizes(samples(alpha, dimension), dimension, dimension // 2)
        for replica, rng in enumerate(np.random.default_rng(dimension).spawn(DATA_SETS)):
            run = matrix_amp.run(channel, matrix_amp.draw_dataset(channel, size, rng))
            error[place, replica], predicted[place, replica] = run.error[run.best], run.variance[run.best]
            converged[place, replica] = run.converged
    limit = float(solve(channel, 0.5, [alpha]).mmse[0])
    assert converged.mean() > 0.9
    for values, wanted in ((error, limit), (predicted, limit), (error - predicted, 0.0)):
        value, spread = extrapolated(values, converged)
        assert abs(value - wanted) < ALLOWED * spread
        # The comparison is sharp: the error of the extrapolation is below a tenth of the limit.
        assert spread < 0.1 * limit
