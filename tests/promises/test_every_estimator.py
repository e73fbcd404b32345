"""Every estimator, and every kind of data, has a promise test: a function `test_<name>_…` in a file of its family."""

import ast
from pathlib import Path

import pytest

from attention_limits.pipeline.experiment import load_family
from toy import REPOSITORY

FAMILIES = [load_family(path.parent.name) for path in sorted((REPOSITORY / "config").glob("*/experiments"))]
NAMES = [f"{family.name}/{name}" for family in FAMILIES for name in (*family.data, *family.estimators)]


@pytest.mark.parametrize("name", NAMES)
def test_an_estimator_has_a_promise(name):
    family, estimator = name.split("/")
    files = sorted(Path(__file__).parent.glob(f"test_{family}*.py"))
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    assert any(name.startswith(f"test_{estimator}_") for name in functions), f"test_{family}*.py: no test_{estimator}_…"
