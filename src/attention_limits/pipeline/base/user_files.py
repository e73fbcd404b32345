"""Files of a user: one opener for all text files, whatever program wrote them, and Python files (links, targets, losses)."""

import bz2
import codecs
import gzip
import importlib.util
import inspect
import lzma
import math
import numbers
import os
import re
import unicodedata
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from attention_limits.pipeline.base.errors import did_you_mean, shown

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
_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
# A text that somebody wrote as a number: nan, -inf, 1,5, 0x10, 1_000.
_MEANT_AS_NUMBER = re.compile(r"[-+]?(nan|inf|infinity|[.,]?\d[\d.,_'exEX+-]*)", re.ASCII | re.IGNORECASE)
_END_OF_LINE = re.compile("\r\n|\r|\n")


def same_letters(text: str) -> str:
    """`text` in the normal form C of Unicode, so that a composed `é` and an `e` with an accent are equal (Unicode annex 15)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def user_file(folder: Path | str, name: Path | str) -> Path:
    """The file `name` below `folder`; if it is absent, the only one whose name differs in its normal form of Unicode alone.

    A Mac writes `é` as two characters into names of files, an editor as one into YAML.
    """
    path = Path(folder) / name
    if str(path).isascii() or path.exists():
        return path
    found = Path(path.anchor)
    for part in path.relative_to(path.anchor).parts:
        if not (found / part).exists():
            try:
                entries = os.listdir(found)
            except OSError:
                return path
            twins = [entry for entry in entries if same_letters(entry) == same_letters(part)]
            if len(twins) != 1:
                return path
            part = twins[0]
        found /= part
    return found


def read_text(path: Path, otherwise: str | None = None) -> str:
    """The text of the file `path`: UTF-8, or the encoding of its byte order mark; unpacked if it is gzip, bzip2 or xz by content.

    The text has the normal form of `same_letters`.

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
    path = user_file("", path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path}: no regular file; save its content in a file first (a pipe can be read only once)")
    data = path.read_bytes()
    for start, what in _ARCHIVES.items():
        if data.startswith(start):
            raise ValueError(f"{path}: {what}; unpack it first (gzip, bzip2 and xz are read as they are)")
    _refuse_tar(path, data)
    for start, (what, unpack) in _COMPRESSED.items():
        if data.startswith(start):
            try:
                data = unpack(data)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise ValueError(f"{path}: damaged {what} file: {error}") from None
            _refuse_tar(path, data)
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS.get(mark, "utf-8")
    try:
        return same_letters(data[len(mark) :].decode(encoding))
    except UnicodeDecodeError as error:
        if otherwise is not None and not mark:
            return data.decode(otherwise)
        line = 1 + len(_END_OF_LINE.findall(data[: error.start].decode("latin-1")))
        name = encoding.upper()
        raise ValueError(f"{path}: line {line}: not {name} text: {error.reason} at byte {error.start}") from None


def _refuse_tar(path, data):
    # POSIX and GNU write this word into the first header.
    if data[257:262] == b"ustar":
        raise ValueError(f"{path}: a tar archive; unpack it first")


def lines_of(text: str) -> list[str]:
    """The lines of a text, which end with LF, CR LF or CR alone; `str.splitlines` ends them at other characters too."""
    lines = _END_OF_LINE.split(text)
    return lines if lines[-1] else lines[:-1]


def number(text: str) -> float:
    """The decimal number that `text` is. Raises ValueError for others, such as 1_0, digits of other scripts, nan."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r}: allowed: a decimal number")
    return float(text)


def execute(path: Path) -> ModuleType:
    """The module in the file `path`, executed at each call, because no other module imports it.

    Raises ValueError if the name does not end in .py, and if the file raises an exception or ends the program.
    """
    spec = importlib.util.spec_from_file_location(f"user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: allowed: a file whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        package = __name__.partition(".")[0]
        moved = isinstance(error, ImportError) and f"{error.name}.".startswith(f"{package}.")
        more = '; CHANGELOG.md, "When you upgrade", lists the modules that moved' if moved else ""
        raise ValueError(f"{path} cannot be executed: {type(error).__name__}: {error}{more}") from error
    return module


def object_of_file(what: str, name: str, project: Path, kind: str, fits: Callable[[Any], bool]) -> Any:
    """The object that `name`, path/to/file.py:object below the folder `project`, names in a Python file of the user.

    Parameters
    ----------
    what : str
        Role of the object in messages, such as "link".
    name : str
    project : Path
    kind : str
        The objects that are allowed, with {} for the name: "function {}".
    fits : function
        Whether an object, or None where there is none of this name, is of this kind.

    Raises
    ------
    ValueError
        If there is no such file or object, or if the file fails; see `execute`.
    """
    path, _, wanted = name.rpartition(":")
    file = user_file(project, path)
    if not file.is_file():
        raise ValueError(f"the {what} {name} needs the file {file}, which does not exist")
    module = execute(file)
    found = getattr(module, wanted, None)
    if not fits(found):
        wrong = (
            f": it is of the type {type(found).__name__}" if found is not None else did_you_mean(wanted, vars(module))
        )
        raise ValueError(f"{file} defines no {kind.format(repr(wanted))}{wrong}")
    return found


def require_parameters(owner: str, make: Callable, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for a value of the `parameters` that the function or class `make` of the file object `owner` cannot mean.

    A value has the type of the default, or else of the annotation: a number for a number, a text for a text, a list for a list.
    Numbers are finite, also in lists.
    """
    known = inspect.signature(make).parameters
    for key, value in parameters.items():
        item = known.get(key)
        default = None if item is None or item.default is item.empty else item.default
        kind = _kind(default) or (
            _ANNOTATED.get(getattr(item.annotation, "__name__", item.annotation)) if item else None
        )
        if not _fits(value, kind) or not _finite(value):
            allowed = kind or ("a finite number" if not isinstance(value, list) else "finite numbers")
            like = "" if default is None or not _finite(default) else f", as the default {shown(default)}"
            raise ValueError(f"{owner}: parameter {key}: {shown(value)}: allowed: {allowed}{like}")


_NUMBER, _TRUTH, _TEXT, _LIST = "a finite number", "true or false", "a text", "a list"
_ANNOTATED = {"float": _NUMBER, "int": _NUMBER, "bool": _TRUTH, "str": _TEXT}


def _kind(default: object) -> str | None:
    kinds = {bool: _TRUTH, int: _NUMBER, float: _NUMBER, str: _TEXT, list: _LIST, tuple: _LIST}
    return kinds.get(type(default))


def _fits(value: object, kind: str | None) -> bool:
    types = {_TRUTH: bool, _NUMBER: numbers.Real, _TEXT: str, _LIST: list | tuple}
    return kind is None or (isinstance(value, types[kind]) and (kind == _TRUTH or not isinstance(value, bool)))


def _finite(value: object) -> bool:
    """Whether all numbers of a value are finite, and no text of it is meant as a number."""
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    if isinstance(value, str):
        return _MEANT_AS_NUMBER.fullmatch(value.strip()) is None
    return not isinstance(value, float) or math.isfinite(value)
