"""The pages of models of other papers run as they are written, in an empty folder, and the numbers agree."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from attention_limits.__main__ import main

pytestmark = pytest.mark.slow
PAGES = Path(__file__).parents[2] / "docs" / "models"
NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"
# Two numbers differ beyond this many errors, as in the audit.
DIFFERENT = 3.0


def sections(page):
    """(title, text) of the models of a page."""
    parts = re.split(r"^## (.*)\n", (PAGES / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(text):
    """(language, text) of the code blocks of a section, and the file that each one is, if any."""
    return re.findall(r"(?:\[`(\w+\.py)`\]\([\w.]+\):\n\n)?^```(\w+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def table(text):
    """Rows (quantity, ours, error, published, precision) of a section."""
    rows = re.findall(rf"^\| ([^|]+) \| ({NUMBER})(?: ± ({NUMBER}))? \| ({NUMBER}) ± ({NUMBER}) \|", text, re.MULTILINE)
    return [(name, *(float(x or 0) for x in numbers)) for name, *numbers in rows]


ALL = [(page.name, title, text) for page in sorted(PAGES.glob("*.md")) for title, text in sections(page.name)]


@pytest.mark.parametrize(("page", "title", "text"), ALL, ids=[title for _, title, _ in ALL])
def test_a_model_runs_as_it_is_written(page, title, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A file of an earlier model of the page stands in the same folder.
    for file in re.findall(r'"(\w+\.py):', text):
        (tmp_path / file).write_text((PAGES / file).read_text(encoding="utf-8"), encoding="utf-8")
    found, printed, shown = {}, "", None
    for file, language, code in blocks(text):
        if file:
            assert code == (PAGES / file).read_text(encoding="utf-8"), f"{file} differs from the block of {page}"
        elif language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, f"{page}: {title}", "exec"), found)
            assert out.getvalue().strip()
            printed = printed or out.getvalue()
        elif language == "sh":
            assert main(code.split()[1:]) in (None, 0)
        elif language == "text":
            shown = code
    words, numbers = re.sub(NUMBER, "…", printed), [float(x) for x in re.findall(NUMBER, printed)]
    assert words == re.sub(NUMBER, "…", shown)
    # The last digits may differ between machines, and errors by more.
    assert numbers == pytest.approx([float(x) for x in re.findall(NUMBER, shown)], rel=0.02, abs=0.01)


@pytest.mark.parametrize(("page", "title", "text"), ALL, ids=[title for _, title, _ in ALL])
def test_the_number_is_inside_of_its_error(page, title, text):
    rows = table(text)
    assert len(rows) == len(re.findall(r"^\| (?!Quantity|---)", text, re.MULTILINE)) >= 1
    shown = next(code for file, language, code in blocks(text) if language == "text")
    for name, ours, error, published, precision in rows:
        assert abs(ours - published) <= DIFFERENT * (error**2 + precision**2) ** 0.5, name
        assert any(float(x) == ours for x in re.findall(NUMBER, shown)), f"{name}: {ours} is not in the output"


def test_every_page_and_every_file_is_listed():
    listed = (PAGES.parent / "models.md").read_text(encoding="utf-8")
    whole = "".join(text for _, _, text in ALL)
    assert all(f"(models/{path.name})" in listed for path in PAGES.glob("*.md"))
    assert all(title in listed for _, title, _ in ALL)
    assert all(f"({path.name})" in whole for path in PAGES.glob("*.py"))
