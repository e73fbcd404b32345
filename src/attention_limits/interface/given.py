"""Links that a caller gives as objects, for the solvers, which know a link by its file and name; what a call reads anew.

The solvers execute this file like the file of a link (`path/to/file.py:name`). The objects stay in the process of the caller.
"""

import copy
import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from attention_limits.pipeline.base.arguments import require
from attention_limits.pipeline.base.errors import SpecError, without_long_words
from attention_limits.pipeline.base.provenance import of_a_user

# The key of a model that names its output function, and the family whose module `thresholds` answers.
FAMILIES = {"link": "sequence_multi_index", "channel": "attention_indexed"}
_OBJECTS: dict[str, Any] = {}
# This file, which stands for each object in the place of a file of the user.
OBJECTS = __file__
# Functions that remember a model, by the bytes of the user's file or by the function itself. Both stay equal when the caller
# gives another object of the same name (the file is this one), and when a variable changes that the function reads.
REMEMBERED = (
    "attention_indexed.schema.checks._channel_problems",
    "sequence_multi_index.erm.task._task",
    "sequence_multi_index.schema.checks._problems_of",
    "sequence_single_index.schema.checks._link_problem",
    "sequence_single_index.sgd.any_student.compiled",
)
# The bytes that files had when this process first saw that a file of a model imports them, or last imported them anew.
_imported: dict[Path, bytes] = {}
_PLAIN = Mapping | str | bytes | int | float | bool | None | list | tuple | np.ndarray | np.generic | Fraction | Decimal


def bare(model: Any, key: str) -> dict:
    """The keys of a model that a caller gives by the value of one `key`. Raises SpecError unless it is a name or an object."""
    allowed = f'a mapping of keys, such as {{"{key}": ...}}, the name of a {key}, or a {key} as an object'
    require(isinstance(model, str) or not isinstance(model, _PLAIN), "model", model, allowed)
    return {key: model}


def objects_of(model: Mapping) -> list[str]:
    """The keys of `model` whose values are objects or functions, not plain data."""
    return [key for key, value in model.items() if not isinstance(value, _PLAIN)]


def with_names(model: Mapping) -> dict:
    """A copy of `model` with the name `file.py:name` in the place of each object.

    Each call reads an object anew: its code, the variables that it reads, and its attributes, also those changed in place.
    """
    named, own = dict(model), objects_of(model)
    if own:
        _forget()
    for key in own:
        value = model[key]
        if not callable(value):
            # The compiled loop of a link belongs to the object, and a copy has none yet. What cannot be copied keeps its loop.
            with suppress(Exception):
                value = copy.copy(value)
        name = getattr(value, "__name__", type(value).__name__)
        name = name if name.isidentifier() else "lambda" if name == "<lambda>" else key
        # A link of the sequence multi-index family is made by a call: a class, or a function without arguments.
        _OBJECTS[name] = value if callable(value) else lambda value=value: value
        named[key] = f"{__file__}:{name}"
    return named


def _forget() -> None:
    """Forget what is `REMEMBERED` of the models of earlier calls."""
    for place in REMEMBERED:
        module, _, name = place.rpartition(".")
        loaded = sys.modules.get(f"{__name__.partition('.')[0]}.{module}")
        if loaded is not None:
            getattr(loaded, name).cache_clear()


def import_anew(files: Mapping[Path, str]) -> bool:
    """Whether one of the `files` that files of models import has changed since the last call, or has given way to another file.

    Then all are imported anew. The values are the names of the modules. A file of a model is executed at each call, but Python
    keeps the modules that it imports.
    """
    contents = {file: file.read_bytes() for file in files}
    places = {name: getattr(sys.modules.get(name), "__file__", None) for name in files.values()}
    # An installed module comes before one of the same name beside the file.
    held = {name: place for name, place in places.items() if place and of_a_user(place)}
    changed = any(_imported.get(file, content) != content for file, content in contents.items())
    changed = changed or any(not file.samefile(held[name]) for file, name in files.items() if name in held)
    _imported.update(contents)
    if changed:
        for name in held:
            del sys.modules[name]
        importlib.invalidate_caches()
        _forget()
    return changed


@contextmanager
def named_as_given() -> Iterator[None]:
    """A SpecError of the block names an object of the caller as the caller does, without this file, and cuts long values."""
    try:
        yield
    except SpecError as error:
        raise SpecError(without_long_words(problem.replace(f"{__file__}:", "")) for problem in error.problems) from None


def __getattr__(name: str) -> Any:
    """The object of a `name`. Raises AttributeError where no caller has given it."""
    # The solvers execute a copy of this module; the imported one holds the objects.
    from attention_limits.interface import given

    if name not in given._OBJECTS:
        raise AttributeError(name)
    return given._OBJECTS[name]
