"""Checks of a specification beyond single keys: files, distances that exist, sequences that exist."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.specification import Problem

# The matrices of a model and the number of rows of each.
_SIZES = {"couplings": "sites", "color_couplings": "colors"}
# Numbers in the simulated Gaussian sequences of one point: 8 bytes each, held three times.
MAX_ENTRIES = 1e8


def each_once(values: list[str]) -> list[str]:
    """A list without repetition. Raises ValueError for another."""
    if len(set(values)) < len(values):
        raise ValueError(f"{json.dumps(values)}: allowed: each value at most once")
    return values


def matrix_files(estimator) -> list[Path]:
    """The files of the matrices that the model names."""
    model = estimator.model
    return [user_file(estimator.project, model[key]["file"]) for key in _SIZES if "file" in model[key]]


def matrices(estimator) -> Iterable[Problem]:
    """Files of matrices that are missing, not symmetric, or of another size than the model."""
    for key, size in _SIZES.items():
        options = estimator.model[key]
        if options["kind"] == "distances":
            from attention_limits.potts_mlm.potts.contacts import contact_map

            try:
                contact_map(user_file(estimator.project, options["file"]), estimator.model[size], options["contact"])
            except (OSError, ValueError) as error:
                yield ("model", key, "file"), str(error)
        if options["kind"] != "file":
            continue
        # A file is rare and worth the import.
        from attention_limits.potts_mlm.potts.model import read_matrix, symmetric

        path, rows = user_file(estimator.project, options["file"]), estimator.model[size]
        try:
            matrix = symmetric(read_matrix(path), str(path), hollow=key == "couplings")
            if len(matrix) != rows:
                raise ValueError(f"{path}: {len(matrix)} rows; the model has {rows}")
        except ValueError as error:
            yield ("model", key, "file"), str(error)


def instances(estimator) -> Iterable[Problem]:
    """Fewer instances than replicas."""
    instance = estimator.model["instance"]
    if isinstance(instance, list) and len(instance) < estimator.replicas:
        yield (
            ("model", "instance"),
            f"{len(instance)} instances: allowed: one for each of {estimator.replicas} replicas",
        )


def distances(estimator) -> Iterable[Problem]:
    """Distances at or above that of random colours, 1 - 1/C."""
    colors = estimator.model["colors"]
    largest = 1.0 - 1.0 / colors
    for value in estimator.grid["distance"]:
        if value >= largest:
            yield ("grid", "distance"), f"{value:g}: allowed: below {largest:g}, that of {colors} colours at random"


def enough_sequences(estimator, asks: Mapping[tuple[str, str], str]) -> Iterable[Problem]:
    """More sequences than the data have. `asks` maps each key of the estimator to the set that it counts, training or test."""
    data = estimator.reads
    counts = data.specification.counts(data)
    for keys, name in asks.items():
        section, key = keys
        asked = estimator.grid[key] if section == "grid" else getattr(estimator.solver, key)
        count = max(asked) if isinstance(asked, list) else asked
        if name in counts and count > counts[name]:
            yield keys, f"{count}: allowed: ≤ {counts[name]}, the {name} sequences of data.{data.name}"


def evaluations(estimator) -> Iterable[Problem]:
    """More evaluations than epochs."""
    asked, epochs = estimator.solver.evaluations, estimator.solver.epochs
    if asked > epochs:
        yield ("solver", "evaluations"), f"{asked}: allowed: ≤ {epochs}, the value of solver.epochs"


def learned_chains(estimator) -> Iterable[Problem]:
    """More chains to learn from than there are."""
    learned, chains = estimator.solver.learned, estimator.solver.chains
    if learned > chains:
        yield ("solver", "learned"), f"{learned}: allowed: ≤ {chains}, the value of solver.chains"


def sequences_fit_into_memory(estimator) -> Iterable[Problem]:
    """More samples per input, alpha = M / (L - 1), than M L <= MAX_ENTRIES allows."""
    sites, alpha = estimator.solver.sites, max(estimator.grid["alpha"])
    most = MAX_ENTRIES / (sites * (sites - 1))
    if alpha > most:
        text = f"{alpha:g}: allowed: ≤ {most:g} for {sites} sites; the sequences must fit into memory"
        yield ("grid", "alpha"), text
