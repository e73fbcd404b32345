"""Error of matrix AMP, its own prediction and state evolution agree where d is extrapolated to infinity, for each channel."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.attention_indexed import matrix_amp
from attention_limits.attention_indexed.channel import make_channel
from attention_limits.attention_indexed.model import Sizes, samples
from attention_limits.attention_indexed.readings import at_infinite_size
from attention_limits.attention_indexed.state_evolution import solve

pytestmark = pytest.mark.slow

# Data sets of each dimension: the smaller ones cost little.
DATA_SETS, DIMENSIONS = 16, (40, 60, 80, 120)
# Standard errors of the extrapolation that are allowed: with its two degrees of freedom or more the false-alarm rate is 1e-3 for
# each comparison, if the corrections are linear in 1/d; the seeds are fixed.
ALLOWED = 3.5


@pytest.mark.parametrize(("name", "alpha"), [("linear", 0.06), ("softmax", 0.08), ("hardmax", 0.2)])
def test_actual_and_predicted_error_extrapolate_to_state_evolution(name, alpha):
    """rho = .5, two tokens. Means over the converged data sets, weighted least squares in 1/d."""
    channel = make_channel(name, 2)
    shape = (1, len(DIMENSIONS), DATA_SETS)
    error, predicted, converged = np.empty(shape), np.empty(shape), np.empty(shape, dtype=bool)
    for place, dimension in enumerate(DIMENSIONS):
        size = Sizes(samples(alpha, dimension), dimension, dimension // 2)
        for replica, rng in enumerate(np.random.default_rng(dimension).spawn(DATA_SETS)):
            run = matrix_amp.run(channel, matrix_amp.draw_dataset(channel, size, rng))
            error[0, place, replica], predicted[0, place, replica] = run.error[run.best], run.variance[run.best]
            converged[0, place, replica] = run.converged
    dims = ("alpha", "dimension", "replica")
    cube = xr.Dataset(
        {"error": (dims, error), "predicted": (dims, predicted), "converged": (dims, converged)},
        {"alpha": [alpha], "dimension": list(DIMENSIONS), "replica": np.arange(DATA_SETS)},
    )
    limit = float(solve(channel, 0.5, [alpha]).mmse[0])
    assert converged.mean() > 0.9
    cube["difference"] = cube.error - cube.predicted
    for variable, wanted in (("error", limit), ("predicted", limit), ("difference", 0.0)):
        value, spread = at_infinite_size(cube, variable, alpha=alpha)
        assert abs(value - wanted) < ALLOWED * spread, (variable, value, spread, wanted)
        # The comparison is sharp: the error of the extrapolation is below a tenth of the limit.
        assert spread < 0.1 * limit
