"""The whole project at one scale and seed: its experiments and figures, where their files are, what they hang on."""

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from attention_limits.digests import chunk_code, cube_digest, held_points, point_digest
from attention_limits.errors import SpecError
from attention_limits.files import canonical_json, half_written
from attention_limits.provenance import code_digest
from attention_limits.schema import complete, load_schema, problems
from attention_limits.spec import Estimator, Experiment, load_experiment
from attention_limits.yaml_reader import read_yaml

RESULTS = "results"


@dataclass(frozen=True)
class Figure:
    """One figure: the module that draws it and the cubes it is drawn from."""

    name: str
    family: str
    title: str
    module: str
    cubes: tuple[str, ...]
    caption: Path

    def digest(self) -> str:
        """Digest of all that decides the figure beside its cubes: the drawing code and the caption."""
        return code_digest(self.module, extra_files=[self.caption])


@dataclass(frozen=True)
class Project:
    """Validated experiments (by family, then name) and figures of the selected families.

    `base` is the folder of the results of all scales. `left_out` are the experiments that require a file that is missing;
    they and their figures are nowhere else.
    """

    scale: str
    seed: int
    experiments: dict[str, dict[str, Experiment]]
    figures: dict[str, Figure]
    left_out: tuple[Experiment, ...]
    base: str = RESULTS

    @property
    def results(self) -> str:
        """The folder of all results: that of `smoke` is apart, `paper` extends `laptop`."""
        return results_folder(self.base, self.scale)

    def chunk_folder(self, family: str, experiment: str) -> str:
        """The folder below which the chunks of an experiment lie, one folder per estimator."""
        return f"{self.results}/chunks/{family}/{experiment}"

    def chunk_paths(self, family: str, experiment: str) -> list[str]:
        """The files of all chunks of an experiment."""
        folder = self.chunk_folder(family, experiment)
        parts = self.experiments[family][experiment].estimators
        return [f"{folder}/{name}/{chunk.name}.nc" for name, part in parts.items() for chunk in part.chunks]

    def data_paths(self, family: str, experiment: str, estimator: str, chunk: str) -> list[str]:
        """The files of the data that one chunk job reads; none when its estimator reads no data.

        Points that a chunk file holds already need none: data are temporary, and making them anew for one reader must not
        set the others going. What is held is looked up once, when an estimator is first asked about.
        """
        part = self.part(family, experiment, estimator)
        if part.reads is None:
            return []
        key = (family, experiment, estimator)
        if key not in self._held:
            chunks = Path(self.chunk_folder(family, experiment), estimator)
            self._held[key] = held_points(chunks, list(part.grid), point_digest(part, self.seed))
        held = self._held[key]
        needed = part.data_chunks(point for point in part.chunk(chunk).points() if point not in held)
        return [f"{data_folder(self.base, self.scale, part)}/{item.name}.nc" for item in needed]

    def leftover_data(self) -> list[Path]:
        """Files of data, whole or half written, whose readers' chunk files hold every point by now.

        Snakemake deletes data after their last reader. A kill in between leaves them, and so does a reader that made its
        data itself.
        """
        # What this instance has looked up may be older than the files.
        now = replace(self)
        known: set[str] = set()
        needed: set[str] = set()
        for item in self._all():
            for name, part in item.estimators.items():
                if part.reads is None:
                    continue
                folder = data_folder(self.base, self.scale, part)
                if not Path(folder).is_dir():
                    continue
                known |= {f"{folder}/{data.name}.nc" for data in part.reads.chunks}
                for chunk in part.chunks:
                    needed.update(now.data_paths(item.family, item.name, name, chunk.name))
        paths = [Path(file) for file in sorted(known - needed)]
        return [file for path in paths for file in (path, *half_written(path)) if file.exists()]

    @functools.cached_property
    def _held(self) -> dict[tuple[str, str, str], set[tuple[float, ...]]]:
        return {}

    def cube_path(self, family: str, experiment: str) -> str:
        """The file of one cube."""
        return f"{self.results}/cubes/{family}/{experiment}.nc"

    def figure_paths(self, name: str) -> list[str]:
        """The two files of one figure, PDF and PNG."""
        return [f"{self.results}/figures/{self.figures[name].family}/{name}.{kind}" for kind in ("pdf", "png")]

    def figure_cubes(self, name: str) -> list[str]:
        """The files of the cubes of one figure."""
        figure = self.figures[name]
        return [self.cube_path(figure.family, cube) for cube in figure.cubes]

    def family_targets(self, family: str) -> list[str]:
        """All cubes and figures of one family."""
        cubes = [self.cube_path(family, name) for name in self.experiments[family]]
        figures = [name for name, figure in self.figures.items() if figure.family == family]
        return cubes + [path for name in figures for path in self.figure_paths(name)]

    def targets(self) -> list[str]:
        """All cubes and figures."""
        return [path for family in self.experiments for path in self.family_targets(family)]

    def notes(self) -> list[str]:
        """One line for each experiment that is left out, for people: what is missing, and where to put it."""
        return [f"{item.path}: left out, with its figures: {'; '.join(item.missing())}" for item in self.left_out]

    def part(self, family: str, experiment: str, name: str) -> Estimator:
        """An estimator of an experiment, or data of it."""
        found = self.experiments[family][experiment]
        return found.data[name] if name in found.data else found.estimators[name]

    def chunk_job(self, family: str, experiment: str, name: str, chunk: str) -> dict[str, str]:
        """Specification and code digest of one chunk or data file. Raises KeyError for one of an older layout."""
        part = self.part(family, experiment, name)
        return {
            "spec": canonical_json(part.effective(part.chunk(chunk))),
            "code": self._codes[family, experiment, name],
        }

    @functools.cached_property
    def _codes(self) -> dict[tuple[str, str, str], str]:
        return {
            (item.family, item.name, name): chunk_code(part)
            for item in self._all()
            for name, part in {**item.data, **item.estimators}.items()
        }

    def cube_jobs(self) -> dict[tuple[str, str], str]:
        """The digest of every cube, by family and experiment."""
        return {(item.family, item.name): cube_digest(item, self.seed) for item in self._all()}

    def figure_spec(self, name: str) -> str:
        """The specifications of the cubes of a figure as JSON, one line per cube."""
        figure = self.figures[name]
        return "\n".join(canonical_json(self.experiments[figure.family][cube].effective()) for cube in figure.cubes)

    def _all(self) -> list[Experiment]:
        return [item for group in self.experiments.values() for item in group.values()]


