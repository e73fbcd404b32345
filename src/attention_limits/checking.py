"""What a family itself knows about its specifications: rules no schema can say, and files its numbers hang on.

A family may have a module `attention_limits.checks.<family>`, which is imported at every start of the workflow and so
imports nothing heavy. It has any of

- `problems(estimator) -> list[tuple[tuple[str, ...], str]]`: the key path of each problem, below `model` of the file
  when it begins with `model` and below the estimator otherwise, and a message;
- `code_modules(estimator) -> list[str]`: modules of the package that the kind imports by a name made at run time;
- `code_files(estimator) -> list[Path]`: files outside of the package whose bytes decide the numbers.
"""

import importlib
from pathlib import Path

from attention_limits.provenance import PACKAGE, has_module


def family_problems(estimator) -> list[tuple[tuple[str, ...], str]]:
    """The problems that the family's checks find in an expanded `Estimator`; none when it has no checks."""
    return [(tuple(keys), message) for keys, message in _ask("problems", estimator)]


def family_code_modules(estimator) -> list[str]:
    """The modules of the package that belong to the code of an `Estimator` although no import names them."""
    return _ask("code_modules", estimator)


def family_code_files(estimator) -> list[Path]:
    """The files outside of the package that belong to the code of an `Estimator`."""
    return [Path(path) for path in _ask("code_files", estimator)]


def _ask(question: str, estimator) -> list:
    name = f"{PACKAGE}.checks.{estimator.family}"
    # Looked for, not tried: an import error inside an existing module is a bug and shows its traceback.
    checks = importlib.import_module(name) if has_module(name) else None
    answer = getattr(checks, question, None)
    return [] if answer is None else answer(estimator)
