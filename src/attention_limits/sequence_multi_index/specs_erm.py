"""Keys of empirical risk minimisation."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from attention_limits.pipeline.specification import Axis, Problem, Section, Specification, Whole
from attention_limits.sequence_multi_index.cross_checks import OfDataSets, OfLink
from attention_limits.sequence_multi_index.erm.models import ERM_KEYS, student_of
from attention_limits.sequence_multi_index.erm.requirements import OUTPUT_LOSSES, problem_of
from attention_limits.sequence_multi_index.links.loading import code_file, code_module, load_link
from attention_limits.sequence_multi_index.specs_keys import Nodes, SomeAlpha

Ridge = Annotated[float, Field(ge=1e-6, le=1000, description=(
    "Strength lambda of the ridge lambda / 2 |W|^2, which is added to the sum of the losses of all samples, not to their mean."
))]  # fmt: skip
Tolerance = Annotated[float, Field(gt=0, le=0.1)]


def _model_and_grids():
    # Only here, because specs.py joins this module to its own classes.
    from attention_limits.sequence_multi_index.specs_links import LinkGrid, LinkModel

    return LinkGrid, LinkModel
