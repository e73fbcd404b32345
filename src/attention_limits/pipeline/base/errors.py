"""The two kinds of bad input, a specification and a data file on disk, and the end of a message about a wrong name."""

from collections.abc import Iterable, Mapping


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
