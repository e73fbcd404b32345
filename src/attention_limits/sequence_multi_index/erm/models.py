"""Target, student and loss of a specification, without anything that compiles."""

from collections.abc import Mapping
from pathlib import Path

from attention_limits.sequence_multi_index.links.link import Link
from attention_limits.sequence_multi_index.links.loading import load_link

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
