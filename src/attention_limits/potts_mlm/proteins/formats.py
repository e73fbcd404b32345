"""Files of aligned sequences: FASTA, A2M, A3M and Stockholm; the reader keeps the line number of every letter.

We do not use Biopython: its errors name no line, it refuses sequences of unequal length, as in A3M, and it hides the columns that
only some formats mark as insertions.
"""

from dataclasses import dataclass, field
from pathlib import Path

_STOCKHOLM = "# STOCKHOLM"
# Characters of the Stockholm line `#=GC RF` that mark a column as an insertion.
_NO_REFERENCE = "-.~ "


@dataclass
class Row:
    """One sequence of a file.

    Attributes
    ----------
    name : str
    line : int
        Of the name, from 1.
    letters : list of str
    lines, columns : lists of int
        Places of the letters, from 1.
    insertions : int
        Letters that were dropped as insertions.
    """

    name: str
    line: int
    letters: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    insertions: int = 0

    def extend(self, text: str, line: int, column: int) -> None:
        """Append the letters of `text`, which begins at a line and column of the file."""
        self.letters += text
        self.lines += [line] * len(text)
        self.columns += range(column, column + len(text))


def read_rows(path: Path, form: str = "auto") -> list[Row]:
    """The match columns of the sequences in the file `path`, insertions left out.

    A match column has a capital or a `-` in some row. In a match column, a lower-case letter counts as a capital and `.` as a
    gap; in the other columns, lower-case letters and `.` are insertions. If a Stockholm file has a line `#=GC RF`, it marks the
    match columns. In A3M, or where the rows differ in length, all lower-case letters and `.` of a row are insertions instead.
    A file without capitals is read as if all its letters were capitals.

    Parameters
    ----------
    path : Path
    form : "auto", "fasta" (A2M with dots too), "a3m" or "stockholm"
        auto: Stockholm by the first line, A3M by the suffix .a3m or where the rows differ in length, else fasta.

    Returns
    -------
    list of Row, all of one length, letters in capitals, `.` as `-`

    Raises
    ------
    ValueError
        With file and line: text of another format, two sequences with one name, an empty sequence, lengths that differ; with the
        file: fewer than two sequences, fewer than two match columns, and a file that gives other rows as fasta than as a3m.
    """
    try:
        text = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    stockholm = form == "stockholm" or (form == "auto" and bool(text) and text[0].startswith(_STOCKHOLM))
    rows, reference = _stockholm(path, text) if stockholm else (_fasta(path, text), None)
    if len(rows) < 2:
        raise ValueError(f"{path}: {len(rows)} sequences; at least 2 are needed")
    first: dict[str, Row] = {}
    for row in rows:
        earlier = first.setdefault(row.name, row)
        if earlier is not row:
            raise ValueError(
                f"{path}: line {row.line}: the name {row.name!r} is that of line {earlier.line} too; names must differ"
            )
        if not row.letters:
            raise ValueError(f"{path}: line {row.line}: the sequence {row.name!r} has no letters")
    if not any(letter.isupper() for row in rows for letter in row.letters):
        for row in rows:
            row.letters = [letter.upper() for letter in row.letters]
    own = form == "a3m" or (form == "auto" and not stockholm and Path(path).suffix == ".a3m")
    equal = len({len(row.letters) for row in rows}) == 1
    if not (own or equal) and (form != "auto" or stockholm):
        _same_length(path, rows)
    kept = _row_by_row(rows) if own or not equal else _by_columns(path, rows, reference)
    _same_length(path, kept)
    if form == "auto" and not own and not stockholm and equal:
        other = _row_by_row(rows)
        if len({len(row.letters) for row in other}) == 1 and [r.letters for r in other] != [r.letters for r in kept]:
            raise ValueError(f"{path}: its lower-case letters and dots are ambiguous; set solver.format: fasta or a3m")
    if len(kept[0].letters) < 2:
        raise ValueError(
            f"{path}: {len(kept[0].letters)} match columns, with a capital or a '-'; at least 2 are needed"
        )
    return kept


def _fasta(path, text):
    rows: list[Row] = []
    for number, line in enumerate(text, 1):
        if line.startswith(">"):
            rows.append(Row(line[1:].strip(), number))
        elif line.strip() and not rows:
            raise ValueError(
                f"{path}: line {number}: a header, which begins with >, must stand before the first sequence"
            )
        elif line.strip():
            rows[-1].extend(line.rstrip(), number, 1)
    return rows


def _stockholm(path, text):
    rows: dict[str, Row] = {}
    reference, ended = "", False
    if not text or not text[0].startswith(_STOCKHOLM):
        raise ValueError(f"{path}: line 1: must begin with {_STOCKHOLM!r} in Stockholm format")
    # A second block gives a sequence its next letters; two lines of one name in one block are two sequences.
    block: set[str] = set()
    for number, line in enumerate(text[1:], 2):
        words = line.split()
        if line.startswith("//"):
            ended = True
            break
        if not words:
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
            rows.setdefault(name, Row(name, number)).extend(letters, number, line.rindex(letters) + 1)
    if not ended:
        raise ValueError(f"{path}: line {len(text)}: the file ends without the line //")
    return list(rows.values()), reference or None


def _row_by_row(rows):
    return [
        _part(row, [k for k, letter in enumerate(row.letters) if not (letter.islower() or letter == ".")])
        for row in rows
    ]


def _by_columns(path, rows, reference):
    length = len(rows[0].letters)
    if reference is not None and len(reference) != length:
        raise ValueError(f"{path}: the line #=GC RF has {len(reference)} characters, the sequences have {length}")
    if reference is not None:
        match = [k for k in range(length) if reference[k] not in _NO_REFERENCE]
    else:
        match = [
            k for k in range(length) if any(not (row.letters[k].islower() or row.letters[k] == ".") for row in rows)
        ]
    return [_part(row, match) for row in rows]


def _part(row, kept):
    """The letters of a row at the places `kept`, in capitals."""
    letters = ["-" if row.letters[k] == "." else row.letters[k].upper() for k in kept]
    dropped = sum(letter.isalpha() for letter in row.letters) - sum(row.letters[k].isalpha() for k in kept)
    return Row(row.name, row.line, letters, [row.lines[k] for k in kept], [row.columns[k] for k in kept], dropped)


def _same_length(path, rows):
    for row in rows:
        if len(row.letters) != len(rows[0].letters):
            raise ValueError(
                f"{path}: line {row.line}: the sequence {row.name!r} has {len(row.letters)} letters, the first one "
                f"{len(rows[0].letters)}; all must have the same length, without the insertions of A3M"
            )
