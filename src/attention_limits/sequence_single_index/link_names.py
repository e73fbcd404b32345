"""Names of links in specifications; imports nothing heavy."""

from pathlib import Path

BUILT_IN = ("relu_sum", "full_attention", "trace_attention")


def link_file(name, folder=".") -> Path | None:
    """The file, below `folder`, of a link written as `file.py:function`, or None for any other name."""
    path, _, function = name.rpartition(":")
    return Path(folder) / path if path.endswith(".py") and function else None


def name_problem(name, folder=".") -> str | None:
    """The problem with the name of a link whose path starts from `folder`, or None."""
    path = link_file(name, folder)
    if path is None:
        if name in BUILT_IN:
            return None
        return f"no link {name!r}; allowed: {', '.join(BUILT_IN)}, or file.py:function"
    return None if path.is_file() else f"{name!r}: no file {path}"
