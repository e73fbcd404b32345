"""The archive of cubes: complete, checked, readable without the package, and the same bytes for the same cubes."""

import hashlib
import importlib
import sys
import zipfile

import pytest

from attention_limits.pipeline.base.errors import CubeError, SpecError
from toy import REPOSITORY, Toy, imported

pytestmark = pytest.mark.slow

# A script beside the package, not part of it.
sys.path.append(str(REPOSITORY / "tools"))
archive = importlib.import_module("archive")


def test_archive_of_some_families(tmp_path):
    with pytest.raises(CubeError) as found:
        archive.contents(tmp_path, "laptop", ["sequence_single_index"])
    assert all("/sequence_single_index/" in problem for problem in found.value.problems)
    with pytest.raises(SpecError, match="no_such_family"):
        archive.contents(tmp_path, "laptop", ["no_such_family"])


@pytest.fixture
def toy(tmp_path):
    made = Toy(tmp_path / "project")
    made.snakemake("--cores", "1", "results/cubes/toy/growth_curve.nc")
    with imported(made):
        yield made


def test_archive_has_cubes_specifications_and_checksums(toy, monkeypatch, tmp_path):
    for name in ("LICENSE", "CITATION.cff"):
        (toy.folder / name).write_text(name)
    monkeypatch.setattr(archive, "ROOT", toy.folder)
    monkeypatch.chdir(toy.folder)
    results = toy.folder / "results"
    paths = [tmp_path / folder / "cubes.zip" for folder in ("first", "second")]
    for path in paths:
        archive.write(path, archive.contents(results, "laptop"))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with zipfile.ZipFile(paths[0]) as opened:
        files = {name.removeprefix("cubes/"): opened.read(name) for name in opened.namelist()}
    cube = (results / "cubes/toy/growth_curve.nc").read_bytes()
    assert files["cubes/toy/growth_curve.nc"] == cube
    assert "config/toy/experiments/growth_curve.yaml" in files
    assert "| `toy/growth_curve.nc` | Growth of a toy |" in files["README.md"].decode()
    sums = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    (results / "cubes/toy/growth_curve.nc").write_bytes(cube[:-100])
    with pytest.raises(CubeError, match="growth_curve"):
        archive.contents(results, "laptop")
