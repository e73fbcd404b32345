"""Each toy code prints a number that agrees with that of the library within its stated error.

The seeds are fixed. With other seeds a right program fails less than once in 10 000 runs: at 5.5 errors of 16 replicas
(Student's t with 15 degrees of freedom, 6e-5) and at 5 errors of 40 batches or 20 000 sequences (1.2e-5 and 6e-7). The error of
the attention of extensive width is a bound, without a random part.
"""

import importlib.util
import re
import runpy

import numpy as np
import pytest

from attention_limits.potts_mlm.potts.model import Potts
from toy import REPOSITORY
from toycodes import potts_mlm

FAMILIES = sorted(path.parent.name for path in (REPOSITORY / "config").glob("*/experiments"))
# The largest difference in stated errors.
LARGEST = {"sequence_multi_index": 5.5, "attention_indexed": 1.0, "sequence_single_index": 5.0, "potts_mlm": 5.0}
# The largest error that still tells a right formula from a wrong one, relative to the number.
SHARP = {"sequence_multi_index": 0.01, "attention_indexed": 1e-4, "sequence_single_index": 1e-3, "potts_mlm": 0.1}


def test_the_page_names_modules_that_exist_and_shows_every_toy_code():
    page = (REPOSITORY / "docs" / "toycodes.md").read_text(encoding="utf-8")
    named = re.findall(r"attention_limits[.\w]+", page)
    missing = [name for name in named if importlib.util.find_spec(name) is None]
    assert not missing, f"docs/toycodes.md: no such modules: {', '.join(missing)}"
    for family in FAMILIES:
        assert f"{{literalinclude}} ../toycodes/{family}.py" in page
        assert f"attention_limits.{family}." in page


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_number_is_that_of_the_library(family, capsys):
    runpy.run_path(str(REPOSITORY / "toycodes" / f"{family}.py"), run_name="__main__")
    (found,) = re.findall(r"naive (\S+) ± (\S+), library (\S+)$", capsys.readouterr().out, re.MULTILINE)
    naive, error, library = map(float, found)
    assert 0.0 < error < SHARP[family] * library
    assert abs(naive - library) <= LARGEST[family] * error


@pytest.mark.slow
def test_the_chains_of_the_potts_model_have_its_law():
    """The loss of the model itself on the test sequences against the sum over all sequences: 5 standard errors, 6e-7."""
    J, U, _, test = potts_mlm.data()
    states, probability = Potts(J, U).enumerate(potts_mlm.BETA)
    exact = probability @ potts_mlm.losses(J, potts_mlm.BETA * U, states)[0]
    found = potts_mlm.losses(J, potts_mlm.BETA * U, test)[0]
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert error < 0.005 * exact
    assert found.mean() == pytest.approx(exact, abs=5.0 * error)
