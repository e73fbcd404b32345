"""Packages that cannot be imported: an extra that is missing, too little memory, a file of the user in the place of a package."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from attention_limits.pipeline.base.errors import SpecError

EXTRAS = {
    "matplotlib": "plot",
    "plotly": "explore",
    "pyarrow": "parquet",
    "jax": "training",
    "tokenizers": "training",
}
# The packages that the library imports; a test compares them with pyproject.toml.
NEEDED = ("netCDF4", "numba", "numpy", "pandas", "pydantic", "ruamel", "scipy", "tqdm", "xarray")
# The words of the system where a library does not fit into the memory; Python itself may raise SystemError instead.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "without setting an exception", "without raising")


_REMEDY = "rename it, start Python in another folder, or take its folder from PYTHONPATH"


@contextmanager
def extras() -> Iterator[None]:
    """Raise an error of one line where an import of the block fails for a reason that the user can change.

    Raises
    ------
    SpecError
        If the package of an extra is missing, with the command that installs it; if a file of the user stands in the place of a
        package that the library needs, or such a file makes the block fail or ends the program.
    MemoryError
        If the memory does not suffice for an import.
    """
    _refuse_foreign(_in_the_place_of(NEEDED))
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        hint = f'pip install "attention-limits[{extra}]", or in a checkout pip install ".[{extra}]"'
        raise SpecError([f"{package} is not installed: {hint}"]) from None
    except SystemExit as error:
        file = _imported(error.__traceback__)
        if file is None:
            raise
        raise SpecError([f"{file} ends the program when Python imports it (sys.exit); {_REMEDY}"]) from None
    except (MemoryError, SystemError, ImportError) as error:
        file = _imported(error.__traceback__)
        short = isinstance(error, MemoryError) or any(words in str(error).lower() for words in _NO_MEMORY)
        if file is None or not short:
            _refuse_foreign(_failed_on(error))
            raise
        raise MemoryError(f"the import of {file} fails: {error or type(error).__name__}") from None
    except SpecError:
        raise
    except Exception as error:
        _refuse_foreign(_failed_on(error))
        raise


def _refuse_foreign(files: Iterable[str]) -> None:
    for file in files:
        raise SpecError([f"{file} stands in the place of the Python package {_stem(file)}; {_REMEDY}"]) from None


def _own_folders() -> list[str]:
    """The folders in which Python looks before its own library: the working directory, and those of PYTHONPATH."""
    library = os.path.dirname(os.__file__)
    before = sys.path[: sys.path.index(library)] if library in sys.path else []
    return [os.path.abspath(folder) for folder in before]


def _in_the_place_of(packages: Iterable[str]) -> list[str]:
    """Files of the user that Python finds before these packages."""
    files = [os.path.join(folder, f"{package}.py") for folder in _own_folders() for package in packages]
    return [file for file in files if os.path.isfile(file)]


def _failed_on(error: BaseException) -> list[str]:
    """Files of the user in the place of a package or of a module of Python's library, which were imported before an error."""
    names, folders, traceback = {*sys.stdlib_module_names, *EXTRAS, *NEEDED}, _own_folders(), error.__traceback__
    loaded = (getattr(sys.modules.get(name), "__file__", None) for name in sorted(names))
    files = [file for file in loaded if file]
    while traceback is not None:
        files.append(traceback.tb_frame.f_code.co_filename)
        traceback = traceback.tb_next
    return [file for file in files if _stem(file) in names and os.path.dirname(os.path.abspath(file)) in folders]


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


def _imported(traceback: TracebackType | None) -> str | None:
    """The last file in a traceback that runs because Python imports it; None where no import has failed."""
    file, importing = None, False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        name = code.co_filename
        # Python may leave its own frames of an import out.
        importing = importing or code.co_name == "<module>" or name.startswith("<frozen importlib")
        file = file if name.startswith("<frozen") else name
        traceback = traceback.tb_next
    return file if importing else None
