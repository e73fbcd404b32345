"""Files of aligned sequences: FASTA, A2M, A3M and Stockholm; an error names line and column of a letter.

We do not use Biopython: its errors name no line, it refuses sequences of unequal length, as in A3M, and it hides the columns that
only some formats mark as insertions.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.user_files import lines_of, read_text

_STOCKHOLM = "# STOCKHOLM"
# Characters of the Stockholm line `#=GC RF` that mark a column as an insertion.
_NO_REFERENCE = "-.~ "
# Rows of A3M that annotate the first sequence: secondary structure, its confidence, and accessibility (HH-suite).
_ANNOTATION = re.compile(r"(ss_dssp|ss_pred|ss_conf|sa_dssp|sa_pred|aa_dssp|aa_pred)\b")
# First words of formats that are not read.
_OTHERS = {
    "CLUSTAL": "Clustal", "MUSCLE": "Clustal", "PROBCONS": "Clustal", "#NEXUS": "NEXUS", "!!AA_MULTIPLE_ALIGNMENT": "MSF",
    "!!NA_MULTIPLE_ALIGNMENT": "MSF", "PileUp": "MSF", ">P1;": "PIR", ">F1;": "PIR", ">DL;": "PIR", ">RL;": "PIR",
    "<!DOCTYPE": "HTML", "<html": "HTML", "##maf": "MAF", "LOCUS": "GenBank", "ID   ": "EMBL", "#MEGA": "MEGA", "@": "FASTQ",
    "HEADER ": "PDB", "ATOM  ": "PDB", "data_": "mmCIF", "{\\rtf": "RTF", "{": "JSON",
}  # fmt: skip
_GAP, _DOT, _STOP = ord("-"), ord("."), ord("*")
_CASE = ord("a") - ord("A")


@dataclass
class Row:
    """One sequence of a file, as it stands there.

    Attributes
    ----------
    name : str
    line : int
        Of the name, from 1.
    pieces : list of (line, column, text)
        The letters, with the place of the first letter of each piece, from 1.
    """

    name: str
    line: int
    pieces: list[tuple[int, int, str]] = field(default_factory=list)

    def codes(self) -> np.ndarray:
        """Numbers of the letters (Unicode), one after the other."""
        text = "".join(text for _, _, text in self.pieces)
        return np.frombuffer(text.encode("utf-32-le"), "<u4")

    def place(self, number: int) -> str:
        """Line and column of a letter, by its number from 0. Raises IndexError beyond the last one."""
        for line, column, text in self.pieces:
            if number < len(text):
                return f"line {line}, column {column + number}"
            number -= len(text)
        raise IndexError(number)


@dataclass(frozen=True)
class Letters:
    """The match columns of all sequences.

    Attributes
    ----------
    names : tuple of str
    codes : uint32 array (n, L)
        Numbers of the letters (Unicode): capitals, `.` as `-`.
    place : callable
        Line and column in the file of the letter of a sequence and a match column, by their numbers from 0.
    insertions : int
        Letters outside of the match columns.
    """

    names: tuple[str, ...]
    codes: np.ndarray
    place: Callable[[int, int], str]
    insertions: int


def read_letters(path: Path, form: str = "auto", lower_case: str = "auto", repeated_names: str = "keep") -> Letters:
    """The match columns of the sequences in the file `path`, insertions left out.

    A match column has a capital or a `-` in some row. In a match column, a lower-case letter counts as a capital and `.` as a
    gap; in the other columns, lower-case letters and `.` are insertions. If a Stockholm file has a line `#=GC RF`, it marks the
    match columns. In A3M, or where the rows differ in length, all lower-case letters and `.` of a row are insertions instead.
    A file without capitals is read as if all its letters were capitals. Rows that annotate the first sequence (`ss_pred`,
    `ss_dssp`, ...), comments (lines that begin with # or ;), and stops `*` at the end of the sequences are left out.

    Parameters
    ----------
    path : Path
        As in `user_files.read_text`; a text that is not UTF-8 counts as Latin-1.
    form : "auto", "fasta" (A2M with dots too), "a3m" or "stockholm"
        auto: Stockholm by the first line, A3M by the suffix .a3m or where the rows differ in length, else fasta.
    lower_case : "auto", "insertion" or "letter"
        letter: a lower-case letter is a masked one, and counts as a capital. auto: as an insertion, unless the file does not
        show which of both it is.
    repeated_names : "keep", "keep_first" or "refuse"
        What happens to the sequences of one name, as search results have them: all count, the first one counts, or an error.

    Raises
    ------
    ValueError
        With file and line: text of another format, a second alignment, an empty sequence, lengths that differ, a character
        that is no letter in a row of another length, a repeated name. With the file: fewer than two sequences, fewer than two
        match columns, and a file that can be read in two ways; and as `read_text`.
    """
    path = Path(path)
    text = _without_last_nul(lines_of(read_text(path, otherwise="latin-1")))
    start = next((number for number, line in enumerate(text) if line.strip()), 0)
    _refuse_other_formats(path, text, start)
    stockholm = form == "stockholm" or (form == "auto" and bool(text) and text[start].startswith(_STOCKHOLM))
    rows, reference = _stockholm(path, text, start) if stockholm else (_fasta(path, text), None)
    if repeated_names == "refuse":
        _refuse_repeated_names(path, rows)
    if repeated_names == "keep_first":
        first: dict[str, Row] = {}
        for row in rows:
            first.setdefault(row.name, row)
        rows = list(first.values())
    if len(rows) < 2:
        raise ValueError(f"{path}: {len(rows)} sequences; at least 2 are needed")
    codes = [row.codes() for row in rows]
    for row, own in zip(rows, codes, strict=True):
        if not len(own):
            raise ValueError(f"{path}: line {row.line}: the sequence {row.name!r} has no letters")
    if lower_case == "letter" or not any(np.any(_is_capital(own)) for own in codes):
        codes = [np.where(_is_lower(own), own - _CASE, own) for own in codes]
    if reference is None:
        codes = _without_final_stops(codes)
    by_rows = form == "a3m" or (form == "auto" and not stockholm and ".a3m" in path.suffixes)
    equal = len({len(own) for own in codes}) == 1
    if not (by_rows or equal) and (form != "auto" or stockholm):
        _same_length(path, rows, codes)
    by_rows |= not equal
    if by_rows:
        kept = [np.flatnonzero(~_is_insertion(own)) for own in codes]
    else:
        kept = [_match_columns(path, np.stack(codes), reference)] * len(rows)
        if form == "auto" and not stockholm:
            _refuse_two_readings(path, codes, kept[0], lower_case)
    found = [own[columns] for own, columns in zip(codes, kept, strict=True)]
    _same_length(path, rows, found)
    insertions = sum(
        int(np.sum(_is_letter(own)) - np.sum(_is_letter(match))) for own, match in zip(codes, found, strict=True)
    )
    letters = np.stack(found)
    letters[letters == _DOT] = _GAP
    letters[_is_lower(letters)] -= _CASE
    if letters.shape[1] < 2:
        raise ValueError(f"{path}: {letters.shape[1]} match columns, with a capital or a '-'; at least 2 are needed")
    return Letters(
        tuple(row.name for row in rows),
        letters,
        lambda row, column: rows[row].place(int(kept[row][column])),
        insertions,
    )


def _is_lower(codes):
    return (codes >= ord("a")) & (codes <= ord("z"))


def _is_capital(codes):
    return (codes >= ord("A")) & (codes <= ord("Z"))


def _is_letter(codes):
    return _is_lower(codes) | _is_capital(codes)


def _is_insertion(codes):
    return _is_lower(codes) | (codes == _DOT)


def _without_final_stops(codes):
    """Translated genes end with a stop `*`, which is no site: in all rows, or in some beside rows without it or with a gap."""
    stops, length = [own[-1] == _STOP for own in codes], max(map(len, codes))
    ends = [stop or (len(own) == length and own[-1] in (_GAP, _DOT)) for stop, own in zip(stops, codes, strict=True)]
    if any(stops) and all(ends):
        return [own[:-1] for own in codes]
    shortened = [own[:-1] if stop else own for stop, own in zip(stops, codes, strict=True)]
    return shortened if len({len(own) for own in shortened}) == 1 else codes


def _without_last_nul(lines):
    """Some databases end each alignment with a NUL."""
    return [*lines[:-1], lines[-1].rstrip("\0")] if lines else lines


def _refuse_other_formats(path, text, start):
    for number, line in enumerate(text, 1):
        if re.match("\0+[>#][^\0]*$", line):
            raise ValueError(
                f"{path}: line {number}: a NUL byte, after which another alignment begins; keep one alignment in a file"
            )
        if "\0" in line:
            raise ValueError(
                f"{path}: line {number}: a NUL byte, so this is no text; allowed: UTF-8, UTF-16 with a byte order mark, Latin-1"
            )
    first = text[start] if text else ""
    # The header of a FASTA file may begin as that of PIR in small letters.
    found = [
        name
        for word, name in _OTHERS.items()
        if first.startswith(word) or (word[0] != ">" and first.upper().startswith(word.upper()))
    ]
    if re.fullmatch(r"\s*\d+\s+\d+\s*", first):
        found.append("PHYLIP")
    if found:
        raise ValueError(f"{path}: line {start + 1}: {found[0]} text; allowed: FASTA, A2M, A3M or Stockholm")


def _fasta(path, text):
    rows: list[Row] = []
    for number, line in enumerate(text, 1):
        if line.startswith(">"):
            rows.append(Row(line[1:].strip(), number))
        elif line.startswith(("#", ";")) or not line.strip():
            continue
        elif not rows:
            raise ValueError(
                f"{path}: line {number}: a header, which begins with >, must stand before the first sequence; the first line of "
                f"a Stockholm file begins with {_STOCKHOLM!r}"
            )
        else:
            rows[-1].pieces.append((number, 1, line.rstrip()))
    return [row for row in rows if not _ANNOTATION.match(row.name)]


def _stockholm(path, text, start):
    rows: dict[str, Row] = {}
    reference = ""
    if not text or not text[start].startswith(_STOCKHOLM):
        raise ValueError(f"{path}: line {start + 1}: must begin with {_STOCKHOLM!r} in Stockholm format")
    # A second block gives a sequence its next letters; two lines of one name in one block are two sequences.
    block: set[str] = set()
    end = None
    for number, line in enumerate(text[start + 1 :], start + 2):
        words = line.split()
        if end is not None:
            if words:
                raise ValueError(
                    f"{path}: line {number}: more than one alignment, the first one ends in line {end}; keep one in a file"
                )
        elif line.startswith("//"):
            end = number
        elif not words:
            block = set()
        elif line.startswith("#=GC RF "):
            reference += words[-1]
        elif not line.startswith("#"):
            if len(words) != 2:
                raise ValueError(f"{path}: line {number}: a name and a sequence are expected, found {len(words)} words")
            name, letters = words
            if name in block:
                raise ValueError(
                    f"{path}: line {number}: the name {name!r} stands twice in one block; names must differ"
                )
            block.add(name)
            rows.setdefault(name, Row(name, number)).pieces.append((number, line.rindex(letters) + 1, letters))
    if end is None:
        raise ValueError(f"{path}: line {len(text)}: the file ends without the line //")
    return list(rows.values()), reference or None


def _match_columns(path, codes, reference):
    """Numbers of the match columns of rows of one length, `codes` (n, length)."""
    length = codes.shape[1]
    if reference is None:
        return np.flatnonzero(~np.all(_is_insertion(codes), axis=0))
    if len(reference) != length:
        raise ValueError(f"{path}: the line #=GC RF has {len(reference)} characters, the sequences have {length}")
    return np.array([k for k in range(length) if reference[k] not in _NO_REFERENCE], dtype=int)


def _refuse_two_readings(path, codes, columns, lower_case):
    """Rows of one length that other readings of their lower-case letters and dots give other match columns."""
    by_rows = [own[~_is_insertion(own)] for own in codes]
    if len({len(own) for own in by_rows}) == 1:
        match = [own[columns] for own in codes]
        same = all(np.array_equal(_capitals(a), _capitals(b)) for a, b in zip(by_rows, match, strict=True))
        if not same:
            raise ValueError(f"{path}: its lower-case letters and dots are ambiguous; set solver.format: fasta or a3m")
    if lower_case == "auto" and len(columns) < len(codes[0]) and not any(np.any(own == _DOT) for own in codes):
        dropped = np.setdiff1d(np.arange(len(codes[0])), columns) + 1
        raise ValueError(
            f"{path}: {len(dropped)} columns, the first one {dropped[0]}, have lower-case letters alone: insertions, or masked "
            "letters; set solver.lower_case: insertion or letter"
        )


def _capitals(codes):
    codes = np.where(codes == _DOT, _GAP, codes)
    return np.where(_is_lower(codes), codes - _CASE, codes)


def _refuse_repeated_names(path, rows):
    first: dict[str, Row] = {}
    for row in rows:
        earlier = first.setdefault(row.name, row)
        if earlier is not row:
            raise ValueError(
                f"{path}: line {row.line}: the name {row.name!r} is that of line {earlier.line} too "
                "(solver.repeated_names: refuse)"
            )


def _same_length(path, rows, codes):
    if len({len(own) for own in codes}) > 1:
        _refuse_characters(path, rows)
    for row, own in zip(rows, codes, strict=True):
        if len(own) != len(codes[0]):
            raise ValueError(
                f"{path}: line {row.line}: the sequence {row.name!r} has {len(own)} letters, the first one "
                f"{len(codes[0])}; all must have the same length, without the insertions of A3M"
            )


def _refuse_characters(path, rows):
    """Refuse a space, a `>` and characters outside of ASCII, which change the length of a row and can be invisible."""
    for row in rows:
        own = row.codes()
        wrong = np.flatnonzero((own <= ord(" ")) | (own > ord("~")) | (own == ord(">")))
        if len(wrong):
            raise ValueError(
                f"{path}: {row.place(wrong[0])}: {chr(own[wrong[0]])!r} is no letter in the sequence {row.name!r}"
            )
