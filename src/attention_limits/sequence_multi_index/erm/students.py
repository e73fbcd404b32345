"""Target, student and loss of a specification, and which loss fits which student; nothing in this module compiles."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from attention_limits.pipeline.base.errors import allowed_names
from attention_limits.sequence_multi_index.links.link import GRADIENT, Link, require
from attention_limits.sequence_multi_index.links.loading import load_link

OUTPUT_LOSSES = ("square", "logistic", "hinge", "cross_entropy")
# Largest number of fields P M of a student.
MAX_FIELDS = 8


# Keys of the model that belong to empirical risk minimisation; the others are the target's.
ERM_KEYS = frozenset({"student", "loss", "ridge", "sigma", "positions"})


def target_of(model: Mapping, project: Path) -> Link:
    """The link that gives the outputs, from the section `model` of a specification and the folder `project`."""
    return load_link({key: value for key, value in model.items() if key not in ERM_KEYS}, project)


def student_of(model: Mapping, project: Path) -> Link:
    """The link that is fitted: `student` of the section `model`, by default the target without noise; `project` as above."""
    if "student" in model:
        return load_link({"link": "deep_attention", **model["student"]}, project)
    return target_of({**model, "noise": 0.0}, project)


def problem_of(name: str, student: Link) -> str:
    """The reason why the loss of this `name` does not fit this student, or an empty text."""
    if student.rows * student.tokens > MAX_FIELDS:
        sizes = f"{student.rows} rows and {student.tokens} tokens"
        return f"the student has {sizes}; allowed: at most {MAX_FIELDS} fields, for the proximal operator"
    if name not in OUTPUT_LOSSES:
        return (
            ""
            if ":" in name
            else f"no loss {name!r}; {allowed_names(name, OUTPUT_LOSSES, ', or path/to/file.py:name')}"
        )
    if student.student is None:
        size = student.forward(np.zeros((1, student.rows, student.tokens))).size
        if not (name == "square" or (name == "logistic" and size == 1)):
            return f"the student {student.name} has {size} outputs; allowed: square, or logistic for one output"
        try:
            require(student, {GRADIENT})
        except ValueError as error:
            return str(error)
        return ""
    kind = student.student[0]
    one = kind == "polynomial" or (kind == "linear" and student.rows * student.tokens == 1)
    if name == "logistic" and not one:
        return "the logistic loss needs a student with one output: linear with one field, or a polynomial link"
    if name == "hinge" and not (kind == "linear" and one):
        return "the hinge loss needs the student linear with one row and one token"
    if name == "cross_entropy" and not (kind == "linear" and student.rows > 1):
        return "the cross-entropy needs the student linear with at least two rows"
    return ""
