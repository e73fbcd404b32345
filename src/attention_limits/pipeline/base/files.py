"""Files that are either complete or absent, and the canonical text of plain data."""

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attention_limits.pipeline.base.errors import SpecError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; move it to `path` when the block ends well.

    The file and its folder are synced to disk before and after the move, so a crash leaves either the old
    file or the new one. When the block raises, the temporary file is removed and `path` does not change. A link stays, and its
    file changes. Raises SpecError as `require_place`.
    """
    require_place(path)
    path = Path(os.path.realpath(path) if os.path.islink(path) else path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays, because writers choose the format by it; the leading dot distinguishes it from finished files.
    # A part of a long name is enough: with the rest it could be too long for the disk.
    temporary = path.with_name(f".{path.stem[:40]}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` in UTF-8 as `replacing` does: after a kill or on a full disk, the file is the old one or the whole new one."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def require_place(path: Path) -> None:
    """Refuse a place where no file can be written.

    Raises SpecError if a folder, a device or a pipe is at `path`: a move would replace it, even /dev/null. Raises OSError if the
    disk is read-only, PermissionError if the user may not write into the folder, or if it takes no files (/proc).
    """
    if os.path.isdir(path):
        raise SpecError([f"{path}: is a folder; allowed: the path of a file"])
    if os.path.exists(path) and not os.path.isfile(path):
        raise SpecError([f"{path}: is no regular file, but a device or a pipe; allowed: the path of a file"])
    folder = Path(os.path.realpath(path)).parent
    folder = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no permission to write into the folder", str(folder))
    try:
        # File systems of the kernel and of a network refuse files although the permissions allow them.
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        number = errno.EACCES if error.errno == errno.ENOENT else error.errno
        raise OSError(number, "no file can be made in the folder", str(folder)) from None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def canonical_json(value) -> str:
    """The one JSON text of plain data: keys sorted, shortest float representation, NaN refused."""
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)


def digest(value) -> str:
    """sha256 (hexadecimal, 64 characters) of the canonical JSON of plain data."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
