"""Programs of others read a cube: CF checker, ncdump, h5netcdf, h5py, R. A test skips where its program is not installed."""

import shutil
import subprocess

import numpy as np
import pytest
import xarray as xr

pytestmark = pytest.mark.slow

CUBE = "results/cubes/toy/growth_curve.nc"


@pytest.fixture
def path(sound):
    """A cube of the workflow with numbers, truth values, texts as coordinates, and missing points."""
    return sound.folder / CUBE


@pytest.fixture
def cube(path):
    with xr.open_dataset(path, engine="netcdf4", decode_times=False) as opened:
        return opened.load()


def answer(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_cube_says_which_program_made_it_and_no_time(cube, path):
    history = cube.attrs["history"]
    assert history.startswith("attention-limits ")
    assert "toy.growth, toy.counting with seed 0" in history
    assert not any(word in history for word in ("202", str(path.parent), "UTC"))


def test_cf_checker_finds_nothing(path):
    """The checker of IOOS, which knows the version that `Conventions` names. It stumbles over coordinates that are texts."""
    if shutil.which("compliance-checker") is None:
        pytest.skip("needs pip install compliance-checker, 230 MB")
    command = ["compliance-checker", "--test=cf:1.11", "--criteria=normal", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "All tests passed!" in done.stdout, done.stdout + done.stderr
    stumbles = [line for line in done.stderr.splitlines() if line.startswith("cf:")]
    assert all("strict_monotonicity" in line and "'str' and 'str'" in line for line in stumbles)


def test_ncdump_prints_the_numbers(path, cube):
    if shutil.which("ncdump") is None:
        pytest.skip("needs ncdump (Debian: netcdf-bin)")
    found = answer("ncdump", "-p", "9,17", "-v", "height", path)
    _, data = found.split("data:")
    numbers = data.split("=")[1].split(";")[0].replace("NaN", "nan").replace("_", "nan").split(",")
    np.testing.assert_array_equal(np.array(numbers, dtype=float), cube.height.values.ravel())
    assert ":history = " in found


@pytest.mark.parametrize("name", ["h5netcdf", "h5py"])
def test_readers_of_hdf5_hold_the_same(path, cube, name):
    pytest.importorskip(name, reason=f"needs pip install {name}")
    if name == "h5netcdf":
        with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as opened:
            xr.testing.assert_identical(opened.load(), cube)
        return
    import h5py

    with h5py.File(path) as opened:
        np.testing.assert_array_equal(opened["height"][()], cube.height.values)
        assert opened.attrs["history"].decode() == cube.attrs["history"]


def test_r_reads_the_numbers(path, cube):
    if shutil.which("Rscript") is None:
        pytest.skip("needs R with ncdf4 (Debian: r-cran-ncdf4)")
    code = (
        "if (!requireNamespace('ncdf4', quietly = TRUE)) quit(status = 77); f <- ncdf4::nc_open(commandArgs(TRUE)[1]);"
        "cat(format(ncdf4::ncvar_get(f, 'height'), digits = 17), sep = '\\n')"
    )
    done = subprocess.run(["Rscript", "-e", code, str(path)], capture_output=True, text=True, timeout=300)
    if done.returncode == 77:
        pytest.skip("needs ncdf4 of R (Debian: r-cran-ncdf4)")
    assert done.returncode == 0, done.stderr
    # The first dimension of the file is the last one in R, whose arrays run through the first one fastest: the same order.
    numbers = [float(word.replace("NA", "nan")) for word in done.stdout.split()]
    np.testing.assert_allclose(numbers, cube.height.values.ravel(), rtol=1e-15)
