"""The two kinds of bad input, a specification and a data file on disk, and how a message shows a wrong value or name."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

# A message shows this many characters of a value.
LONGEST = 200
# A longer word of a message is no path that a user can have.
_LONGEST_WORD = 1000


class SpecError(ValueError):
    """A configuration file is wrong. `problems` holds one line for each problem."""

    def __init__(self, problems: Iterable[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


class CubeError(ValueError):
    """A data file is missing, damaged or not the requested one. `problems` holds one line for each problem."""

    def __init__(self, problems: Iterable[str]):
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))


def did_you_mean(wrong: object, names: Iterable[str], elsewhere: Mapping[str, str] | None = None) -> str:
    """The end of a message, `; did you mean …?`, with the one of `names` that is closest to `wrong`; empty if none is close.

    `elsewhere` maps further names, which are allowed in another place, to what a user must write there. A name without its part
    before the point, `state_evolution`, stands for all names with this end.
    """
    # A late import: only a mistake needs it.
    from difflib import get_close_matches

    text, known = str(wrong), {**(elsewhere or {}), **{name: name for name in map(str, names)}}
    found = [written for name, written in known.items() if text != name and name.rpartition(".")[2] == text]
    if not found:
        folded = {name.lower(): written for name, written in known.items()}
        found = [folded[name] for name in get_close_matches(text.lower(), folded, 1)]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def allowed_names(
    wrong: object, names: Iterable[str], more: str = "", elsewhere: Mapping[str, str] | None = None
) -> str:
    """The end of a message about the name `wrong`: the allowed `names`, `more` that is allowed, and `did_you_mean`."""
    known = list(map(str, names))
    return f"allowed: {', '.join(known) or 'none'}{more}{did_you_mean(wrong, known, elsewhere)}"


def short(text: str) -> str:
    """`text`, cut after `LONGEST` characters."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def shown(value: Any) -> str:
    """A wrong `value` as Python writes it, on one line, cut after `LONGEST` characters."""
    try:
        return short(" ".join(repr(value).split()))
    except Exception:
        # A number of more than 4300 digits, or an object that cannot be printed.
        return type(value).__name__


def wrong_name(value: Any) -> str:
    """How a message writes a wrong name: it copies a text, and writes other values by `shown`."""
    return short(value) if isinstance(value, str) else shown(value)


def without_long_words(message: str) -> str:
    """A `message` in which a value of thousands of characters is cut."""
    return re.sub(rf"\S{{{_LONGEST_WORD},}}", lambda found: short(found[0]), message)
