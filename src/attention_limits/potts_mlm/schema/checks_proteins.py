"""Checks of a specification on alignments beyond single keys: files, columns, sequences, sizes that fit."""

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.specification import Problem


def alphabet(value: str) -> str:
    """A name of an alphabet, or `-` and capitals that differ. Raises ValueError for another text."""
    names = ("protein", "rna", "dna")
    if value in names:
        return value
    if (
        "-" in value
        and len(value) > 2
        and len(set(value)) == len(value)
        and all(c.isupper() or c == "-" for c in value)
    ):
        return value
    raise ValueError(f"{value!r}: allowed: {', '.join(names)}, or a text of '-' for the gap and capitals that differ")


def alignment(data) -> Iterable[Problem]:
    """An alignment that cannot be read, or that its filters leave empty."""
    path = user_file(data.project, data.model["alignment"])
    try:
        _sizes(data)
    except OSError as error:
        yield ("model", "alignment"), f"{path}: cannot be read: {error.strerror}"
    except ValueError as error:
        yield ("model", "alignment"), str(error)


def alignment_counts(data) -> dict[str, int]:
    """Number of training and test sequences of an alignment; empty when it cannot be read, which `alignment` reports."""
    from attention_limits.potts_mlm.proteins.alignment import held_out

    try:
        count = _sizes(data)[0]
    except (OSError, ValueError):
        return {}
    test = held_out(count, data.solver.test_fraction)
    return {"training": count - test, "test": test}


def distances(estimator) -> Iterable[Problem]:
    """A file of distances that cannot be read, numbers columns that the alignment lacks, or is in another unit than `contact`."""
    if "distances" not in estimator.model:
        return
    from attention_limits.potts_mlm.potts.contacts import read_distances

    path = user_file(estimator.project, estimator.model["distances"])
    try:
        found = read_distances(path, _sizes(estimator.reads)[2])
        # A summary of distances alone counts no contacts.
        yield from _unit(path, found, estimator.model["contact"]) if "contact" in estimator.model else ()
    except OSError as error:
        # Another check reports an alignment that cannot be read.
        if error.filename == str(path):
            yield ("model", "distances"), f"{path}: cannot be read: {error.strerror}"
    except ValueError as error:
        if str(error).startswith(f"{path}:"):
            yield ("model", "distances"), str(error)


def _unit(path, found, contact) -> Iterable[Problem]:
    """Where all pairs are contacts, or none is, every score has the precision 1 or 0."""
    low, high = np.nanmin(found), np.nanmax(found)
    if low < high and not low < contact <= high:
        which = "none of its pairs is a contact" if contact <= low else "all of its pairs are contacts"
        text = f"{contact:g}: {which}: {path} has distances from {low:g} to {high:g}; both are in one unit, usually ångström"
        yield ("model", "contact"), text


def distance_files(estimator) -> list[Path]:
    """The file of distances, if there is one."""
    return [user_file(estimator.project, estimator.model["distances"])] if "distances" in estimator.model else []


def alignment_ridge(estimator) -> Iterable[Problem]:
    """Masked sites beyond the kept columns, and more training sequences than the alignment has.

    The weights of the sequences may allow fewer; only the job computes them.
    """
    try:
        sequences, sites, _ = _sizes(estimator.reads)
    except (OSError, ValueError):
        return
    for key, most, what in (("masked", sites, "columns"), ("samples", sequences, "sequences")):
        asked = max(estimator.grid[key])
        if asked > most:
            yield ("grid", key), f"{asked:g}: allowed: ≤ {most}, the kept {what} of data.{estimator.reads.name}"


def _sizes(data) -> tuple[int, int, int]:
    """Kept sequences, kept columns and match columns of an alignment. Raises OSError or ValueError when it cannot be read."""
    path = user_file(data.project, data.model["alignment"])
    status = path.stat()
    # The fraction decides how the kept sequences are split, not which are kept.
    rules = data.solver.model_copy(update={"test_fraction": 0.0})
    return _read(path, data.model["alphabet"], rules, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _read(path: Path, alphabet: str, rules, *stamp: int) -> tuple[int, int, int]:
    # The check of every scale and every learner calls this; the stamp (time and size) reveals an edited file.
    from attention_limits.potts_mlm.proteins.alignment import Alphabet, read_alignment

    found = read_alignment(path, Alphabet(alphabet), rules)
    return *found.states.shape, found.columns_read
