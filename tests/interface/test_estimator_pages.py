"""The page of each estimator follows from its specification, its variables and the smoke runs, and its example runs."""

import importlib
import sys

import pytest

import attention_limits as al
from toy import REPOSITORY

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "docs"))
estimators = importlib.import_module("estimators")
PAGES, PARTS = estimators.pages(), estimators.smallest()


def test_every_estimator_has_a_page():
    assert len(PAGES) == len(al.estimators())
    there = {f"docs/estimators/{path.name}" for path in (REPOSITORY / "docs" / "estimators").glob("*.md")}
    assert there == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_are_current(page):
    """`make schemas` writes them."""
    assert (REPOSITORY / page).read_text(encoding="utf-8") == PAGES[page]


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_the_example_computes_the_variables_of_the_page(name, monkeypatch):
    """Seconds each, most of them compilation of the estimator's kernels, which no other test can share."""
    monkeypatch.chdir(REPOSITORY)
    found = {}
    exec(estimators.example(PARTS[name]), found)
    listed = estimators.json.loads(estimators.VARIABLES.read_text(encoding="utf-8"))[name]
    assert sorted(map(str, found["cube"].data_vars)) == listed