def results_folder(base: str, scale: str) -> str:
    """The folder of all results of a scale below the folder `base` of all results."""
    return f"{base}/smoke" if scale == "smoke" else base


def data_folder(base: str, scale: str, estimator: Estimator) -> str:
    """The folder of the data that an estimator reads, below the folder `base` of all results."""
    return f"{results_folder(base, scale)}/data/{estimator.family}/{estimator.experiment}/{estimator.reads.name}"


def load_project(root: Path, config: dict | None = None) -> Project:
    """Read and validate everything below `root`: `config/`, and the captions in `workflow/report/`.

    `config` replaces the content of `config/config.yaml`. Raises SpecError with all problems of all files.
    """
    folder = root / "config"
    if not folder.is_dir():
        raise SpecError([f"{folder}: no such folder; name the folder that holds config/ with --project"])
    source = folder / "config.yaml"
    config = read_yaml(source) if config is None else config
    schema = load_schema(folder / "schemas" / "config.json")
    found = _lines(source, problems(config, schema))
    if found:
        raise SpecError(found)
    config = complete(config, schema)

    experiments: dict[str, dict[str, Experiment]] = {}
    left_out = []
    for path in sorted(folder.glob("experiments/*/*.yaml")):
        if config["families"] != "all" and path.parent.name not in config["families"]:
            continue
        # Both are names in targets and in the lines of the shell.
        if not all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in (path.parent.name, path.stem)):
            found.append(
                f"{path}: the folder and the file: allowed: a name of a-z, 0-9 and _ that begins with a letter"
            )
            continue
        try:
            experiment = load_experiment(path, config["scale"])
            known = experiments.setdefault(experiment.family, {})
            if experiment.missing():
                left_out.append(experiment)
                continue
            known[experiment.name] = experiment
            for part in (*experiment.data.values(), *experiment.estimators.values()):
                chunk_code(part)
        except SpecError as error:
            found += error.problems
        except ModuleNotFoundError as error:
            found.append(f"{path}: {error}")
    if config["families"] != "all":
        missing = [name for name in config["families"] if not (folder / "experiments" / name).is_dir()]
        found += [f"{source}: families: {name!r}: no folder {folder / 'experiments' / name}" for name in missing]
    figures = {}
    if not found:
        figures, found = _load_figures(root, experiments, left_out)
    if found:
        raise SpecError(found)
    return Project(config["scale"], config["seed"], experiments, figures, tuple(left_out), config["results"])


