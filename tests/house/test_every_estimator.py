"""Every estimator, and every kind of data, has a promise test: a function `test_<name>_…` in the folder of its family."""

import ast
import functools

import pytest

from attention_limits.pipeline.experiments.experiment import load_family
from toy import REPOSITORY

FAMILIES = [load_family(path.parent.name) for path in sorted((REPOSITORY / "config").glob("*/experiments"))]
NAMES = [f"{family.name}/{name}" for family in FAMILIES for name in (*family.data, *family.estimators)]


@functools.cache
def functions(family):
    """The names of all functions in the files of a family."""
    files = sorted((REPOSITORY / "tests" / "promises" / family).glob("test_*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("name", NAMES)
def test_an_estimator_has_a_promise(name):
    family, estimator = name.split("/")
    found = [name for name in functions(family) if name.startswith(f"test_{estimator}_")]
    assert found, f"tests/promises/{family}: no test_{estimator}_…"
