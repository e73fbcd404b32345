"""Where the overlap of phase retrieval jumps."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.sequence_multi_index.figures.shared import jump_to_recovery


@pytest.mark.parametrize(
    ("replicas", "jump"),
    [
        ([[0.5, 0.5], [0.7, 0.7], [1.0, 0.8], [1.0, 1.0]], 2.5),
        # A start near the teacher ends there at every alpha; another one at none.
        ([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], np.nan),
        ([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3], [0.4, np.nan]], np.nan),
    ],
)
def test_the_line_breaks_before_the_first_replica_that_recovers(replicas, jump):
    overlap = xr.DataArray(replicas, {"alpha": [1.0, 2.0, 3.0, 4.0]}, ("alpha", "replica"))
    np.testing.assert_equal(jump_to_recovery(overlap), jump)
