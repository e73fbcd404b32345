"""Packages that cannot be imported: an extra that is missing, too little memory, a file of the user in the place of a package."""

from collections.abc import Iterator
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
# The words of the system where a library does not fit into the memory; Python itself may raise SystemError instead.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "without setting an exception", "without raising")


@contextmanager
def extras() -> Iterator[None]:
    """Raise an error of one line where an import of the block fails for a reason that the user can change.

    Raises
    ------
    SpecError
        If the package of an extra is missing, with the command that installs it; if a file ends the program when it is imported.
    MemoryError
        If the memory does not suffice for an import.
    """
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
        text = f"{file} ends the program when Python imports it (sys.exit)"
        raise SpecError([f"{text}; rename it, or take its folder from PYTHONPATH"]) from None
    except (MemoryError, SystemError, ImportError) as error:
        file = _imported(error.__traceback__)
        short = isinstance(error, MemoryError) or any(words in str(error).lower() for words in _NO_MEMORY)
        if file is None or not short:
            raise
        raise MemoryError(f"the import of {file} fails: {error or type(error).__name__}") from None


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
