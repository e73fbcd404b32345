"""`njit` of numba with a cache on disk, under a digest of all code that compiled functions can contain.

The cache of numba detects an edit of the file of a function, but not of the modules which that file imports. Therefore each
state of the kernels and of `numerics` has a separate folder; a kernel imports no other module of this package. All copies of
the package with the same code share this folder: a second clone compiles nothing. Code from the cache gives the same bytes as
freshly compiled code; see `own_helpers`.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path

import llvmlite
import numba
from numba import config
from numba.core.caching import UserProvidedCacheLocator

from attention_limits.numerics import own_helpers

PACKAGE = Path(__file__).parents[1]
# For `fastmath`: all liberties of fast arithmetic, except approximate functions and the assumption that no number is infinite.
FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}
# For `fastmath`: sums may be reordered; infinities keep their meaning.
REORDERED = {"nnan", "nsz", "reassoc", "contract"}
# Folders of earlier code that no process used for so long are removed, in seconds.
_KEPT = 30 * 24 * 3600


def code_files() -> list[Path]:
    """Source files of all kernels and of `numerics`, sorted: compiled functions contain code of these files alone."""
    return sorted({*PACKAGE.glob("numerics/**/*.py"), *PACKAGE.rglob("*_kernels.py")})


def code_digest() -> str:
    """Digest of the versions of the compiler and of the `code_files`."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for path in code_files():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _cache_folder() -> Path | None:
    """Folder of the compiled code, below NUMBA_CACHE_DIR or the user's folder of caches; None where it cannot be written."""
    if config.DISABLE_JIT:
        return None
    try:
        base = Path(config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-limits"
        folder = base / code_digest()
        # numba unpickles what it finds: nobody else may write into the folder.
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        os.utime(folder)
        for other in base.iterdir():
            if time.time() - other.stat().st_mtime > _KEPT:
                shutil.rmtree(other, ignore_errors=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


FOLDER = _cache_folder()


class SharedLocator(UserProvidedCacheLocator):
    """The place of a function's compiled code below the folder: that of its file below the package, wherever that lies.

    numba reads the name of this class from its option `CACHE_LOCATOR_CLASSES`; by itself it would take the whole path.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The folder of the file `py_file`: of this package that below it, else the one that numba takes."""
        path, package = Path(py_file).resolve(), PACKAGE.resolve()
        if not path.is_relative_to(package):
            return super().get_suitable_cache_subpath(py_file)
        return str(path.relative_to(package).parent)


def njit(function=None, **options):
    """`numba.njit` of a function with its `options`, and with the cache; without the cache where no folder can be written.

    A function that takes a compiled function as argument needs `cache=False`: numba would store both, and no other process could
    read the file where the module of the argument is missing.
    """

    def compiled(function):
        if FOLDER is None:
            return numba.njit(**options)(function)
        # numba reads these options when it makes the cache of a function; other packages keep theirs.
        theirs = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(FOLDER), f"{__name__}.{SharedLocator.__name__}"
        try:
            return numba.njit(**{"cache": True, **options})(function)
        finally:
            config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = theirs

    return compiled if function is None else compiled(function)


# False where numba works in another way.
OWN_HELPERS = own_helpers.switch_on()
