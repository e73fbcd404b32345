"""Captions and the front page of the report, as Snakemake renders them: docutils finds nothing wrong."""

import io
import math
import types

import docutils.core
import docutils.nodes
import jinja2
import pytest

from attention_limits.pipeline.experiments.figures import MISSING, PLACEHOLDER, filled, read_caption
from toy import REPOSITORY, repository

REPORT = REPOSITORY / "workflow" / "report"
FAMILIES = sorted(path.parent.name for path in (REPOSITORY / "config").glob("*/figures.yaml"))


def problems(text):
    """Messages of docutils on reStructuredText, from hints on, and the number of its paragraphs."""
    messages = io.StringIO()
    tree = docutils.core.publish_doctree(text, settings_overrides={"report_level": 1, "warning_stream": messages})
    return messages.getvalue(), len(list(tree.findall(docutils.nodes.paragraph)))


def rendered(template, **variables):
    text = (REPORT / template).read_text(encoding="utf-8")
    return jinja2.Environment().from_string(text).render(snakemake=types.SimpleNamespace(**variables))


def figure_page(caption):
    params = types.SimpleNamespace(caption=caption)
    return rendered("_figure.rst", input=["results/cubes/a_b/c_d.nc"], params=params)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_captions(family):
    own = {name: figure for name, figure in repository().figures.items() if figure.family == family}
    assert own
    for name, figure in own.items():
        found, paragraphs = problems(figure_page(figure.caption.read_text(encoding="utf-8")))
        assert (name, found) == (name, "")
        # The caption, at least one note, and the line of the cubes.
        assert paragraphs >= 3
        caption, notes = read_caption(figure.caption, {})
        assert 60 <= len(caption.split()) <= 120, name
        # The numbers of the cubes: tests/workflow/test_smoke.py compares their names with those of the module.
        for name_of_number, form in PLACEHOLDER.findall(figure.caption.read_text(encoding="utf-8")):
            assert filled(f"{{{name_of_number}:{form}}}", {name_of_number: 0.5}) != MISSING, name
        assert notes, name
        assert len(figure.title) <= 95, name


def test_a_number_comes_from_the_cubes():
    text = "From {alpha:.2f} on, {gain:.0f} %; {both}."
    assert filled(text, {"alpha": 0.1849, "gain": 8.4, "both": 2}) == "From 0.18 on, 8 %; 2."
    assert filled(text, {"alpha": math.nan, "gain": math.inf}) == "From … on, … %; …."
    # What is no name stays.
    assert filled("The set {0, 1} and {a b}.", {}) == "The set {0, 1} and {a b}."
    with pytest.raises(ValueError, match="format code"):
        filled("{alpha:.2x}", {"alpha": 0.5})


def test_every_caption_belongs_to_a_figure():
    project = repository()
    captions = set((REPOSITORY / "src" / "attention_limits").glob("*/figures/**/*.rst"))
    drawn = {figure.caption for figure in project.figures.values()}
    needed = {path for item in project.left_out for path in captions if item.family in path.parts}
    assert captions - drawn <= needed


def test_the_front_page():
    found, _ = problems(rendered("_workflow.rst", config={"scale": "laptop", "seed": 0}))
    assert found == ""


def test_absolute_values_are_text_and_mistakes_are_found():
    tree = docutils.core.publish_doctree(figure_page("Where |e| > |m|, ||A|| = 1."))
    assert "Where |e| > |m|, ||A|| = 1." in tree.astext()
    for wrong in ("Opens *emphasis and ``code.", "A reference_ to nothing.", "Title\n==\n\nText."):
        assert problems(figure_page(wrong))[0], wrong
