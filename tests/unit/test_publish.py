"""The pages that show results are in step with config/, and say what docs/published.json holds."""

import importlib
import json
import sys

import pytest

from attention_limits.audit.published import load_published
from attention_limits.project import load_project
from toy import REPOSITORY

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "docs"))
publish = importlib.import_module("publish")


@pytest.fixture(scope="module")
def project():
    return load_project(REPOSITORY, {"scale": "laptop"})


def test_the_pages_are_in_step(project):
    """`make publish` after a run at scale laptop mends it."""
    data = json.loads(publish.DATA.read_text(encoding="utf-8"))
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for name, text in publish.pages(project, data, readme).items():
        assert (REPOSITORY / name).read_text(encoding="utf-8") == text, name
    assert all(f"<!-- begin: {block} -->" in readme for block in ("figures", "audit", "speed"))
    images = {path.name for path in (REPOSITORY / "docs" / "figures").glob("*.png")}
    assert images >= {f"{name}.png" for name in publish.shown(project)}
    texts = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "docs").rglob("*.md")) + readme
    assert [image for image in images if f"figures/{image}" not in texts] == []


def test_every_published_number_is_in_the_audit_and_explained(project):
    audit = json.loads(publish.DATA.read_text(encoding="utf-8"))["audit"]
    entries = load_published(REPOSITORY, project.experiments)
    assert [(row["quantity"], row["published"]) for row in audit] == [
        (entry.quantity, entry.published) for entry in entries
    ]
    assert {row["verdict"] for row in audit} <= {"agrees", "differs"}


@pytest.mark.parametrize(
    ("caption", "sentence"),
    [
        ("Figure 1 of Troiani et al. 2025. Top: overlap.\n\nMore.", "Figure 1 of Troiani et al. 2025."),
        ("As ``smi``, on a\nlonger line", "As `smi`, on a longer line"),
        ("At c = 0.5 nothing. Then", "At c = 0.5 nothing."),
    ],
)
def test_first_sentence(caption, sentence):
    assert publish.first_sentence(caption) == sentence


def test_the_speed_table_shows_one_row_of_each_kind():
    head = "| what | baseline | ours | ratio | error of baseline | error of ours | peak memory / MB | note |"
    rows = [
        "| point at 1, x | 2 s | 1 s | 2 | | | | |",
        "| point at 2, y | 3 s | 1 s | 3 | | | | |",
        "| curve | | 1 s | | | | | |",
    ]
    shown = publish.speed_table("\n".join([head, "| --- | --- | --- | --- | --- | --- | --- | --- |", *rows]))
    assert shown.splitlines()[2:] == ["| point at 1, x | 2 s | 1 s | 2 |"]


def test_minutes_of_two_cores():
    assert publish.minutes([60.0, 60.0, 60.0]) == 1.5
    assert publish.minutes([300.0, 60.0]) == 5.0
    assert publish.minutes([]) == 0.0
