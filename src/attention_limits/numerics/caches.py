"""The user's folder of caches, which all copies of this package share."""

import os
from pathlib import Path


def cache_folder(given: str | None = None) -> Path | None:
    """`attention-limits` below the folder `given`, XDG_CACHE_HOME or ~/.cache; None where it cannot be written.

    Nobody else may write into it: programs trust what they find there.
    """
    try:
        folder = Path(given or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-limits"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None
