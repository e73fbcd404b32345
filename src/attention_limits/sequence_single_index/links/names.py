"""Names of links in specifications; imports nothing heavy."""

from pathlib import Path

from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.pipeline.base.user_files import user_file

# Built-in links of M tokens have M^power outputs.
POWER_OF_OUTPUTS = {"linear_sum": 0, "relu_sum": 0, "full_attention": 2, "trace_attention": 0}
BUILT_IN = tuple(POWER_OF_OUTPUTS)
# The target that is a sum of Hermite polynomials; it has one output.
HERMITE = "hermite"


def link_file(name, folder=".") -> Path | None:
    """The file, below `folder`, of a link written as `file.py:function`, or None for any other name."""
    path, _, function = name.rpartition(":")
    return user_file(folder, path) if path.endswith(".py") and function else None


def name_problem(name, folder=".") -> str | None:
    """The problem with the name of a link whose path starts from `folder`, or None."""
    path = link_file(name, folder)
    if path is None:
        return (
            None if name in BUILT_IN else f"no link {name!r}; {allowed_names(name, BUILT_IN, ', or file.py:function')}"
        )
    return None if path.is_file() else f"{name!r}: no file {path}"


def outputs(name, tokens) -> int | None:
    """Number of outputs of the link of a name for sequences of M `tokens`; None for a function of a file."""
    return None if link_file(name) else tokens ** POWER_OF_OUTPUTS.get(name, 0)
