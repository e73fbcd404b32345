"""Each kernel compiles once for all processes of the tests.

The first call of a kernel takes most of the time of its tests. The package compiles in each process, because numba's cache does
not see an edit in an imported module. Here the digest of all code names the folder of the cache: an edit begins a new one.
"""

import hashlib
import importlib
import importlib.metadata
import os
import shutil
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "attention_limits"
CACHE = Path(__file__).parents[1] / ".pytest_cache" / "kernels"


def compile_once() -> None:
    """Give every kernel that is imported from now on numba's cache, and remove the caches of other code."""
    digest = hashlib.sha256(importlib.metadata.version("numba").encode())
    for path in sorted(SOURCE.rglob("*.py")):
        digest.update(str(path).encode() + path.read_bytes())
    folder = CACHE / digest.hexdigest()[:16]
    for other in CACHE.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    # Read when numba is imported.
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    numba = importlib.import_module("numba")
    compiler = numba.njit

    def cached(*arguments, **options):
        return compiler(*arguments, **options, cache=True)

    numba.njit = cached
