"""The front page of a run: each figure with its flags, links that lead to files, and a rule that runs once."""

import html
import re
from urllib.parse import unquote

import pytest
import xarray as xr

pytestmark = pytest.mark.slow


def links(page):
    return [unquote(html.unescape(link)) for link in re.findall(r'(?:href|src)="([^"]*)"', page) if link != "data:,"]


def test_the_front_page_of_a_run(finished):
    """In a folder with a space, and with results outside of the project."""
    toy, options = finished, ("--config", "results=../my results")
    folder = toy.folder.parent / "my results"
    (toy.folder / "results").rename(folder)
    done = toy.snakemake("landing", *options)
    assert done.returncode == 0, done.stderr
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert "1 figures" not in text
    assert "1 figure at scale laptop, root seed 0." in text
    with xr.open_dataset(folder / "cubes/toy/growth_curve.nc") as cube:
        caption = f"Heights of the toy, at most {cube.height.max().item():.4f}."
    for shown in ('id="toy_heights"', caption, "fail converged", "growth_curve"):
        assert shown in text, shown
    found = links(text)
    assert len(found) >= 5
    for file in found:
        assert (folder / file).is_file(), file
    # A second run has nothing to do; a new title makes the page again, and no other job.
    assert toy.planned("landing", *options) == []
    toy.edit("config/toy/figures.yaml", "title: ", "title: New <b> ")
    assert toy.planned("landing", *options) == ["front page"]
    # A picture that other code has drawn is marked.
    toy.edit("src/attention_limits/toy/figures/heights.py", "def draw(cubes):", "def draw(cubes):\n    print()")
    output = str(folder / "index.html")
    done = toy.program("landing", "--results", "../my results", "--output", output)
    assert done.returncode == 0, done.stderr
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert "drawn by another code" in text
    assert "New &lt;b&gt; " in text
    assert toy.program("landing", "--output", "index.pdf").returncode == 2
    # Pages that follow later have links when they are there.
    for name in ("explorer.html", "report.html"):
        (folder / name).write_text("")
    assert toy.program("landing", "--results", "../my results", "--output", output).returncode == 0
    found = links((folder / "index.html").read_text(encoding="utf-8"))
    assert {"explorer.html", "report.html", "explorer.html#cube=toy/growth_curve"} <= set(found)
