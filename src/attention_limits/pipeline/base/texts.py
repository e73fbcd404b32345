"""Text files of a user: one opener for all of them, whatever program wrote the file."""

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from pathlib import Path

# First bytes of compressed files that we read, and of others.
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", gzip.decompress),
    b"BZh": ("bzip2", bz2.decompress),
    b"\xfd7zXZ": ("xz", lzma.decompress),
}
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"\x28\xb5\x2f\xfd": "a zstd file", b"7z\xbc\xaf": "a 7z archive"}
# A mark of UTF-32 begins with one of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be",
}  # fmt: skip
_END_OF_LINE = re.compile("\r\n|\r|\n")


def read_text(path: Path, otherwise: str | None = None) -> str:
    """The text of the file `path`: UTF-8, or the encoding of its byte order mark; unpacked if it is gzip, bzip2 or xz by content.

    Parameters
    ----------
    path : Path
    otherwise : str, optional
        Encoding of a text that is not UTF-8.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        With the file: a pipe, an archive of another kind, a damaged compressed file; bytes of another encoding, with their line.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path}: no regular file; save its content in a file first (a pipe can be read only once)")
    data = path.read_bytes()
    for start, what in _ARCHIVES.items():
        if data.startswith(start):
            raise ValueError(f"{path}: {what}; unpack it first (gzip, bzip2 and xz are read as they are)")
    for start, (what, unpack) in _COMPRESSED.items():
        if data.startswith(start):
            try:
                data = unpack(data)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise ValueError(f"{path}: damaged {what} file: {error}") from None
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS.get(mark, "utf-8")
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        if otherwise is not None and not mark:
            return data.decode(otherwise)
        line = 1 + len(_END_OF_LINE.findall(data[: error.start].decode("latin-1")))
        name = encoding.upper()
        raise ValueError(f"{path}: line {line}: not {name} text: {error.reason} at byte {error.start}") from None


def lines_of(text: str) -> list[str]:
    """The lines of a text, which end with LF, CR LF or CR alone; `str.splitlines` ends them at other characters too."""
    lines = _END_OF_LINE.split(text)
    return lines if lines[-1] else lines[:-1]
