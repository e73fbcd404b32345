"""CPU hours of the jobs that a run still has to do, from the logs of finished jobs.

The CPU time of a chunk is taken as proportional to its work: the sum over its points of the product of the powers that the
specification declares (`DataSpecification.work`).
"""

import csv
import functools
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attention_limits.pipeline.base.attributes import attributes_of
from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.estimator import Estimator, Experiment
from attention_limits.pipeline.experiments.experiment import SCALES, at_scales
from attention_limits.pipeline.experiments.grid import Chunk
from attention_limits.pipeline.experiments.project import Project, Run


@dataclass(frozen=True)
class Estimate:
    """The jobs of one estimator or one kind of data. `left` and `total` are numbers of points and of chunks.

    `hours` are CPU hours of the points that are left, or None without a finished chunk: at the lowest, the mean and the highest
    seconds per unit of work of the `timed` chunks. `megabytes` is the largest memory of these chunks. `ignored` names the keys
    that `work` does not contain and that differ from those of the timed chunks.
    """

    estimator: Estimator
    left: tuple[int, int]
    total: tuple[int, int]
    hours: tuple[float, float, float] | None
    timed: int
    megabytes: float | None
    ignored: tuple[str, ...]


def estimates(project: Project) -> Iterator[Estimate]:
    """An estimate for every kind of data and every estimator of a project.

    A chunk is done when its file has the digests of specification, seed and code, and all data that it reads are done. Points
    that a job would copy from the chunks of another scale are done too. Only the attributes of a file are read.
    """
    # Files may have changed since the last call.
    _attributes.cache_clear()
    run = project.run
    # The scales whose results are in the same folder.
    scales = [scale for scale in SCALES if run.model_copy(update={"scale": scale}).folder == run.folder]
    for experiment in project.all():
        versions = _at(experiment, run, scales)
        for name, estimator in experiment.all_estimators.items():
            others = [version.all_estimators[name] for version in versions if name in version.all_estimators]
            yield _estimate(estimator, needed_chunks(experiment, estimator), others, run)


def _at(experiment: Experiment, run: Run, scales: list[str]) -> list[Experiment]:
    """The experiment at those of the `scales` that the changes of the run allow; the others have no results."""
    found = []
    for scale in scales:
        with suppress(SpecError):
            found.append(at_scales(experiment.path, run.set, scales=(scale,))[scale])
    return found


def needed_chunks(experiment: Experiment, estimator: Estimator) -> list[Chunk]:
    """The chunks that the cube needs: of the data only those that an estimator reads."""
    if not estimator.is_data:
        return list(estimator.chunks)
    readers = [
        (reader, chunk)
        for reader in experiment.estimators.values()
        if reader.reads is estimator
        for chunk in reader.chunks
    ]
    return list({item.name: item for reader, chunk in readers for item in reader.data_chunks(chunk)}.values())


def cpu_seconds(log: Path) -> float | None:
    """CPU seconds of a job, from the last line of its log; None without this line."""
    text = log.read_text(encoding="utf-8") if log.is_file() else ""
    printed = re.findall(r"^([\d.]+) s of CPU$", text, re.MULTILINE)
    return float(printed[-1]) if printed else None


def _estimate(estimator: Estimator, wanted: list[Chunk], versions: list[Estimator], run: Run) -> Estimate:
    left = [chunk for chunk in wanted if not _is_done(estimator, chunk, run)]
    held = _held(estimator, versions, run) if left else set()
    points = [point for chunk in left for point in chunk.points if point not in held]
    timed = list(_timed(versions, run))
    rates, hours = [seconds / work for seconds, work, *_ in timed], None
    if rates:
        mean = sum(seconds for seconds, *_ in timed) / sum(work for _, work, *_ in timed)
        work = _work(estimator, points)
        hours = min(rates) * work / 3600, mean * work / 3600, max(rates) * work / 3600
    seen: dict[str, set] = {}
    for *_, values in timed:
        for key, x in values.items():
            seen.setdefault(key, set()).update(x)
    # Another parameter of all points, or a value of the grid that no timed chunk has.
    differ = [key for key, x in _numbers(estimator).items() if seen.get(key, {x}) != {x}]
    differ += [key for key, values in estimator.grid.items() if not set(values) <= seen.get(key, set(values))]
    return Estimate(
        estimator=estimator,
        left=(len(points), len(left)),
        total=(sum(chunk.size for chunk in wanted), len(wanted)),
        hours=hours if points else (0.0, 0.0, 0.0),
        timed=len(timed),
        megabytes=max((x for *_, used, _ in timed for x in used), default=None),
        ignored=tuple(key for key in differ if points and key not in estimator.specification.work(estimator)),
    )


