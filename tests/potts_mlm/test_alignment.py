"""An alignment in one call."""

import numpy as np
import pytest
from pydantic import ValidationError

from attention_limits.potts_mlm.alignment import Reading, read_alignment


def test_the_rules_of_the_specification_are_the_defaults(tmp_path):
    path = tmp_path / "few.fasta"
    path.write_text(">a\nACX-\n>b\nAC--\n")
    # The gap is colour 0, A and C are 1 and 2.
    np.testing.assert_array_equal(read_alignment(path, Reading()).states[:, :2], [[1, 2], [1, 2]])
    assert read_alignment(path, Reading()).states.shape == (2, 4)
    assert read_alignment(path, Reading(max_column_gaps=0.5)).states.shape == (2, 2)


def test_an_alphabet_without_a_gap_is_refused():
    with pytest.raises(ValidationError, match="alphabet"):
        Reading(alphabet="AC")
