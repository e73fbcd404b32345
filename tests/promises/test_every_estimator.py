"""Every estimator, and every kind of data, has a promise test: a function `test_<kind>…` in the file of its family."""

import ast
from pathlib import Path

import pytest
from specifications import SCHEMAS

KINDS = sorted(f"{file.parent.name}/{file.stem}" for file in SCHEMAS.glob("*/*.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimator_has_a_promise(kind):
    family, name = kind.split("/")
    tests = Path(__file__).parent / f"test_{family}.py"
    functions = [node.name for node in ast.walk(ast.parse(tests.read_text())) if isinstance(node, ast.FunctionDef)]
    assert any(function.startswith(f"test_{name}_") for function in functions), f"{tests.name}: no test_{name}_…"
