"""Decimal numbers have a digit before the point, in all texts: pages, captions, descriptions, comments, docstrings, messages."""

import io
import json
import re
import tokenize

import pytest

from toy import REPOSITORY

# No format code such as {x:.2f}, no end of a word or of a path such as 3.11, a.1 and ../5.
BARE = re.compile(r"(?<![\w.)\]}'\"/\\:%-])\.\d(?!\d*[efg%])|(?<=[\s(\[|][-/])\.\d|(?<=: )\.\d")
FOLDERS = {"docs": (".md", ".csv"), "config": (".yaml", ".py"), "src": (".py", ".rst"), "tests": (".py",)}
FOLDERS |= {"tools": (".py",), "toycodes": (".py",), "benchmarks": (".py",), "workflow": (".smk", ".rst", ".md")}
# The characters of numbers, from which it reads YAML.
SPELLINGS = "yaml_reader.py"


def texts_of(source):
    """The comments and the strings of a program, f-strings included, with the numbers of their lines."""
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    return [(token.start[0], token.string) for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type in kinds]  # fmt: skip


def bare(text):
    """The places of numbers such as `.5` in a text, each with what stands around it; what a user types stands in backquotes."""
    text = re.sub(r"`[^`\n]*`", "``", text)
    return [" ".join(text[max(0, found.start() - 20) : found.end() + 10].split()) for found in BARE.finditer(text)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_digit_stands_before_the_point(folder):
    paths = [path for path in (REPOSITORY / folder).rglob("*.*") if path.suffix in FOLDERS[folder]]
    paths = [
        path for path in paths if "_build" not in path.parts and path.name not in (SPELLINGS, "test_decimal_numbers.py")
    ]
    assert paths
    found = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        parts = texts_of(text) if path.suffix == ".py" else enumerate(text.splitlines(), start=1)
        found += [f"{path.relative_to(REPOSITORY)}:{line}: {place}" for line, part in parts for place in bare(part)]
    assert found == []


def test_a_digit_stands_before_the_point_of_the_pages_above():
    assert {path.name: bare(path.read_text(encoding="utf-8")) for path in REPOSITORY.glob("*.md")} == {
        path.name: [] for path in REPOSITORY.glob("*.md")
    }


def test_a_digit_stands_before_the_point_of_published_reasons():
    data = json.loads((REPOSITORY / "docs/published.json").read_text(encoding="utf-8"))
    rows = [row for scale in data.values() for row in scale["audit"]]
    assert [place for row in rows for place in bare(f"{row['quantity']} {row['reason']}")] == []


def test_what_a_bare_number_is():
    for wrong in ("about .83", "(.5, 1)", "±.02", "x = -.5", "lambda: .4", "ω=.3", "between .1 and 1"):
        assert bare(wrong), wrong
    for right in (
        "0.83",
        "{x:.2f}",
        "%.3g",
        "Python 3.11",
        "numbers.0.alpha",
        "../.5",
        "a.5",
        "1e.5",
        ".venv",
        "arXiv:2502.00901",
    ):
        assert bare(right) == [], right
    assert texts_of('"""About .5."""\nx = .5  # near .4\n') == [(1, '"""About .5."""'), (2, "# near .4")]
