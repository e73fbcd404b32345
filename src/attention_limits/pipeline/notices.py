"""One line where a model of a user runs in NumPy, because it cannot be compiled. It decides no number."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from attention_limits.pipeline.base.provenance import PACKAGE, has_module
from attention_limits.pipeline.experiments.estimator import Estimator
from attention_limits.pipeline.experiments.specification import Section, fields

# The reason of a function whose loops numba has compiled for its author: nothing to report.
COMPILED_BY_ITS_AUTHOR = "it calls a function that numba compiled"
# By the key that names a model of a file: the command that checks it.
_CHECKS = {"link": "check-link", "channel": "check-channel"}
_said: set[str] = set()


def report_own_model(
    family: str, specification: type[Section], model: Mapping, project: Path, objects: str = ""
) -> None:
    """Print one line on stderr if the posterior of a link or channel of a user runs in NumPy; each line once in a process.

    Parameters
    ----------
    family : str
        Its module `reports.compilation`, if it has one, knows whether a model is compiled.
    specification : type of Section
        The class of the estimator, or of a question for thresholds.
    model : mapping
        Its keys.
    project : Path
        Folder that paths of files start from.
    objects : str
        File that stands in names for objects of the caller; the line leaves it out.
    """
    module, named = f"{PACKAGE}.{family}.reports.compilation", [str(model.get(key)) for key in _CHECKS]
    # The solvers of a provided model need not import what this module imports.
    if not has_module(module) or not any(".py:" in name for name in named):
        return
    found = None
    # A model that is refused or fails does so again in the run, which says why.
    with suppress(Exception):
        found = import_module(module).of_model(specification, model, project)
    name, reason = found or ("", "")
    if not reason or reason == COMPILED_BY_ITS_AUTHOR:
        return
    line = f"{name.removeprefix(f'{objects}:')} runs in NumPy, several times slower than compiled: {reason}"
    command = next((command for key, command in _CHECKS.items() if model.get(key) == name), None)
    if command and not (objects and name.startswith(f"{objects}:")):
        line += f" (attention-limits {command} {name} reports it)"
    if line not in _said:
        _said.add(line)
        print(line, file=sys.stderr, flush=True)


def report_own_models(estimator: Estimator, objects: str = "") -> None:
    """`report_own_model` for an estimator; of the values of a scanned key of the model, for the first and the last one."""
    if estimator.is_data:
        return
    scanned = {key: values for key, values in estimator.grid.items() if key in fields(estimator.specification, "model")}
    for place in (0, -1) if scanned else (0,):
        model = {**estimator.model, **{key: values[place] for key, values in scanned.items()}}
        report_own_model(estimator.family, estimator.specification, model, estimator.project, objects)
