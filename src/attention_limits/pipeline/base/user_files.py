"""Python files of the user: links, targets, students and losses."""

import importlib.util
from pathlib import Path
from types import ModuleType


def execute(path: Path) -> ModuleType:
    """The module in the file `path`, executed at each call, because no other module imports it.

    Raises ValueError if the name does not end in .py, and if the file raises an exception.
    """
    spec = importlib.util.spec_from_file_location(f"user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path}: allowed: a file whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be executed: {type(error).__name__}: {error}") from error
    return module
