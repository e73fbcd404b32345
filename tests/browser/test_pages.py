"""The page of a run and the gallery of the site in headless Chromium: three widths, the search box."""

import shutil

import pytest

from attention_limits.cli.landing import landing_command
from attention_limits.pipeline.experiments.project import Run
from toy import REPOSITORY

pytestmark = pytest.mark.slow
NAMES = ("aim_fig1_left", "aim_fig3", "smi_fig1_left")


@pytest.fixture(scope="module")
def landing(tmp_path_factory):
    """The page of three pictures whose cubes are missing."""
    results = tmp_path_factory.mktemp("results")
    for name in NAMES:
        family = "attention_indexed" if name.startswith("aim") else "sequence_multi_index"
        (results / "figures" / family).mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / f"docs/figures/{name}.png", results / "figures" / family)
    landing_command(REPOSITORY, results / "index.html", Run(results=str(results)))
    return results / "index.html"


@pytest.mark.parametrize("width", [1400, 1100, 500])
def test_the_page_of_a_run(opened, landing, width):
    page = opened(landing.as_uri(), width, touch=width == 500)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    articles = page.locator("article")
    assert articles.count() == 3
    columns = len({box["x"] for box in (articles.nth(i).bounding_box() for i in range(3))})
    assert columns == (1 if width == 500 else 2)
    assert page.locator("article img").first.evaluate("it => it.complete && it.naturalWidth > 500")
    # The words may stand in the title and in the caption.
    page.fill("#find", "hardmax POSITION")
    visible = page.locator("article:visible")
    assert [visible.nth(i).get_attribute("id") for i in range(visible.count())] == ["aim_fig1_left"]
    assert page.text_content("#count") == "1 of 3 figures"
    # A link shows the same figures; words that no figure has are answered.
    assert page.evaluate("location.hash") == "#find=hardmax%20POSITION"
    other = opened(page.url, width)
    assert (other.input_value("#find"), other.locator("article:visible").count()) == ("hardmax POSITION", 1)
    page.fill("#find", "no such word")
    assert page.text_content("#count") == "No figure has all these words. Try one word, or a part of it."
    page.fill("#find", "")
    assert (page.evaluate("location.hash"), page.text_content("#count")) == ("", "")
    assert page.locator("article:visible").count() == 3
    assert page.locator("section:visible").count() == 2
    assert page.problems == []
    assert all(asked.startswith("file:") for asked in page.asked)


def test_the_search_of_the_gallery(opened, tmp_path):
    """On a page with the sections and tables that Sphinx writes."""
    story = "<table><tr><th>Question and answer</th><th></th></tr><tr><td>Which layer?</td><td><img></td></tr></table>"
    grid = "<table><tr><th></th><th></th></tr><tr><td>First layer</td><td>Second theorem</td></tr></table>"
    marks = "<table><tr><th>Mark</th></tr><tr><td>line</td></tr></table>"
    script = (REPOSITORY / "docs/_static/gallery.js").read_text(encoding="utf-8")
    (tmp_path / "gallery.html").write_text(
        f"<section id='gallery'>{marks}<section id='a'>{story}</section><section id='b'>{grid}</section></section>"
        f"<style>.hidden {{ display: none }}</style><script>{script}</script>",
        encoding="utf-8",
    )
    page = opened((tmp_path / "gallery.html").as_uri())
    for words, sections, cells in (("", 2, 4), ("LAYER", 2, 3), ("first layer", 1, 1), ("second", 1, 1), ("x", 0, 0)):
        page.fill("#find-figure", words)
        assert page.locator("section section:visible").count() == sections, words
        assert page.locator("section section td:not(.hidden):not(.hidden td)").count() == cells, words
        assert page.get_by_text("line").is_visible()
    # By the keyboard alone.
    page.reload()
    page.keyboard.press("Tab")
    page.keyboard.type("which")
    assert page.locator("section section:visible").count() == 1
    assert page.problems == []
