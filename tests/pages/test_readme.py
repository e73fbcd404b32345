"""The README is true: its example prints and draws what it shows, its findings are those of the figures, its address is one."""

import importlib
import re
import shutil
import sys

import numpy as np
import pytest
from PIL import Image

from toy import REPOSITORY, repository

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
sys.path.append(str(REPOSITORY / "tools"))
addresses = importlib.import_module("address")


@pytest.mark.slow
def test_the_example_prints_and_draws_what_is_shown(tmp_path, monkeypatch, capsys):
    """Pixels may differ between libraries of fonts: on average by less than one of 255."""
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown
    file = re.findall(r'<img src="(.*?)"', README)[1]
    drawn, committed = (np.asarray(Image.open(path).convert("RGB"), float) for path in ("curve.png", REPOSITORY / file))
    assert drawn.shape == committed.shape
    assert np.abs(drawn - committed).mean() < 1


def test_four_findings_are_titles_of_figures():
    figures = repository().figures
    found = re.findall(r"\[!\[\]\(docs/figures/(\w+)\.png\)\]\(docs/figures/(\w+)\.md\)<br>(.*?) \|", README)
    assert len(found) == 4
    assert all(figures[picture].title == title and picture == page for picture, page, title in found)
    # One of each of four families.
    assert len({figures[picture].family for picture, *_ in found}) == 4


def test_every_link_leads_to_a_file():
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)|(?:src|href)=\"(.*?)\"", README)
    assert len(links) > 20
    assert [link for pair in links for link in pair if link and not (REPOSITORY / link).exists()] == []


def test_one_address_that_one_command_moves(tmp_path):
    for name in addresses.FILES:
        assert addresses.address() in (REPOSITORY / name).read_text(encoding="utf-8"), name
        shutil.copy(REPOSITORY / name, tmp_path)
    addresses.move("https://code.example/me/attention-limits/", tmp_path)
    assert addresses.address(tmp_path) == "https://code.example/me/attention-limits"
    for name in addresses.FILES:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "https://code.example/me/attention-limits" in text
        assert "example.org" not in text, name
