"""The page of each estimator follows from its specification, its variables and the smoke runs; its example is the smoke run."""

import importlib
import json
import sys

import pytest

import attention_limits as al
from attention_limits.interface import compute
from attention_limits.interface.describe import families, variables
from attention_limits.pipeline.base.registry import registry, registry_module
from toy import REPOSITORY

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "tools"))
estimators = importlib.import_module("estimators")
FAMILIES = families()
ESTIMATORS = {f"{family.name}.{own}": family.rule(own) for family in FAMILIES for own in family.estimators}
PAGES = [f"docs/estimators/{rule}.md" for rule in ESTIMATORS.values()]


@pytest.fixture(scope="module")
def pages():
    return estimators.pages()


@pytest.fixture(scope="module")
def smallest():
    return estimators.smallest()


def test_every_estimator_has_a_page(pages, smallest):
    assert len(PAGES) == len(al.estimators())
    assert set(pages) == set(PAGES)
    assert smallest.keys() == ESTIMATORS.keys()
    there = {f"docs/estimators/{path.name}" for path in (REPOSITORY / "docs" / "estimators").glob("*.md")}
    assert there == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_are_current(page, pages):
    """`make schemas` writes them."""
    assert (REPOSITORY / page).read_text(encoding="utf-8") == pages[page]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_example_asks_for_the_smoke_run(name, smallest, monkeypatch):
    """The smoke run computes the example, so this test computes nothing."""
    asked = []
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setattr(compute, "_run", lambda *_: None)
    monkeypatch.setattr(compute, "merge", lambda made, *_: asked.append(made))
    monkeypatch.setattr(compute.reader, "read", lambda *_, **__: None)
    estimator = smallest[name]
    exec(estimators.example(estimator), {})
    made = asked[0].estimators[estimator.name]
    assert (made.model, made.grid, made.solver, made.replicas) == (
        estimator.model,
        estimator.grid,
        estimator.solver,
        estimator.replicas,
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_variables_of_a_page_are_those_of_the_smoke_cube(name, smallest):
    listed, estimator = variables()[name], smallest[name]
    cubes = json.loads((REPOSITORY / "tests/golden/smoke.json").read_text(encoding="utf-8"))["cubes"]
    assert listed
    # A new cube has no golden record yet.
    if record := cubes.get(f"{estimator.family}/{estimator.experiment}"):
        assert set(listed) <= set(record["variables"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_texts_of_its_variables_alone(name):
    """The texts that replace those of the family belong to variables of the estimator, with the same dimensions."""
    family, estimator = name.split(".")
    shared = registry(family).variables
    own = getattr(importlib.import_module(registry_module(family)), "OWN", {}).get(estimator, ())
    assert {item.name for item in own} <= set(variables()[name])
    assert all(item.dims == shared[item.name].dims and item != shared[item.name] for item in own)


@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_texts_of_estimators_name_estimators(family):
    module = importlib.import_module(registry_module(family))
    named = {*getattr(module, "OWN", {}), *getattr(module, "SOURCES", {})}
    assert {f"{family}.{name}" for name in named} <= set(ESTIMATORS)
