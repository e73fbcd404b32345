"""Promises of the sequence single-index family."""

from hypothesis import given
from specifications import compute, document, section

FAMILY = "sequence_single_index"


@given(grid=section(FAMILY, "phase_lines", "grid", "a"))
def test_phase_lines_are_right(grid):
    compute(FAMILY, document("phase_lines", {}, grid))
