"""An alignment in one call, by the rules of a specification.

from attention_limits.potts_mlm.alignment import Reading, read_alignment

read_alignment(Path("family.a3m"), Reading(max_column_gaps=0.5)).states
"""

from pathlib import Path

from attention_limits.potts_mlm.proteins import alignment
from attention_limits.potts_mlm.proteins.alignment import Alphabet
from attention_limits.potts_mlm.schema import proteins


class Reading(proteins.Alignment.Solver):
    """The section `solver` of `potts_alignment`, and the alphabet of its model."""

    alphabet: proteins.Letters = "protein"


def read_alignment(path: Path, reading: Reading) -> alignment.Alignment:
    """The alignment in the file `path`, sequences (M, L) with colours of `reading.alphabet`.

    Raises ValueError as `proteins.alignment.read_alignment`.
    """
    return alignment.read_alignment(path, Alphabet(reading.alphabet), reading)
