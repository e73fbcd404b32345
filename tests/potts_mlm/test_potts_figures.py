"""Readings of the figures of the Potts models."""

import numpy as np
import xarray as xr

from attention_limits.potts_mlm.figures.shared import in_equilibrium


def test_a_row_leaves_out_the_instances_whose_runs_disagree():
    part = xr.Dataset({"sample_converged": ("replica", [True, False, True]), "loss": ("replica", np.arange(3.0))})
    assert in_equilibrium(part).loss.values.tolist() == [0.0, 2.0]
    none = part.assign(sample_converged=("replica", [False] * 3))
    assert in_equilibrium(none).sizes["replica"] == 3
