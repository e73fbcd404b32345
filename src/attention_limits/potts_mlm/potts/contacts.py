"""Contacts of a protein from couplings: gauge, symmetric model, Frobenius norms, average product correction, precision.

The scores are those of plmDCA (Ekeberg et al. 2013, Phys. Rev. E 87, 012707).
"""

from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.user_files import lines_of, number, read_text, user_file

# Largest number of sites of a Potts model.
MAX_SITES = 1000


def zero_sum(fields, couplings) -> tuple[np.ndarray, np.ndarray]:
    """The same conditionals with sum_a J_ij(a, b) = sum_b J_ij(a, b) = 0 and sum_a h_i(a) = 0.

    Adding g(a) to J_ij(a, b) and subtracting it from h_i(a) changes nothing. Adding any f(b) to J_ij(a, b) changes
    nothing either.

    Parameters
    ----------
    fields : array (L, C)
    couplings : array (L, L, C, C)
        J_ij(a, b) at [i, j, b, a].

    Returns
    -------
    fields (L, C), couplings (L, L, C, C)
    """
    of_own = couplings.mean(axis=2, keepdims=True)
    centred = couplings - of_own - couplings.mean(axis=3, keepdims=True) + couplings.mean(axis=(2, 3), keepdims=True)
    moved = fields + of_own[:, :, 0].sum(axis=1)
    return moved - moved.mean(axis=1, keepdims=True), centred


def joint_model(fields, couplings) -> tuple[np.ndarray, np.ndarray]:
    """One Potts model from the conditionals of all sites: zero-sum gauge, then (J_ij(a, b) + J_ji(b, a)) / 2.

    `fields` (L, C) and `couplings` (L, L, C, C) are as in `zero_sum`; so are the two arrays that are returned.
    """
    fields, couplings = zero_sum(fields, couplings)
    return fields, 0.5 * (couplings + couplings.transpose(1, 0, 3, 2))


def contact_scores(couplings, gap: int | None) -> np.ndarray:
    """F_ij - F_i F_j / F of the Frobenius norms F_ij of J_ij in the zero-sum gauge: array (L, L), zero diagonal.

    F_i and F are means over pairs i != j: the average product correction (Dunn, Wahl, Gloor 2008, Bioinformatics 24, 333). As
    usual, the norm omits the colour `gap` (Ekeberg et al. 2013); with None it includes all colours. `couplings` (L, L, C, C) is
    that of `joint_model`. L is at least 3.
    """
    letters = np.arange(couplings.shape[2]) != (-1 if gap is None else gap)
    norms = np.sqrt(np.sum(couplings[:, :, letters][..., letters] ** 2, axis=(2, 3)))
    return corrected(norms)


def corrected(norms) -> np.ndarray:
    """S_ij - S_i S_j / S of a symmetric matrix S = `norms` (L, L), means over pairs i != j: the average product correction."""
    sites = len(norms)
    norms = np.array(norms, dtype=float)
    np.fill_diagonal(norms, 0.0)
    mean = norms.sum(axis=1) / (sites - 1)
    total = norms.sum() / (sites * (sites - 1))
    found = norms - np.outer(mean, mean) / total if total > 0.0 else norms
    np.fill_diagonal(found, 0.0)
    return found


def precision(scores, distances, columns, *, contact: float, separation: int, ranks: int) -> np.ndarray:
    """Fraction of contacts among the 1, 2, ..., `ranks` pairs of highest score: array (ranks,), NaN beyond the number of pairs.

    Parameters
    ----------
    scores, distances : arrays (L, L)
        Symmetric; a missing distance is NaN, and its pair is left out.
    columns : array (L,)
        Numbers of the sites along the chain.
    contact : float
        Pairs that are nearer, in the unit of the distances, are contacts.
    separation : int
        Pairs i < j with columns[j] - columns[i] below it are left out.
    ranks : int
    """
    i, j = np.triu_indices(len(scores), 1)
    counted = (columns[j] - columns[i] >= separation) & np.isfinite(distances[i, j])
    i, j = i[counted], j[counted]
    order = np.argsort(-scores[i, j], kind="stable")[:ranks]
    found = np.full(ranks, np.nan)
    found[: len(order)] = np.cumsum(distances[i, j][order] < contact) / np.arange(1, len(order) + 1)
    return found


def read_distances(path: Path, columns: int) -> np.ndarray:
    """The distances in the file `path`, lines `i j distance` with 1 <= i < j <= `columns`: array (columns, columns), NaN where
    unknown.

    Empty lines and lines that begin with # do not count. Raises ValueError, with file and line, for any other line, for a pair
    that stands twice, and for an empty file; and as `user_files.read_text`.
    """
    distances = np.full((columns, columns), np.nan)
    for row, line in enumerate(lines_of(read_text(path)), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            i, j, distance = map(number, words)
            if i % 1 or j % 1 or not 0.0 <= distance < np.inf:
                raise ValueError
        except ValueError:
            raise ValueError(
                f"{path}: line {row}: {line.strip()!r}: expected: i j distance, distance at least 0"
            ) from None
        i, j = int(i), int(j)
        if not 1 <= i < j <= columns:
            raise ValueError(
                f"{path}: line {row}: columns {i} and {j}: expected: 1 ≤ i < j ≤ {columns}, the match columns of the alignment"
            )
        if np.isfinite(distances[i - 1, j - 1]):
            raise ValueError(f"{path}: line {row}: columns {i} and {j} occur twice")
        distances[i - 1, j - 1] = distances[j - 1, i - 1] = distance
    if not np.isfinite(distances).any():
        raise ValueError(f"{path}: holds no distance; expected: lines i j distance")
    return distances


def contact_map(path: Path, sites: int, contact: float) -> np.ndarray:
    """1 for pairs of the first `sites` sites whose distance in the file `path` is below `contact`, else 0: array (sites, sites).

    The file is that of `read_distances`. Raises ValueError, with the file, when it lacks the distance of a pair.
    """
    distances = read_distances(path, MAX_SITES)[:sites, :sites]
    missing = np.argwhere(np.triu(~np.isfinite(distances), 1))
    if len(missing):
        i, j = missing[0] + 1
        raise ValueError(f"{path}: no distance of the sites {i} and {j}; the model has {sites} sites")
    return (np.nan_to_num(distances, nan=np.inf) < contact).astype(float)


def kept_distances(spec, data) -> np.ndarray:
    """Distances of the kept columns of an alignment `data`, array (L, L); NaN where the model of `spec` names no file."""
    columns = data.column.values.astype(int) - 1
    if "distances" not in spec["model"]:
        return np.full((len(columns), len(columns)), np.nan)
    return read_distances(user_file(spec["project"], spec["model"]["distances"]), int(data.columns_read))[
        np.ix_(columns, columns)
    ]


def found_precision(spec, data, scores) -> np.ndarray:
    """`precision` of scores (L, L) of the kept columns of an alignment `data`, by the model and the solver of `spec`."""
    model, ranks = spec["model"], spec["solver"].ranks
    distances = kept_distances(spec, data)
    return precision(
        scores, distances, data.column.values, contact=model["contact"], separation=model["separation"], ranks=ranks
    )