def _load_figures(
    root: Path, experiments: dict[str, dict[str, Experiment]], left_out: list[Experiment]
) -> tuple[dict[str, Figure], list[str]]:
    """The figures of the families in `experiments` that no experiment is left out of, and what is wrong with any."""
    figures, found = {}, []
    absent = {(item.family, item.name) for item in left_out}
    schema = load_schema(root / "config" / "schemas" / "figures.json")
    for source in sorted((root / "config").glob("figures*.yaml")):
        document = read_yaml(source)
        found += _lines(source, problems(document, schema))
        for name, entry in document.items() if not found else ():
            if entry["family"] not in experiments:
                continue
            known = [*experiments[entry["family"]], *(name for family, name in absent if family == entry["family"])]
            caption = root / "workflow" / "report" / f"{name}.rst"
            module = f"attention_limits.figures.{entry['module']}"
            figure = Figure(name, entry["family"], entry["title"], module, tuple(entry["cubes"]), caption)
            for cube in figure.cubes:
                if cube not in known:
                    found.append(f"{source}: {name}.cubes: {cube!r}: allowed: {', '.join(known)}")
            parts = [
                experiments[entry["family"]][cube] for cube in figure.cubes if cube in experiments[entry["family"]]
            ]
            for key in entry.get("same_model", ()):
                found += [f"{source}: {name}.same_model: {message}" for message in _differing(key, parts)]
            if name in figures or name in experiments:
                found.append(f"{source}: {name}: this name is taken by another figure or family")
            try:
                figure.digest()
            except ModuleNotFoundError as error:
                found.append(f"{source}: {name}.module: {error}")
            except OSError as error:
                found.append(f"{source}: {name}: its caption {caption} cannot be read: {error.strerror}")
            figures[name] = figure
    drawn = {name: item for name, item in figures.items() if not absent & {(item.family, cube) for cube in item.cubes}}
    return drawn, found


def _differing(key: str, experiments: list[Experiment]) -> list[str]:
    """What is wrong if a key of the model has not one and the same value in all estimators that have it."""
    values = {}
    for experiment in experiments:
        for part in experiment.estimators.values():
            for value in part.grid.get(key, [part.model[key]] if key in part.model else []):
                values.setdefault(value, set()).add(experiment.path.name)
    if len(values) == 1:
        return []
    told = "; ".join(f"{value} in {', '.join(sorted(names))}" for value, names in values.items())
    return [f"{key}: {told or 'in none of the cubes'}: drawn together, they need one and the same value"]


def _lines(source: Path, found: list[tuple[tuple[str, ...], str]]) -> list[str]:
    return [f"{source}: {'.'.join(keys) or 'file'}: {message}" for keys, message in found]
