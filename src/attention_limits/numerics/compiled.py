"""`njit` of numba with a cache on disk, under a digest of all code that a compiled function can contain.

The cache of numba detects an edit of the file of a function, but not of the modules which that file imports. Therefore the code
of each file has a folder with the digest of this file and of all modules of this package that it imports: an edit compiles again
what uses it, and nothing else. All copies of the package with the same code share the folders: a second clone compiles nothing.
Code from the cache gives the same bytes as freshly compiled code; see `own_helpers`.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import llvmlite
import numba
from numba import config
from numba.core.caching import UserProvidedCacheLocator

from attention_limits.numerics import own_helpers
from attention_limits.numerics.caches import cache_folder

PACKAGE = Path(__file__).resolve().parents[1]
# For `fastmath`: all liberties of fast arithmetic, except approximate functions and the assumption that no number is infinite.
FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}
# For `fastmath`: sums may be reordered; infinities keep their meaning.
REORDERED = {"nnan", "nsz", "reassoc", "contract"}
# Folders of code that no process used for so long are removed, in seconds.
_KEPT = 30 * 24 * 3600
_IMPORT = re.compile(
    rf"^\s*(?:from\s+{PACKAGE.name}\.?([\w.]*)\s+import\s+(\([^)]*\)|[^\n(]*)|import\s+{PACKAGE.name}\.([\w.]+))",
    re.MULTILINE,
)


@functools.cache
def code_files(path: Path) -> frozenset[Path]:
    """The file `path` and the modules of this package that it imports, directly or through others.

    A compiled function of this file contains code of these files alone.
    """
    found, open_ = set(), [path]
    while open_:
        file = open_.pop()
        if file not in found:
            found.add(file)
            open_ += _imported(file)
    return frozenset(found)


@functools.cache
def _imported(path: Path) -> list[Path]:
    names = []
    for package, imported, module in _IMPORT.findall(path.read_text(encoding="utf-8")):
        base = package or module
        names += [base, *(f"{base}.{name}" for name in re.findall(r"\w+", imported))]
    files = (PACKAGE.joinpath(*name.split(".")).with_suffix(".py") for name in names if name)
    return [file for file in files if file.is_file()]


@functools.cache
def code_digest(path: Path) -> str:
    """Digest of the versions of the compiler and of the `code_files` of the file `path`."""
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    for file in sorted(code_files(path)):
        content, name = file.read_bytes(), file.relative_to(PACKAGE) if file.is_relative_to(PACKAGE) else file.name
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


def _cache_folder() -> Path | None:
    """Folder of the compiled code, below NUMBA_CACHE_DIR or the user's folder of caches; None where it cannot be written."""
    folder = None if config.DISABLE_JIT else cache_folder(config.CACHE_DIR)
    with contextlib.suppress(OSError):
        for other in () if folder is None else folder.iterdir():
            if time.time() - other.stat().st_mtime > _KEPT:
                shutil.rmtree(other, ignore_errors=True)
    return folder


FOLDER = _cache_folder()


class SharedLocator(UserProvidedCacheLocator):
    """The place of a function's compiled code below the folder, by the name and the `code_digest` of its file.

    numba reads the name of this class from its option `CACHE_LOCATOR_CLASSES`; by itself it would take the whole path.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The folder of the file `py_file`; its time says when a process used it last."""
        return _place(Path(py_file).resolve())


@functools.cache
def _place(path: Path) -> str:
    place = f"{path.stem}-{code_digest(path)}"
    # Another process may make or remove it.
    with contextlib.suppress(OSError):
        (FOLDER / place).mkdir(exist_ok=True)
        os.utime(FOLDER / place)
    return place


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


def compile_source(name: str, source: str, function: str, signature, **options):
    """The `function` of a module of this `source`, compiled for a `signature` of numba; `options` and cache are those of `njit`.

    The `name` of the module must determine its source. The text is kept beside the compiled code.
    """
    with tempfile.TemporaryDirectory() if FOLDER is None else contextlib.nullcontext(FOLDER / name) as folder:
        path = Path(folder) / f"{name}.py"
        with contextlib.suppress(FileExistsError):
            path.parent.mkdir()
        os.utime(path.parent)
        if not path.is_file() or path.read_text(encoding="utf-8") != source:
            # Another process may write or read it at this moment.
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
                file.write(source)
            os.replace(file.name, path)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        # numba finds the module of code from the cache there.
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return njit(signature_or_function=signature, **options)(getattr(module, function))


# False where numba works in another way.
OWN_HELPERS = own_helpers.switch_on()
