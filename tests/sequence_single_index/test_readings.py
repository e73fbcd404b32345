"""Numbers that the family reads off its cubes."""

import numpy as np
import pytest
import xarray as xr

from attention_limits.numerics.probability.statistics import student
from attention_limits.sequence_single_index.readings import (
    descending_directions,
    diffusion_exponent,
    equal_curvatures,
    escape_exponent,
    gain_exponent,
)


def test_crossing_of_curvatures_beside_runs_with_more_replicas():
    omega = np.array([0.0, 0.3, 0.5, 1.0])
    # Two replicas with theory, crossing at 0.4 and 0.6, three more with runs alone; no theory at 0.3.
    position = np.full((4, 5), np.nan)
    position[:, 0], position[:, 1] = 0.4 - omega, 0.6 - omega
    position[1] = np.nan
    cube = xr.Dataset(
        {
            "curvature_position": (("omega", "replica"), position),
            "curvature_semantic": (("omega", "replica"), np.zeros((4, 5))),
        },
        {"omega": omega},
    )
    assert equal_curvatures(cube) == pytest.approx((0.5, 0.1 * student(2)))
    with pytest.raises(KeyError):
        equal_curvatures(cube.isel(omega=slice(2)))


def test_gain_exponent_of_a_power_law():
    """Escape steps 100 M^2 of untied and 100 of tied weights, with a spread of one per cent."""
    tokens = np.array([1, 2, 4])
    spread = np.array([0.99, 1.01])
    untied = xr.Dataset(
        {
            "escape_step": (("tokens", "replica"), 100.0 * tokens[:, None] ** 2 * spread),
            "escaped": (("tokens", "replica"), np.ones((3, 2), bool)),
        },
        {"tokens": tokens},
    )
    tied = untied.assign(escape_step=(("tokens", "replica"), 100.0 * np.ones((3, 1)) * spread))
    tied = tied.expand_dims({"learning_rate_exponent": [1.0]}, axis=1).transpose(
        "tokens", "learning_rate_exponent", "replica"
    )
    exponent, error = gain_exponent(tied, untied, 1.0)
    assert exponent == pytest.approx(2.0)
    assert 0 < error < 0.02 * student(2)


def test_escape_exponent_with_and_without_logarithms():
    """Escape steps d log^2 d in every run but the slowest, which is censored."""
    d = np.array([100.0, 1000.0, 10000.0])
    steps = (d * np.log(d) ** 2)[:, None] * np.linspace(0.98, 1.02, 9)
    cube = xr.Dataset(
        {
            "escape_step": (("dimension", "replica"), steps),
            "escaped": (("dimension", "replica"), np.ones((3, 9), bool) & (np.arange(9) < 8)),
        },
        {"dimension": d},
    )
    exponent, error = escape_exponent(cube, logarithms=2)
    assert exponent == pytest.approx(1.0, abs=1e-9)
    assert 0 < error < 0.01
    assert escape_exponent(cube)[0] == pytest.approx(1.0 + np.log(2) / np.log(10), abs=0.02)


def test_escape_exponent_with_the_start():
    """Steps d exp(-2 / sqrt(d)): with the term of the start the exponent is 1, without it above 1.01."""
    d = np.array([100.0, 1000.0, 10000.0, 100000.0])
    steps = (d * np.exp(-2.0 / np.sqrt(d)))[:, None] * np.linspace(0.98, 1.02, 9)
    cube = xr.Dataset(
        {
            "escape_step": (("dimension", "replica"), steps),
            "escaped": (("dimension", "replica"), np.ones((4, 9), bool)),
        },
        {"dimension": d},
    )
    assert escape_exponent(cube, start=True)[0] == pytest.approx(1.0, abs=1e-9)
    assert escape_exponent(cube)[0] > 1.01


def test_exponent_of_the_diffusion_between_two_dimensions():
    """Medians 3 d^2 with an error of one per cent: 2 with the error 0.02 / log(100)."""
    d = np.array([1e3, 1e4, 1e6])
    median = (("dimension", "replica", "quantile"), 3.0 * d[:, None, None] ** 2 * np.ones((1, 1, 2)))
    cube = xr.Dataset(
        {"diffusion_quantile": median, "diffusion_quantile_error": (median[0], 0.01 * median[1])},
        {"dimension": d, "quantile": [0.16, 0.5]},
    )
    assert diffusion_exponent(cube, 1e4, 1e6) == pytest.approx((2.0, 0.02 / np.log(100)))


@pytest.mark.parametrize(
    ("entries", "expected"), [((1.0, 0.0, 1e-12), 0), ((0.1, 0.3, 0.1), 1), ((-1.0, 0.0, -2.0), 2)]
)
def test_descending_directions_of_a_hessian(entries, expected):
    dims = ("degree", "replica")
    names = ("hessian_ee", "hessian_em", "hessian_mm")
    values = {name: (dims, [[value]]) for name, value in zip(names, entries, strict=True)}
    assert descending_directions(xr.Dataset(values, {"degree": [2]}), 2) == (expected, 0.0)
