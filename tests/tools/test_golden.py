"""The golden file distinguishes data that differ: exactly where it can, loosely elsewhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from golden import golden


@pytest.fixture
def record(tmp_path):
    """The record of a cube whose values are shifted by `shift` of themselves, in `dims`."""

    def make(shift=0.0, size=20, gaps=0):
        values = (1.0 + shift) * np.linspace(-1.0, 2.0, size)
        values[:gaps] = np.nan
        cube = xr.Dataset(
            {"overlap": ("alpha", values)}, {"alpha": np.arange(size)}, {"data_digest": f"{shift} {size} {gaps}"}
        )
        cube.to_netcdf(tmp_path / "cube.nc")
        return golden.record(tmp_path / "cube.nc")

    return make


@pytest.mark.parametrize(
    ("changes", "here", "elsewhere", "moved"),
    [
        ({}, False, False, False),
        ({"shift": 1e-9}, True, False, False),
        ({"shift": 1e-4}, True, False, True),
        ({"gaps": 1}, True, False, True),
        ({"size": 21}, True, True, True),
    ],
)
def test_what_differs(record, changes, here, elsewhere, moved):
    pair = record(), record(**changes)
    assert bool(golden.differences(*pair, same_platform=True)) == here
    assert bool(golden.differences(*pair, same_platform=False)) == elsewhere
    assert bool(golden.drift(*pair)) == moved


def test_other_kernels_of_blas_are_another_platform():
    """OpenBLAS gives other last digits with other kernels, on the same processor."""

    def platform(kernels):
        done = subprocess.run(
            [sys.executable, "-c", "import json, golden; print(json.dumps(golden.platform()))"],
            cwd=Path(golden.__file__).parent,
            env=os.environ | {"OPENBLAS_CORETYPE": kernels},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    known, other = platform("Nehalem"), platform("Haswell")
    if "openblas Nehalem" not in known["linear algebra"]:
        pytest.skip("no OpenBLAS with kernels for this processor family")
    assert "openblas Haswell" in other["linear algebra"]
    assert {name for name in known if known[name] != other[name]} == {"linear algebra"}
