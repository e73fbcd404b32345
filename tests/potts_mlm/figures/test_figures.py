"""Parts of the figures of the Potts models."""

import numpy as np
import xarray as xr

from attention_limits.potts_mlm.figures import shared


def test_a_series_passes_its_flags_to_lines_and_points(monkeypatch):
    """Flags over replicas alone hold at every M; a value of M without results is left out with its flags."""
    seen = []
    for name in ("curve", "points"):
        monkeypatch.setattr(shared, name, lambda *arguments, **look: seen.append((arguments, look)))
    values = np.array([[0.3, 0.4], [np.nan, np.nan], [0.1, 0.2]])
    array = xr.DataArray(values, {"samples": [10, 20, 30], "replica": [0, 1]}, ("samples", "replica"))
    flags = xr.DataArray([1.0, 0.0], {"replica": [0, 1]}, ("replica",))
    shared.series(None, array, flags, "samples", "k", "fit")
    (line, look), (dots, _) = seen
    expected = [[1.0, 0.0], [1.0, 0.0]]
    np.testing.assert_array_equal(look["flags"], expected)
    np.testing.assert_array_equal(dots[3], expected)
    for arguments in (line, dots):
        np.testing.assert_array_equal(arguments[1], [10, 30])
        np.testing.assert_array_equal(arguments[2], values[[0, 2]])