_attributes = functools.cache(attributes_of)


def _has(estimator: Estimator, chunk: Chunk, run: Run, *names: str) -> bool:
    there, wanted = _attributes(estimator.path(run.folder, chunk)), estimator.attributes(chunk, run.seed)
    return all(there.get(name) == wanted[name] for name in names)


def _is_done(estimator: Estimator, chunk: Chunk, run: Run) -> bool:
    """Whether no job is needed. If the data of a chunk are missing, Snakemake makes them again, and then the chunk."""
    data = [(estimator.reads, item) for item in estimator.data_chunks(chunk)] if estimator.reads else []
    return all(_has(*job, run, "spec_digest", "point_digest") for job in [(estimator, chunk), *data])


def _held(estimator: Estimator, versions: list[Estimator], run: Run) -> set[tuple]:
    """The points that a job copies from files of other chunks, as `chunks.run_chunk` does."""
    own = estimator.attributes(estimator.chunks[0], run.seed)["point_digest"]
    others = {chunk.name: chunk for item in versions for chunk in item.chunks if chunk.name not in estimator.chunk}
    files = [
        chunk for chunk in others.values() if _attributes(estimator.path(run.folder, chunk)).get("point_digest") == own
    ]
    return {point for chunk in files for point in chunk.points}


def _timed(versions: list[Estimator], run: Run) -> Iterator[tuple[float, float, list[float], dict[str, list]]]:
    """CPU seconds, work, megabytes and parameters of each existing chunk that one job, with any code, computed as a whole."""
    pairs = ((item, chunk) for item in versions for chunk in item.chunks)
    found = {chunk.name: (item, chunk) for item, chunk in pairs if _has(item, chunk, run, "spec_digest")}
    for item, chunk in found.values():
        log = Path(item.path(f"{run.folder}/logs", chunk)).with_suffix(".log")
        seconds, work = cpu_seconds(log), _work(item, chunk.points)
        if (
            seconds is None
            or not work
            or f": {chunk.size} points computed, 0 taken " not in log.read_text(encoding="utf-8")
        ):
            continue
        table, used = Path(item.path(f"{run.folder}/benchmarks", chunk)).with_suffix(".tsv"), []
        if table.is_file():
            with table.open(encoding="utf-8", newline="") as opened:
                used = [row["max_rss"] for row in csv.DictReader(opened, delimiter="\t")]
        # A job that ends before the first sample has no number there.
        megabytes = [float(text) for text in used if re.fullmatch(r"[\d.]+", text)]
        yield seconds, work, megabytes, {**{key: [x] for key, x in _numbers(item).items()}, **chunk.grid}


def _numbers(estimator: Estimator) -> dict[str, float]:
    """The numbers among the parameters that all points share."""
    return {key: x for key, x in {**estimator.model, **estimator.solver.plain()}.items() if isinstance(x, int | float)}


def _work(estimator: Estimator, points: Iterable[tuple]) -> float:
    """The sum over points of the product of powers; a key that the estimator does not have counts as constant."""
    powers = estimator.specification.work(estimator)
    shared = {**(_numbers(estimator.reads) if estimator.reads else {}), **_numbers(estimator)}
    at = ({**shared, **dict(zip(estimator.grid, point, strict=False))} for point in points)
    return sum(math.prod(values.get(key, 1.0) ** power for key, power in powers.items()) for values in at)
