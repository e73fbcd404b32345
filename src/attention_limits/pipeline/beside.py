"""Lets a Python file of a user import modules from its own folder, in each process.

The path of a job holds no folder of the user, so that no file there takes the place of a package. Here too, modules of Python, of
installed packages and of PYTHONPATH come first. `base.provenance.imported_files` lists what a file imports.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType


class Beside:
    """Finds a module in the folder of the user's file that imports it, where nothing else has found it."""

    # The folders by the name of a module or package that was found in them.
    folders: dict[str, set[str]] = {}

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module beside the file whose import calls this; None for parts of packages, and for files of no user."""
        folder = cls._folder(sys._getframe(1)) if path is None else None
        if folder is None or (found := PathFinder.find_spec(fullname, [folder])) is None:
            return None
        cls.folders.setdefault(fullname, set()).add(folder)
        return found

    @classmethod
    def _folder(cls, frame: FrameType | None) -> str | None:
        """The folder of the user's file that imports in this frame, itself or through a module in its folder; else None."""
        while frame is not None and _of_an_import(frame.f_code.co_filename):
            frame = frame.f_back
        name, file = (frame.f_globals.get(key) for key in ("__name__", "__file__")) if frame else ("", "")
        if not isinstance(name, str) or not isinstance(file, str):
            return None
        folder, base = os.path.split(os.path.abspath(file))
        # `user_files.execute` gives this name.
        if name == f"user_{os.path.splitext(base)[0]}":
            return folder
        places = cls.folders.get(name.partition(".")[0], ())
        return next((place for place in places if f"{folder}{os.sep}".startswith(f"{place}{os.sep}")), None)


def _of_an_import(file: str) -> bool:
    return file.startswith("<frozen importlib") or file == importlib.__file__


def forget() -> None:
    """Find the modules beside files of users anew: files of another folder may mean other ones of the same name."""
    if not Beside.folders:
        return
    for name in [name for name in sys.modules if name.partition(".")[0] in Beside.folders]:
        del sys.modules[name]


def install() -> None:
    """Make `Beside` the last way of this process to find a module."""
    if Beside not in sys.meta_path:
        sys.meta_path.append(Beside)
