"""Multiple-sequence alignments in FASTA format."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Alignment:
    """Aligned sequences.

    Attributes
    ----------
    names : tuple of str
    states : int8 array (n, L)
        Positions of the letters in the alphabet.
    """

    names: tuple[str, ...]
    states: np.ndarray


def read_alignment(path: Path, alphabet: str) -> Alignment:
    """Read an alignment with the letters of `alphabet`, gap included, from the file `path`; a sequence may span lines.

    Raises ValueError, with the file and the line (and the column of a letter), for text before the first header, a letter outside
    of the alphabet, an empty sequence, and a sequence of another length than the first. Raises ValueError too for fewer than two
    sequences, and for sequences of one letter.
    """
    code = {letter: index for index, letter in enumerate(alphabet)}
    names, lines, rows = [], [], []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        text = line.rstrip()
        if text.startswith(">"):
            names.append(text[1:].strip())
            lines.append(number)
            rows.append([])
        elif text and not rows:
            raise ValueError(
                f"{path}: line {number}: a header, which begins with >, must stand before the first sequence"
            )
        elif text:
            unknown = next((column for column, letter in enumerate(text) if letter not in code), None)
            if unknown is not None:
                raise ValueError(
                    f"{path}: line {number}, column {unknown + 1}: unknown letter {text[unknown]!r}; allowed: {alphabet}"
                )
            rows[-1] += [code[letter] for letter in text]
    if len(rows) < 2:
        raise ValueError(f"{path}: {len(rows)} sequences; at least 2 are needed")
    for name, number, row in zip(names, lines, rows, strict=True):
        if not row or len(row) != len(rows[0]):
            raise ValueError(
                f"{path}: line {number}: the sequence {name!r} has {len(row)} letters, the first one {len(rows[0])}; "
                "all must have the same length"
            )
    if len(rows[0]) < 2:
        raise ValueError(f"{path}: sequences of length {len(rows[0])}; at least 2 letters are needed")
    return Alignment(tuple(names), np.array(rows, dtype=np.int8))


def held_out(count: int, fraction: float) -> int:
    """Number of test sequences among `count` >= 2: the `fraction` of them, but at least one on either side."""
    return min(max(1, round(fraction * count)), count - 1)
