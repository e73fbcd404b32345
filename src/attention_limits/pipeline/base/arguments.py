"""Types of the arguments of commands. Each reads a text; argparse puts its name into the message when it raises ValueError."""

import json
import math


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
mapping = _type("JSON mapping", json.loads, lambda value: isinstance(value, dict))


def named(rest: list[str]) -> dict:
    """Arguments `--name value` or `--name=value` that no option took, by name; numbers are read as such.

    Raises ValueError for others.
    """
    rest = [part for word in rest for part in (word.split("=", 1) if word.startswith("--") else [word])]
    names = rest[::2]
    if len(rest) % 2 or not all(name.startswith("--") for name in names):
        raise ValueError(f"parameters are written --name value, got: {' '.join(rest)}")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"given twice: {', '.join(twice)}")
    return {name[2:]: _number(text) for name, text in zip(names, rest[1::2], strict=True)}


def _number(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return text
