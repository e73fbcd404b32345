"""Types of the arguments of commands. Each reads a text; argparse puts its name into the message when it raises ValueError."""

import json


def whole(minimum: int):
    """The type of whole numbers from `minimum` on."""

    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise ValueError
        return value

    number.__name__ = f"whole number ≥ {minimum}"
    return number


def positive(text: str) -> float:
    """A finite number above zero."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def finite(text: str) -> float:
    """A number that is not infinite."""
    value = float(text)
    if not -float("inf") < value < float("inf"):
        raise ValueError
    return value


finite.__name__ = "finite number"


def mapping(text: str) -> dict:
    """A JSON mapping."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError
    return value


positive.__name__, mapping.__name__ = "number > 0", "JSON mapping"


def named(rest: list[str]) -> dict:
    """Arguments `--name value` that no option took, by name; numbers are read as such. Raises ValueError for others."""
    if len(rest) % 2 or not all(name.startswith("--") for name in rest[::2]):
        raise ValueError(f"parameters are written --name value, got: {' '.join(rest)}")
    if twice := sorted({name for name in rest[::2] if rest[::2].count(name) > 1}):
        raise ValueError(f"given twice: {', '.join(twice)}")
    found = {}
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        try:
            found[name[2:]] = json.loads(text)
        except ValueError:
            found[name[2:]] = text
    return found
