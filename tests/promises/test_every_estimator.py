"""Every estimator, and every kind of data, has a promise test: a function `test_<kind>…` in a file of its family."""

import ast
from pathlib import Path

import pytest
from specifications import SCHEMAS

KINDS = sorted(f"{file.parent.name}/{file.stem}" for file in SCHEMAS.glob("*/*.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_has_a_promise(kind):
    family, name = kind.split("/")
    files = sorted(Path(__file__).parent.glob(f"test_{family}*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    assert any(function.startswith(f"test_{name}_") for function in functions), f"test_{family}*.py: no test_{name}_…"
