"""Pack the cubes of a finished run into one file: `python tools/archive.py RESULTS SCALE [FAMILY ...]`, or `make archive`.

The archive has the cubes, the files of config/ that specify them, the audit, the versions of the packages that wrote them,
checksums, and a page on how to read the cubes without this package. The same cubes give the same bytes.
"""

import hashlib
import json
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from attention_limits.pipeline.base.errors import CubeError, SpecError
from attention_limits.pipeline.base.files import replacing
from attention_limits.pipeline.cubes.reader import read
from attention_limits.pipeline.experiments.project import load_project

ROOT = Path(__file__).parents[1]
# Without a time, so that the bytes depend on the content alone.
DATE = (1980, 1, 1, 0, 0, 0)
PAGE = """\
# Learning limits of attention models: results at scale {scale}

{count} cubes of attention-limits {version}. A cube is a NetCDF 4 file with the numbers of one experiment: every replica at every
point, with convergence flags. Attributes of a cube hold its whole specification (`spec`), the root seed, the versions of the
packages that wrote it, and checksums. Attributes of a variable hold its symbol, its normalisation and its equation.

Any NetCDF reader opens a cube, without attention-limits. In Python: `pip install xarray h5netcdf h5py`, then

    import xarray
    cube = xarray.open_dataset("cubes/{example}", engine="h5netcdf")
    print(cube)

`ncdump -h` prints the header; R (ncdf4), Julia (NCDatasets) and MATLAB (ncread) read the same files. `sha256sum -c SHA256SUMS`
checks all files. `config/` has the specifications, `audit.md` compares published numbers with these, `versions.json` lists the
packages of each cube. CITATION.cff names the papers.

| Cube | Subject | Dimensions | kB |
|---|---|---|---|
{rows}
"""


def contents(results: Path, scale: str, families: Sequence[str] = ()) -> dict[str, bytes]:
    """The files of the archive by name: `cubes/<family>/<experiment>.nc`, `config/...`, `README.md`, `SHA256SUMS` and others.

    Of these `families`, or of all. Raises CubeError with all missing and damaged cubes, and SpecError for an unknown family.
    """
    project = load_project(ROOT, {"scale": scale, "results": str(results), "families": list(families) or "all"})
    files, rows, versions, wrong = {}, [], {}, []
    for experiment in project.all():
        path = Path(experiment.cube_path(project.run.folder))
        try:
            cube = read(path)
        except CubeError as error:
            wrong += error.problems
            continue
        name = f"{experiment.family}/{experiment.name}.nc"
        files[f"cubes/{name}"] = path.read_bytes()
        sizes = ", ".join(f"{dimension} {size}" for dimension, size in cube.sizes.items())
        rows.append(f"| `{name}` | {experiment.title} | {sizes} | {path.stat().st_size / 1000:.0f} |")
        versions[name] = json.loads(cube.attrs["versions"])
    if wrong:
        raise CubeError(wrong)
    kept = [*sorted((ROOT / "config").rglob("*.yaml")), ROOT / "CITATION.cff", ROOT / "LICENSE"]
    files |= {str(path.relative_to(ROOT)): path.read_bytes() for path in kept}
    audit = [Path(project.run.folder) / f"audit.{kind}" for kind in ("md", "json")]
    files |= {path.name: path.read_bytes() for path in audit if path.exists()}
    page = PAGE.format(
        scale=scale, count=len(rows), version=version("attention-limits"), example=min(versions), rows="\n".join(rows)
    )
    files["README.md"] = page.encode()
    files["versions.json"] = (json.dumps(versions, indent=1, sort_keys=True) + "\n").encode()
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())]
    return files | {"SHA256SUMS": "".join(sums).encode()}


def write(path: Path, files: dict[str, bytes]) -> None:
    """Write `files` into a zip archive, below one folder with the name of the archive."""
    with (
        replacing(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
    ):
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(f"{path.stem}/{name}", DATE), data, zipfile.ZIP_DEFLATED)


def main() -> int:
    """Write the archive into the folder of the results, and print its size."""
    results, scale, *families = sys.argv[1:]
    path = Path(results) / f"{'-'.join(['attention-limits', version('attention-limits'), scale, *families])}.zip"
    try:
        files = contents(Path(results), scale, families)
    except (CubeError, SpecError) as error:
        print("\n".join(error.problems), file=sys.stderr)
        return 2
    write(path, files)
    print(f"{path}: {len(files)} files, {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
