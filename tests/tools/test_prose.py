"""Numbers of sentences follow their cubes: a stale one is written anew, a sentence that is gone or stands twice is an error."""

import importlib
import json
import sys

import pytest

from toy import REPOSITORY

sys.path.append(str(REPOSITORY / "tools"))
prose = importlib.import_module("prose")
publish = importlib.import_module("publish")

ROWS = [{"quantity": "the overlap", "ours": 0.45846, "error": 0.0053}]
ENTRIES = {
    "page.md": [
        {"text": "rises at {} samples, the other at {}.", "numbers": ["one.a:.2f", "one.b:.2f"]},
        {"text": "| 2 | {} |", "numbers": [{"audit": "the overlap"}]},
        {"text": "falls to {} there", "numbers": [{"audit": "the overlap", "format": ".1e"}]},
        {"text": "takes {} ns", "numbers": [{"benchmark": "a step", "unit": "ns", "format": ".2g"}]},
    ]
}
TEXT = "It rises at {} samples, the\nother at {}.\n\n| 1 | 0.3(1) |\n| 2 | {} |\n\nIt falls to {} there: 0.5. It takes {} ns.\n"
BENCHMARKS = (
    "| a step, slow | | 1 200 (900–1 300) ns | | | | | |\n| a step | 70 ns | 13.4 (13.3–13.5) ns | 5.2 | | | | |\n"
)


@pytest.fixture
def pictures(monkeypatch, tmp_path):
    monkeypatch.setattr(prose, "sentences", lambda: ENTRIES)
    monkeypatch.setattr(
        prose, "numbers_of_picture", lambda path: {"a": 0.1855, "b": -0.7239} if path.stem == "one" else {}
    )
    return tmp_path


@pytest.mark.parametrize("stale", [("0.20", "3", "0.44", "-4", "7"), ("−1.5", "0.72(3)", "12(4)", "0.1", "20.5")])
def test_stale_numbers_are_written_anew(pictures, stale):
    """The error in brackets of a number of a caption stays; the line breaks too."""
    error = "(3)" if "(3)" in stale[1] else ""
    found = prose.filled("page.md", TEXT.format(*stale), pictures, ROWS, BENCHMARKS)
    assert found == TEXT.format("0.19", f"-0.72{error}", "0.458(5)", "4.6e-01", "13")
    assert prose.filled("other.md", "0.1 and 0.2", pictures, ROWS, BENCHMARKS) == "0.1 and 0.2"


def test_numbers_with_an_exponent_are_whole(pictures):
    once = prose.filled("page.md", TEXT.format("0.2", "3", "0.44", "4.0e-01", "1"), pictures, ROWS, BENCHMARKS)
    assert prose.filled("page.md", once, pictures, ROWS, BENCHMARKS) == once


def test_what_nothing_has_computed_yet_stays(pictures, monkeypatch):
    row = {"benchmark": "another step", "unit": "ns", "format": ".2g"}
    sources = ["two.a:.2f", "one.c:.2f", {"audit": "another number"}, row]
    entries = [
        {"text": f"{letter} is {{}}", "numbers": [source]} for letter, source in zip("abcd", sources, strict=True)
    ]
    monkeypatch.setattr(prose, "sentences", lambda: {"page.md": entries})
    text = "a is 1, b is 2, c is 3, d is 4"
    assert prose.filled("page.md", text, pictures, ROWS, BENCHMARKS) == text
    assert prose.missing_benchmarks(BENCHMARKS) == {"another step"}


def test_a_time_has_the_unit_of_its_sentence():
    assert prose.benchmark_tables.our_time(BENCHMARKS, "a step, slow", "ns") == 1200.0
    with pytest.raises(ValueError, match=r"a step: 13\.4 .* ns; expected unit: µs"):
        prose.benchmark_tables.our_time(BENCHMARKS, "a step", "µs")


@pytest.mark.parametrize(("text", "count"), [("It rises.", 0), (TEXT.format(*"12345") * 2, 2)])
def test_a_sentence_that_is_gone_or_stands_twice_is_an_error(pictures, text, count):
    with pytest.raises(ValueError, match=f"page.md: rises at .*: {count} places; allowed: one"):
        prose.filled("page.md", text, pictures, ROWS, BENCHMARKS)


def test_every_number_has_a_place(pictures, monkeypatch):
    monkeypatch.setattr(prose, "sentences", lambda: {"page.md": [{"text": "{} and {}", "numbers": ["one.a:.2f"]}]})
    with pytest.raises(ValueError, match="1 numbers for 2 places"):
        prose.filled("page.md", "1 and 2", pictures, ROWS, BENCHMARKS)


def test_a_stale_sentence_of_the_repository_is_found():
    """Its pages have their present numbers, and another number in one of their sentences would be replaced."""
    data = json.loads(publish.DATA.read_text(encoding="utf-8"))
    rows = publish.best_rows(publish.load_project(REPOSITORY, {"scale": "laptop"}), data)
    assert len(prose.sentences()) >= 6
    benchmarks = publish.read("docs/benchmarks.md")
    sources = [source for entries in prose.sentences().values() for entry in entries for source in entry["numbers"]]
    missing = [source for source in sources if prose.number(source, publish.PICTURES, rows, benchmarks) is None]
    # Rows of benchmarks that no run has measured yet; the programs contain the last part of their names.
    programs = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "benchmarks").glob("*.py"))
    assert [source for source in missing if source["benchmark"].split(": ")[-1] not in programs] == []
    for page in prose.sentences():
        assert prose.filled(page, publish.read(page), publish.PICTURES, rows, benchmarks) == publish.read(page), page
    stale = publish.read("README.md").replace("rises at 0.19 samples", "rises at 0.91 samples")
    assert prose.filled("README.md", stale, publish.PICTURES, rows, benchmarks) == publish.read("README.md")
