"""Damaged files of the results. A run finds them before it starts and sets them aside, so that the workflow makes them again."""

from pathlib import Path

SUFFIX = ".damaged"
# The netCDF library raises one of these for a damaged file; which one depends on the place of the damage.
UNREADABLE = (OSError, ValueError, KeyError, IndexError, RuntimeError, AttributeError, TypeError)


def set_aside(path: Path) -> Path:
    """Rename a file to `<name>.damaged`, or `<name>.2.damaged` and so on when that name is taken. Returns the new path."""
    aside, number = path.with_name(path.name + SUFFIX), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.{number}{SUFFIX}")
    return path.rename(aside)


def aside_lines(results: str) -> list[str]:
    """One line for each file below a folder of results that was set aside."""
    found = sorted(Path(results).rglob(f"*.nc*{SUFFIX}"))
    return [f"{path}: was damaged, so it was set aside; remove it after you have looked at it" for path in found]


def damaged_chunks(project, family: str, experiment: str) -> dict[Path, str]:
    """The damaged, foreign and outdated files among the chunks of a cube of a `Project`, each with a message.

    This reads only files that a program other than the workflow has changed. They are newer than the benchmark of their job,
    which Snakemake writes after them, and newer than the cube, if these files exist. So a start with ten thousand chunks looks
    at their dates and reads none of them.
    """
    from attention_limits.pipeline.digests import chunk_attributes, point_digest

    found, cube = {}, Path(project.cube_path(family, experiment))
    for part in project.experiments[family][experiment].estimators.values():
        points = None
        for chunk in part.chunks:
            path = Path(project.folder(part), f"{chunk.name}.nc")
            if not _is_suspect(path, project, cube):
                continue
            points = points or point_digest(part, project.seed)
            found |= _problem(path, chunk_attributes(part, chunk, points), part.effective(chunk))
    return found


def damaged_cubes(project, figure: str) -> dict[Path, str]:
    """The same among the cubes of a figure."""
    found, drawn = {}, Path(project.figure_paths(figure)[0])
    for file in project.figure_cubes(figure):
        path = Path(file)
        if _is_suspect(path, project, drawn):
            found |= _problem(path, {"cube_digest": project.cube_digests[project.figures[figure].family, path.stem]})
    return found


def _is_suspect(path: Path, project, made_of_it: Path) -> bool:
    benchmark = Path(project.results, "benchmarks", path.relative_to(project.results)).with_suffix(".tsv")
    try:
        date = path.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    dates = [later.stat().st_mtime_ns for later in (benchmark, made_of_it) if later.exists()]
    return bool(dates) and max(dates) < date


def _problem(path: Path, expect: dict[str, str], chunk: dict | None = None) -> dict[Path, str]:
    from attention_limits.pipeline.cubes import read
    from attention_limits.pipeline.errors import CubeError

    try:
        read(path, "the next run makes it again", expect, chunk)
    except CubeError as error:
        return {path: str(error)}
    return {}
