"""The thresholds of one model, without a grid and without an experiment file.

Only `thresholds` imports pandas, for its table. The command prints without it, in half of the time.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_limits.interface.given import FAMILIES, OBJECTS, bare, import_anew, named_as_given, with_names
from attention_limits.pipeline.base import provenance
from attention_limits.pipeline.base.arguments import path_of, require, whole_number
from attention_limits.pipeline.base.errors import SpecError, allowed_names, did_you_mean
from attention_limits.pipeline.base.files import digest, replacing
from attention_limits.pipeline.base.progress import compilation_reported
from attention_limits.pipeline.base.provenance import PACKAGE, imported_files, versions
from attention_limits.pipeline.base.user_files import user_file
from attention_limits.pipeline.experiments.messages import validated
from attention_limits.pipeline.experiments.specification import Section
from attention_limits.pipeline.notices import report_own_model

if TYPE_CHECKING:
    import pandas as pd


def thresholds(
    model: Mapping | str | Any,
    *,
    solver: Mapping | None = None,
    replicas: int | None = None,
    seed: int = 0,
    project: str | Path = ".",
) -> pd.DataFrame:
    """How many samples a model needs in order to learn: all its thresholds, one row each.

    Parameters
    ----------
    model : mapping, str or link
        The keys of a link (`{"link": "deep_attention", "skip": 0.5}`) or of a channel (`{"channel": "softmax", "tokens": 2}`).
        A name, or a link of the user as an object, alone stands for `{"link": ...}`. A function of the fields h is a link with
        noise: `{"link": f, "rows": 2, "noise": 0.1}`.
    solver : mapping, optional
        Numerical settings; each has a default.
    replicas : int, optional
        Independent scramblings of the nodes, for links.
    seed : int
        Root seed of the nodes.
    project : path
        Folder that the path of a link starts from.

    Returns
    -------
    DataFrame
        It prints whole. Columns `value`, `error`, `normalisation`, `text`, and more by family;
        `attrs` holds the method, a warning, if any, and `kept`, the file of an answer that was computed before.

    Raises
    ------
    SpecError
        If a key or a value is not allowed. All problems are reported at once.

    Notes
    -----
    An answer is kept in the user's folder of caches (below NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache), under a digest of the
    question, of all code of this package, and of the versions of the libraries: the same question takes a second. A model with a
    file or an object of the user is computed each time.

    Examples
    --------
    >>> import attention_limits as al
    >>> found = al.thresholds({"channel": "softmax", "tokens": 2, "ratio": 0.5})
    >>> print(found.value["exact recovery"], found.normalisation["exact recovery"])
    0.1875 n / d^2

    A link has errors over scramblings of the nodes: `al.thresholds("phase_retrieval")`, or `al.thresholds({"link": "product",
    "rows": 2})`. This takes seconds to minutes.
    """
    from attention_limits.attention_indexed.channels.names import NAMES
    from attention_limits.interface.whole import Whole
    from attention_limits.sequence_multi_index.links.loading import PROVIDED

    if isinstance(model, str) and model in NAMES and model not in PROVIDED:
        raise SpecError([f'model: {model!r}: is a channel; write {{"channel": {model!r}, "tokens": 2, "ratio": 0.5}}'])
    model = model if isinstance(model, Mapping) else bare(model, "link")
    require(isinstance(solver, Mapping | None), "solver", solver, "a mapping of settings")
    seed, project = whole_number("seed", seed, 0), path_of("project", project, "a folder")
    rows, notes = found(family_of(model), model, solver, replicas, seed, project)
    frame = Whole(rows).set_index("threshold")
    frame.attrs |= notes
    return frame


def found(
    family: str,
    model: Mapping,
    solver: Mapping | None,
    replicas: int | None,
    seed: int,
    project: str | Path = ".",
    report: bool = False,
) -> tuple[list[dict], dict]:
    """The rows of `thresholds` and its notes, `method`, `warning` and `kept`.

    `family`, `model`, `solver`, `replicas`, `seed` and the folder `project` are those of `thresholds`; `report` prints each step
    on stderr when it is found, and the file of a kept answer. Raises SpecError where the specification refuses them.
    """
    written = {"model": with_names(model), "solver": dict(solver or {}), "seed": seed}
    asked, problems = validated(
        specification(family), written if replicas is None else {**written, "replicas": replicas}
    )
    if asked is None:
        raise SpecError([f"{'.'.join(keys)}: {text}" for keys, text in problems])
    file = _file_of(family, asked)
    if file is not None and file.is_file():
        if report:
            print(f"computed before; to compute again, remove {file}", file=sys.stderr)
        rows, notes = json.loads(file.read_text(encoding="utf-8"))
        return rows, {**notes, "kept": str(file)}
    keys = asked.plain()["model"]
    own = [user_file(project, text.rpartition(":")[0]) for text in _texts(keys) if ".py:" in text]
    import_anew({file: name for path in own if path.is_file() for file, name in imported_files(path).items()})
    with compilation_reported(), named_as_given():
        report_own_model(family, type(asked), keys, Path(project), OBJECTS)
        rows, notes = import_module(f"{PACKAGE}.{family}.reports.thresholds").thresholds(asked, Path(project), report)
    # The first answer has the types of a kept one.
    text = json.dumps([rows, notes], ensure_ascii=False, default=lambda number: number.item())
    if file is not None:
        with suppress(OSError), replacing(file) as temporary:
            temporary.write_text(text, encoding="utf-8")
    rows, notes = json.loads(text)
    return rows, notes


def _file_of(family: str, asked: Section) -> Path | None:
    """The file that keeps the answer of a question; None for a model with a file or an object of the user, whose edits it misses.

    Its name is the digest of the question, of all code of the package, and of the versions and the machine that compute.
    """
    # A late import: numba takes a second.
    from attention_limits.numerics.compiled import FOLDER

    plain = asked.plain()
    if FOLDER is None or not all(text.isidentifier() for text in _texts(plain["model"])):
        return None
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(provenance.SOURCE.rglob("*.py")))).hexdigest()
    return FOLDER / "thresholds" / f"{digest([family, plain, code, versions(), platform.machine()])}.json"


def _texts(value: Any) -> Iterator[str]:
    """All texts in plain data."""
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def specification(family: str) -> type[Section]:
    """The keys of a question for the thresholds of a model of a `family`. Raises SpecError where it has none."""
    if family not in FAMILIES.values():
        raise SpecError(
            [f"family: {family!r}: {allowed_names(family, FAMILIES.values(), '; others have no such thresholds')}"]
        )
    return import_module(f"{PACKAGE}.{family}.schema.thresholds").Thresholds


def family_of(model: Mapping) -> str:
    """The family whose links or channels the keys of a `model` name. Raises SpecError where there is none."""
    for key, family in FAMILIES.items():
        if key in model:
            return family
    keys = " or ".join(f"{key} ({family})" for key, family in FAMILIES.items())
    meant = next(filter(None, (did_you_mean(key, FAMILIES) for key in model)), "")
    raise SpecError([f"model: needs one of the keys {keys}; the other families have no such thresholds{meant}"])
