"""`njit` of numba with a cache on disk, under a digest of all code that compiled functions can contain.

The cache of numba detects an edit of the file of a function, but not of the modules which that file imports. Therefore each state
of the kernels and of `numerics` has a separate folder; a kernel imports no other module of this package. Code from the cache
gives the same bytes as freshly compiled code; see `_own_helpers`.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path

import llvmlite
import numba
from llvmlite.binding import Linkage
from numba import config, types
from numba.core.caching import FunctionCache
from numba.core.codegen import CPUCodeLibrary
from numba.core.sigutils import normalize_signature

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


class _Cache(FunctionCache):
    """The cache of a function, which leaves out calls with a compiled function as argument: no other process could find those."""

    def load_overload(self, signature, context):
        return None if _of_functions(signature) else super().load_overload(signature, context)

    def save_overload(self, signature, compiled):
        if not _of_functions(signature):
            super().save_overload(signature, compiled)


def _of_functions(signature):
    arguments, _ = normalize_signature(signature)
    return any(isinstance(argument, types.Dispatcher) for argument in arguments)


def njit(function=None, **options):
    """`numba.njit` of a function with its `options`, and with the cache; without the cache where no folder can be written."""

    def compiled(function):
        dispatcher = numba.njit(**options)(function)
        if FOLDER is not None:
            # numba reads this setting when the cache of a function is enabled; other packages keep theirs.
            theirs, config.CACHE_DIR = config.CACHE_DIR, str(FOLDER)
            try:
                dispatcher._cache = _Cache(dispatcher.py_func)
            finally:
                config.CACHE_DIR = theirs
        return dispatcher

    return compiled if function is None else compiled(function)


_optimize = CPUCodeLibrary._optimize_final_module


def _own_helpers(library):
    """Make the compiled helpers of a function private to it before the optimisation.

    numba copies each helper into every function that calls it and optimises it again, which can change the last bits. The
    copies are weak symbols: the linker takes the one that it saw first, which depends on the compiled and loaded functions.
    """
    for function in library._final_module.functions:
        if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
            function.linkage = Linkage.internal
    _optimize(library)


CPUCodeLibrary._optimize_final_module = _own_helpers
