"""Files that are either complete or absent, and the canonical text of plain data."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; move it to `path` when the block ends well.

    The file and its folder are synced to disk before and after the move, so a crash leaves either the old
    file or the new one. When the block raises, the temporary file is removed and `path` does not change.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays, because writers choose the format by it; the leading dot distinguishes it from finished files.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp{path.suffix}")
    try:
        yield temporary
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


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
