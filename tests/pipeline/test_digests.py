"""Digests of code hold what decides bytes, and nothing else: neither messages nor YAML nor schemas."""

import pytest

from attention_limits.pipeline import provenance
from attention_limits.pipeline.audit.table import audit_modules
from attention_limits.pipeline.digests import cube_modules
from attention_limits.pipeline.project import load_project
from toy import REPOSITORY

PROJECT = load_project(REPOSITORY, {"scale": "laptop"})


def modules(*roots):
    """All modules of the import closure, without the empty ones of packages."""
    found = set().union(*(provenance.closure(root) for root in roots))
    return {str(path.relative_to(provenance.SOURCE)) for path in found if path.name != "__init__.py"}


@pytest.mark.parametrize("family", PROJECT.experiments)
def test_what_decides_a_cube_beside_its_chunks(family):
    own = {name for name in modules(f"attention_limits.variables.{family}") if name.startswith(f"variables/{family}")}
    expected = {"layout.py", "combine.py", "files.py", "variables/record.py", "variables/shared.py"}
    assert modules(*cube_modules(family)) == expected | own


@pytest.mark.parametrize("family", PROJECT.experiments)
def test_what_decides_a_chunk(family):
    """`errors` defines two classes and holds no text; an estimator that refuses a file imports it."""
    shared = {"rng.py", "files.py", "errors.py"}
    for experiment in PROJECT.experiments[family].values():
        for part in {**experiment.data, **experiment.estimators}.values():
            found = modules(part.module, "attention_limits.pipeline.streams")
            others = {name for name in found if name.split("/")[0] not in (family, "numerics")} - shared
            assert all(name.startswith(f"experiments/{family}/") for name in others), (part.module, others)


def test_what_decides_a_figure():
    for figure in PROJECT.figures.values():
        folders = {name.split("/")[0] for name in modules(figure.module)}
        assert folders <= {"figures", "readings", "numerics", "errors.py"}, figure.name


def test_what_decides_the_audit():
    found = modules(*audit_modules(list(PROJECT.experiments)))
    assert {"audit/table.py", "audit/text.py", "readings/common.py"} <= found
    assert {name.split("/")[0] for name in found} == {"audit", "readings", "numerics"}
    assert "audit/published.py" not in found
