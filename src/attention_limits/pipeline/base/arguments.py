"""Arguments of commands and of the functions of `al`: their types.

A type of a command reads a text; argparse puts its name into the message when it raises ValueError.
"""

import json
import math
import operator
import os
from pathlib import Path
from typing import Any

from attention_limits.pipeline.base.errors import SpecError, shown


def whole_number(name: str, value: Any, minimum: int) -> int:
    """The argument `name` as an int, whole numbers of numpy too. Raises SpecError unless it is whole and at least `minimum`."""
    try:
        found = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = None
    if found is None or found < minimum:
        raise SpecError([f"{name}: {shown(value)}: allowed: a whole number ≥ {minimum}"])
    return found


def path_of(name: str, value: Any, what: str) -> Path:
    """The argument `name`, the path of `what`, as a path. Raises SpecError for other types and for what can be no path."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    value = text if isinstance(text, str) else value
    good = isinstance(text, str) and text and "\0" not in text
    require(bool(good), name, value, f"the path of {what}")
    path = Path(str(text))
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    require(longest <= 255, name, value, "names of files and folders of at most 255 bytes")
    # No shell replaces it here.
    require(path.parts[:1] != ("~",), name, value, "the path itself, without ~ at its start")
    return path


def listed(name: str, value: Any, what: str) -> list:
    """The argument `name` as a list; a text is its only element. Raises SpecError, with `what` is allowed, for single objects."""
    try:
        return [value] if isinstance(value, str) else list(value)
    except TypeError:
        raise SpecError([f"{name}: {shown(value)}: allowed: {what}"]) from None


def require(fits: bool, name: str, value: Any, allowed: str) -> None:
    """Raise SpecError with the argument `name`, its `value` and what is `allowed` unless it fits."""
    if not fits:
        raise SpecError([f"{name}: {shown(value)}: allowed: {allowed}"])


def _type(name: str, read, allowed):
    def made(text: str):
        value = read(text)
        if not allowed(value):
            raise ValueError
        return value

    made.__name__ = name
    return made


def whole(minimum: int):
    """The type of whole numbers from `minimum` on."""
    return _type(f"whole number ≥ {minimum}", int, lambda value: value >= minimum)


finite = _type("finite number", float, math.isfinite)
positive = _type("number > 0", float, lambda value: 0 < value < math.inf)
not_negative = _type("number ≥ 0", float, lambda value: 0 <= value < math.inf)
# An empty one is the value of a shell variable that is not set.
path = _type("path", lambda text: Path(text) if text else None, lambda value: value is not None)
mapping = _type("JSON mapping", json.loads, lambda value: isinstance(value, dict))


def named(rest: list[str]) -> dict:
    """Arguments `--name value` or `--name=value` that no option took, by name, also with - for _; numbers are read as such.

    Raises ValueError for others.
    """
    rest = [part for word in rest for part in (word.split("=", 1) if word.startswith("--") else [word])]
    names = rest[::2]
    if len(rest) % 2 or not all(name.startswith("--") for name in names):
        several = ", several values --name 0.5,1" if len(rest) > 2 else ""
        raise ValueError(f"parameters are written --name value{several}; got: {' '.join(rest)}")
    # Options of other programs have - where a name of Python has _.
    keys = [name[2:].replace("-", "_") for name in names]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise ValueError(f"given twice: {', '.join(f'--{key}' for key in twice)}")
    return {key: _number(text) for key, text in zip(keys, rest[1::2], strict=True)}


def _number(text: str):
    # A late import: the commands need none of it to start.
    from attention_limits.pipeline.base.user_files import number

    for read in (json.loads, number):
        try:
            return read(text)
        except ValueError:
            # JSON knows no number `.5` or `1.`
            continue
    return text
