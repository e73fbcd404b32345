"""What a family itself knows about its specifications: rules no schema can say, and files its numbers hang on.

A family may have a module `attention_limits.checks.<family>`, which is imported at every start of the workflow and so
imports nothing heavy. It has

- `problems(estimator) -> list[tuple[tuple[str, ...], str]]`: the key path of each problem, below `model` of the file
  when it begins with `model` and below the estimator otherwise, and a message;
- `code_files(estimator) -> list[Path]`: files outside of the package whose bytes decide the numbers.
"""

import importlib
from pathlib import Path

from attention_limits.provenance import PACKAGE, has_module


def family_problems(estimator) -> list[tuple[tuple[str, ...], str]]:
    """The problems that the family's checks find in an expanded `Estimator`; none when it has no checks."""
    checks = _checks(estimator.family)
    return [] if checks is None else [(tuple(keys), message) for keys, message in checks.problems(estimator)]


def family_code_files(estimator) -> list[Path]:
    """The files outside of the package that belong to the code of an `Estimator`."""
    checks = _checks(estimator.family)
    return [] if checks is None else [Path(path) for path in checks.code_files(estimator)]


def _checks(family: str):
    name = f"{PACKAGE}.checks.{family}"
    # Looked for, not tried: an import error inside an existing module is a bug and shows its traceback.
    return importlib.import_module(name) if has_module(name) else None
