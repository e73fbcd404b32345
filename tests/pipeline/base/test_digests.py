"""Digests of code hold what decides bytes, and nothing else: neither messages nor YAML nor specifications."""

import pytest

from attention_limits.pipeline.base import provenance
from toy import REPOSITORY, repository

FAMILIES = sorted(path.parent.name for path in (REPOSITORY / "config").glob("*/experiments"))
OF_CHUNKS = {"base/streams.py", "base/files.py", "base/errors.py", "cubes/points.py", "base/user_files.py"}
OF_CUBES = {"cubes/cube_bytes.py", "cubes/combine.py", "base/files.py", "base/registry.py", "base/errors.py"}


def modules(*roots):
    """All modules of the import closure, without the empty ones of packages."""
    found = set().union(*(provenance.closure(root) for root in roots))
    paths = {provenance._file(name) for name in found}
    return {str(path.relative_to(provenance.SOURCE)) for path in paths if path.name != "__init__.py"}


def inside(folder, names):
    return {f"{folder}/{name}" for name in names}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_code_of_a_cube_beside_its_chunks(family):
    found = modules("attention_limits.pipeline.cubes.cube_bytes", f"attention_limits.{family}.variables")
    shared = {name for name in found if not name.startswith((f"{family}/variables", f"{family}/schema/"))}
    assert shared == inside("pipeline", OF_CUBES)
    assert f"{family}/variables.py" in found
    # An edit of a key rewrites no cube.
    assert all(
        name.startswith((f"{family}/schema/variables", f"{family}/schema/__init__"))
        for name in found
        if name.startswith(f"{family}/schema/")
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_code_of_a_chunk(family):
    for experiment in repository().experiments[family].values():
        for estimator in experiment.all_estimators.values():
            found = modules(estimator.module, "attention_limits.pipeline.base.streams")
            others = {name for name in found if name.split("/")[0] not in (family, "numerics")}
            assert others <= inside("pipeline", OF_CHUNKS), estimator.module
            # An edit of a description or of a caption computes nothing.
            own = {name.removeprefix(f"{family}/") for name in found if name.startswith(f"{family}/")}
            assert not {
                name for name in own if name.startswith(("specs", "schema/", "variables", "figures/", "readings"))
            }


def test_the_code_of_a_figure():
    for figure in repository().figures.values():
        found = modules(figure.module)
        assert {name.split("/")[0] for name in found} <= {figure.family, "plotting.py", "pipeline", "numerics"}
        assert not {name for name in found if name.endswith("_kernels.py") or "/estimators/" in name}, figure.name
