"""The recipes of CONTRIBUTING.md work as they are written."""

import re

import pytest
import xarray as xr

from toy import REPOSITORY

pytestmark = pytest.mark.slow
TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")


def follow(toy, recipe):
    """Write the files of one recipe: whole ones, and lines at the end of others."""
    (text,) = re.findall(rf"^## {recipe}\n(.*?)^## ", TEXT, re.DOTALL | re.MULTILINE)
    for path in re.findall(r"`([^`]+/__init__\.py)`", text):
        toy.write(path, "")
    blocks = re.findall(r"^`([^`]+)`(, at its end)?:\n\n```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    for path, at_end, language, written in blocks:
        before = (toy.folder / path).read_text(encoding="utf-8") if at_end else ""
        toy.write(path, before + ("\n\n" if at_end and language == "python" else "") + written)


def test_a_family_an_estimator_and_a_figure(toy):
    follow(toy, "Add a family")
    frequency, merge = "coins/fair_coin: frequency", "coins/fair_coin: merge"
    assert toy.planned("coins") == [frequency, merge]
    follow(toy, "Add an estimator")
    follow(toy, "Add a figure")
    drawing = "draw results/figures/coins/coins_bias.pdf"
    assert toy.planned("coins") == [frequency, merge, "coins/fair_coin: succession", drawing]
    made = toy.snakemake("coins_bias", "--cores", "2")
    assert made.returncode == 0, made.stderr
    assert (toy.folder / "results/figures/coins/coins_bias.pdf").exists()
    with xr.open_dataset(toy.folder / "results/cubes/coins/fair_coin.nc") as cube:
        frequency, succession = (cube.estimate.sel(estimator=name, flips=10) for name in ("frequency", "succession"))
        assert abs((10 * frequency + 1) / 12 - succession).max() < 1e-12
