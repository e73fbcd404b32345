"""Compiled code of functions that a user gives, on disk under a digest of all that can be in it.

The cache of `compiled` knows code by its files. A function that is made of other functions has them in its closure, and numba
compares these by an identity that each process gives anew. Here the name of the code is a digest of what the functions do:
instructions, constants, variables of closures and modules. The folder and its copies are those of `compiled`.
"""

import contextlib
import hashlib
import importlib
import os
import pickle
import sys
import tempfile
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import numba
import numpy as np
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps

from attention_limits.numerics import compiled

_PLAIN = bool, int, float, complex, str, bytes, type(None), type(...)
# Modules whose functions their version determines.
_VERSIONS = {
    "numpy": np.__version__,
    "numba": numba.__version__,
    **dict.fromkeys(sys.stdlib_module_names, sys.version),
}


class _UnknownError(Exception):
    """Something whose content cannot be known."""


def content_digest(*items) -> str | None:
    """Digest of what decides the compiled code of functions, or None if this is not known.

    Parameters
    ----------
    items : functions, jitted functions, numbers, texts, arrays, None, files
        A file (`Path`) of this package stands for its `compiled.code_digest`. Functions may use numbers, arrays, jitted
        functions, functions of this package, NumPy and the standard library; what else they use is not known: a class of the
        user, or a plain function, which may stand for code that another file registers with numba.
    """
    reader = _Reader()
    try:
        found = [reader.function(item) if isinstance(item, FunctionType) else reader.read(item) for item in items]
    except _UnknownError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


class _Reader:
    """Reads objects as nested tuples of texts that are equal where the compiled code is."""

    def __init__(self):
        self.functions = []

    def read(self, item):
        kind = type(item)
        if kind in _PLAIN:
            return kind.__name__, repr(item)
        if kind in (tuple, list):
            return kind.__name__, *map(self.read, item)
        if kind in (set, frozenset):
            return kind.__name__, *sorted(map(repr, map(self.read, item)))
        if kind is dict:
            return "dict", *((self.read(key), self.read(value)) for key, value in item.items())
        if isinstance(item, np.generic | np.ndarray) and not item.dtype.hasobject:
            return "numbers", repr(item.dtype), item.shape, item.strides, hashlib.sha256(item.tobytes()).hexdigest()
        if isinstance(item, Path):
            return "file", compiled.code_digest(item)
        if kind is CodeType:
            return self._code(item)
        named = _named(item)
        if named:
            return named
        if isinstance(item, CPUDispatcher):
            # Its own signatures, if it compiles no others.
            own = () if item._can_compile else tuple(map(str, item.nopython_signatures))
            return "jitted", self.read(item.targetoptions), own, self.function(item.py_func)
        raise _UnknownError

    def function(self, function):
        """A function with its variables; where it occurs again, inside of itself too, its place in the order."""
        if function in self.functions:
            return "again", self.functions.index(function)
        self.functions.append(function)
        try:
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError:
            raise _UnknownError from None
        used = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
        return "function", *map(
            self.read, (function.__code__, function.__defaults__, function.__kwdefaults__, cells, used)
        )

    def _code(self, code):
        numbers = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        parts = (code.co_code, code.co_exceptiontable, code.co_consts)
        return "code", *map(self.read, (numbers, names, parts))


def _names(code):
    """The names in a code and in the functions inside of it: those of variables of the module are among them."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return sorted({*code.co_names, *(name for other in inner for name in _names(other))})


def _named(item):
    """A module, function or class that its name and the version of its package determine, as texts, or None."""
    if isinstance(item, ModuleType):
        module, name = item.__name__, ""
    else:
        module = getattr(item, "__module__", None)
        name = getattr(item, "__qualname__", None) or getattr(item, "__name__", "")
        if getattr(sys.modules.get(module), name, None) is not item:
            return None
    root = module.partition(".")[0]
    if root in _VERSIONS:
        return "named", module, name, _VERSIONS[root]
    file = getattr(sys.modules[module], "__file__", None)
    if root == compiled.PACKAGE.name and file and Path(file).is_relative_to(compiled.PACKAGE):
        return "named", module, name, compiled.code_digest(Path(file))
    return None


class _Kept:
    """The cache of one function of numba, in the place of `numba.core.caching.Cache`: a file for each signature and processor."""

    def __init__(self, folder):
        # numba and `pipeline.base.progress` read the path.
        self.cache_path = folder

    def _path(self, signature, codegen):
        key = hashlib.sha256(repr((str(signature), codegen.magic_tuple(), sys.version)).encode())
        return self.cache_path / f"{key.hexdigest()[:16]}.nbc"

    def load_overload(self, sig, target_context):
        """The code for a signature of numba, or None."""
        target_context.refresh()
        try:
            data = self._path(sig, target_context.codegen()).read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            # `compiled` removes folders that no process used for long.
            os.utime(self.cache_path)
        modules, payload = pickle.loads(data)
        with _importable(modules):
            return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, sig, cres):
        """Keep the code `cres` for a signature; a full disk is no error."""
        # Such code holds addresses of this process.
        if cres.lifted or cres.library.has_dynamic_globals:
            return
        payload = cres._reduce()
        *_, environments = payload
        modules = sorted({environment.globals["__name__"] for environment in environments})
        with contextlib.suppress(OSError):
            self.cache_path.mkdir(exist_ok=True)
            # Another process may write or read the same file at this moment.
            with tempfile.TemporaryDirectory(dir=self.cache_path) as folder:
                temporary = Path(folder, "code")
                temporary.write_bytes(pickle.dumps((modules, dumps(payload))))
                os.replace(temporary, self._path(sig, cres.codegen))


@contextlib.contextmanager
def _importable(names):
    """Empty modules in the place of those `names` that cannot be imported: the file of a user is no module of Python.

    numba imports the module of each function inside of a code, and reads nothing from it.
    """
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    sys.modules.update((name, ModuleType(name)) for name in missing)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


def keep(jitted, name: str | None):
    """The jitted function itself; it reads its compiled code from the disk, or keeps it there, under this `name`.

    The name must determine the code (`content_digest`). Nothing is kept under None, and where no folder can be written.
    """
    if name is not None and compiled.FOLDER is not None and compiled.OWN_HELPERS:
        function = jitted.py_func
        # The linker takes the code that it saw first under a name, and numba gives functions of one place in a file one name.
        function.__qualname__ = f"{function.__qualname__}_{name}"
        jitted._cache = _Kept(compiled.FOLDER / f"{function.__name__}-{name}")
    return jitted
