"""Multiple-sequence alignments as colours of sites: alphabets, gaps, filters, and the split into training and test sequences."""

import string
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from attention_limits.potts_mlm.proteins.formats import read_letters

ALPHABETS = {"protein": "-ACDEFGHIKLMNPQRSTVWY", "rna": "-ACGU", "dna": "-ACGT"}
# Letters that an alphabet reads as another one.
SAME = {"rna": {"T": "U"}, "dna": {"U": "T"}}
GAP = "-"
# Letters that may stand outside of an alphabet, and the stop.
_LETTERS = string.ascii_uppercase + "*"


@dataclass(frozen=True)
class Alphabet:
    """The letters of an alignment.

    Attributes
    ----------
    name : str
        Letters in the order of the colours, `-` among them, or a name of ALPHABETS.
    """

    name: str

    @property
    def letters(self) -> str:
        """The letters, in the order of the colours."""
        return ALPHABETS.get(self.name, self.name)

    @property
    def gap(self) -> int:
        """The colour of a gap."""
        return self.letters.index(GAP)


class Rules(Protocol):
    """The settings that the reader of an alignment reads; the section `schema.proteins.Alignment.Solver` has them.

    Attributes
    ----------
    format : str
        As in `formats.read_letters`.
    lower_case, repeated_names : str
        As in `formats.read_letters`.
    other_letters : str
        "gap" or "drop": a letter outside of the alphabet counts as a gap, or its sequence is dropped.
    max_column_gaps, max_sequence_gaps : float
        Largest fraction of gaps of a column over all sequences, then of a sequence over the columns that are left.
    """

    format: str
    lower_case: str
    repeated_names: str
    other_letters: str
    max_column_gaps: float
    max_sequence_gaps: float


@dataclass(frozen=True)
class Alignment:
    """Aligned sequences that passed the filters, and the number of all that did not.

    Attributes
    ----------
    names : tuple of str
    states : int8 array (n, L)
        Positions of the letters in the alphabet.
    columns : array (L,)
        Numbers of the kept columns among the match columns of the file, from 1.
    columns_read, sequences_read : int
        Match columns and sequences of the file.
    sequences_dropped_letters, sequences_dropped_gaps : int
        Sequences with other letters, and with too many gaps.
    other_letters, insertions : int
        Letters outside of the alphabet in the match columns of the file, and letters outside of all match columns.
    """

    names: tuple[str, ...]
    states: np.ndarray
    columns: np.ndarray
    columns_read: int
    sequences_read: int
    sequences_dropped_letters: int
    sequences_dropped_gaps: int
    other_letters: int
    insertions: int


def read_alignment(path: Path, alphabet: Alphabet, rules: Rules) -> Alignment:
    """Read the file `path` in an `alphabet` by the `rules`.

    RNA reads T as U, DNA reads U as T. `rules.other_letters` decides on every other letter outside of the alphabet (X, B,
    Z, J, O, U, * in proteins).

    Raises ValueError as `formats.read_letters`; for a character that is not a letter A to Z, `*`, `-` or `.`, with line and
    column; and when fewer than two columns or two sequences pass the filters.
    """
    found = read_letters(path, rules.format, rules.lower_case, rules.repeated_names)
    letters, gap = alphabet.letters, alphabet.gap
    # Beyond the colours: a letter outside of the alphabet, and a character that is no letter.
    unknown, wrong = len(letters), -1
    code = dict.fromkeys(_LETTERS, unknown) | {letter: index for index, letter in enumerate(letters)}
    code |= {letter: code[same] for letter, same in SAME.get(alphabet.name, {}).items()}
    table = np.full(max(int(found.codes.max()), *map(ord, code)) + 1, wrong, dtype=np.int8)
    table[[ord(letter) for letter in code]] = list(code.values())
    states = table[found.codes]
    if np.any(states == wrong):
        row, column = np.argwhere(states == wrong)[0]
        raise ValueError(
            f"{path}: {found.place(row, column)}: {chr(found.codes[row, column])!r} is no letter; allowed: the letters A to Z, "
            "'*', '-', '.'"
        )
    is_other = states == unknown
    _refuse_other_alphabet(path, alphabet, found.codes[is_other], found.codes[states != gap])
    dropped = is_other.any(axis=1) & (rules.other_letters == "drop")
    gaps = (is_other | (states == gap))[~dropped]
    column = np.flatnonzero(gaps.sum(axis=0) <= rules.max_column_gaps * len(gaps))
    if len(column) < 2:
        raise ValueError(
            f"{path}: {len(column)} of {gaps.shape[1]} columns have at most {rules.max_column_gaps:g} gaps "
            "(solver.max_column_gaps); at least 2 are needed"
        )
    sparse = gaps[:, column].mean(axis=1) > rules.max_sequence_gaps
    kept = np.flatnonzero(~dropped)[~sparse]
    if len(kept) < 2:
        raise ValueError(
            f"{path}: {len(kept)} of {len(found.names)} sequences are left; {int(dropped.sum())} have other letters, "
            f"{int(sparse.sum())} more than {rules.max_sequence_gaps:g} gaps (solver.max_sequence_gaps); at least 2 are needed"
        )
    states[is_other] = gap
    return Alignment(
        names=tuple(found.names[k] for k in kept),
        states=np.ascontiguousarray(states[np.ix_(kept, column)]),
        columns=column + 1,
        columns_read=gaps.shape[1],
        sequences_read=len(found.names),
        sequences_dropped_letters=int(dropped.sum()),
        sequences_dropped_gaps=int(sparse.sum()),
        other_letters=int(is_other.sum()),
        insertions=found.insertions,
    )


def _refuse_other_alphabet(path, alphabet, others, letters):
    """A protein that is read as DNA would lose most of its letters in silence; X and N are unknown letters of all alphabets."""
    count = int(np.sum(~np.isin(others, [ord(letter) for letter in "XN*"])))
    if 2 * count > len(letters):
        raise ValueError(
            f"{path}: {count} of {len(letters)} letters are outside of the alphabet {alphabet.name} ({alphabet.letters}); set "
            "model.alphabet"
        )


def held_out(count: int, fraction: float) -> int:
    """Number of test sequences among `count` >= 2: the `fraction` of them, but at least one on either side."""
    return min(max(1, round(fraction * count)), count - 1)
