"""Captions and the front page of the report, as Snakemake renders them: docutils finds nothing wrong."""

import io
import types

import docutils.core
import docutils.nodes
import jinja2
import pytest

from attention_limits.pipeline.project import load_project
from toy import REPOSITORY

REPORT = REPOSITORY / "workflow" / "report"
PROJECT = load_project(REPOSITORY, {"scale": "laptop"})


def problems(text):
    """What docutils says of reStructuredText, from hints on, and how many paragraphs it found."""
    said = io.StringIO()
    tree = docutils.core.publish_doctree(text, settings_overrides={"report_level": 1, "warning_stream": said})
    return said.getvalue(), len(list(tree.findall(docutils.nodes.paragraph)))


def rendered(template, **variables):
    return (
        jinja2.Environment()
        .from_string((REPORT / template).read_text(encoding="utf-8"))
        .render(snakemake=types.SimpleNamespace(**variables))
    )


def figure_page(caption, spec="{}"):
    params = types.SimpleNamespace(caption=caption, spec=spec)
    return rendered("_figure.rst", input=["results/cubes/a_b/c_d.nc"], params=params)


@pytest.mark.parametrize("path", sorted(REPORT.glob("[!_]*.rst")), ids=lambda path: path.stem)
def test_a_caption(path):
    spec = PROJECT.figure_spec(path.stem) if path.stem in PROJECT.figures else "{}"
    found, blocks = problems(figure_page(path.read_text(encoding="utf-8"), spec))
    assert found == ""
    assert blocks >= 3


def test_the_front_page():
    found, _ = problems(rendered("_workflow.rst", config={"scale": "laptop", "seed": 0}))
    assert found == ""


def test_absolute_values_are_text_and_mistakes_are_found():
    tree = docutils.core.publish_doctree(figure_page("Where |e| > |m|, ||A|| = 1."))
    assert "Where |e| > |m|, ||A|| = 1." in tree.astext()
    for wrong in ("Opens *emphasis and ``code.", "A reference_ to nothing.", "Title\n==\n\nText."):
        assert problems(figure_page(wrong))[0], wrong
