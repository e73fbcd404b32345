"""Schemas for editors and pages of keys: both follow from the classes of the specifications."""

import copy
import importlib
import sys

import jsonschema
import pytest

from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from toy import REPOSITORY

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "tools"))
schemas = importlib.import_module("schemas")
FAMILIES, PAGES = {family.name: family for family in schemas.families()}, schemas.pages()


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_of_keys_are_current(page):
    """`make schemas` writes them."""
    assert (REPOSITORY / page).read_text(encoding="utf-8") == PAGES[page]


@pytest.fixture(params=FAMILIES)
def family(request):
    """An editor's check of the experiments of a family, and its experiments by file name."""
    checker = jsonschema.Draft202012Validator(schemas.editor_schema(FAMILIES[request.param]))
    folder = REPOSITORY / "config" / request.param / "experiments"
    return checker, {path.name: read_yaml(path) for path in folder.glob("*.yaml")}


def test_an_editor_accepts_every_experiment(family):
    checker, experiments = family
    assert experiments
    for name, document in experiments.items():
        assert [error.message for error in checker.iter_errors(document)] == [], name


def test_an_editor_marks_a_wrong_key_and_a_wrong_value(family):
    checker, experiments = family
    for document in experiments.values():
        name = next(iter(document["estimators"]))
        for key, value in (("solvers", {}), ("replicas", 0), ("grid", {"unknown": {"values": [1.0]}})):
            wrong = copy.deepcopy(document)
            wrong["estimators"][name][key] = value
            assert not checker.is_valid(wrong), key
