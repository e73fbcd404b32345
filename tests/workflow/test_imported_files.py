"""A file of the user that imports a second one: an edit of the second runs the jobs of its dependants again, and no others."""

import pytest

from toy import EXPERIMENT

pytestmark = pytest.mark.slow

SPEC = "config/toy/experiments/own.yaml"
OWN = EXPERIMENT.replace("model: {gain", "requires: {links/own.py: 'the own file'}\nmodel: {gain")
JOBS = ["toy/own: counting", "toy/own: growth", "toy/own: growth", "toy/own: merge"]


def test_an_edit_of_an_imported_file(toy):
    toy.write(SPEC, OWN)
    toy.write("links/own.py", "from second import x\n")
    toy.write("links/second.py", "import third\n\nx = third.x\n")
    toy.write("links/third.py", "x = 1\n")
    toy.write("links/fourth.py", "x = 1\n")
    targets = ["--", "results/cubes/toy/own.nc", "results/cubes/toy/growth_curve.nc"]
    assert toy.snakemake("--cores", "1", *targets).returncode == 0
    toy.computed()
    assert toy.planned(*targets) == []
    toy.write("links/fourth.py", "x = 2\n")
    assert toy.planned(*targets) == []
    for name in ("second", "third"):
        toy.edit(f"links/{name}.py", "x = ", "x = 0 + ")
        assert toy.planned(*targets) == JOBS
        assert toy.snakemake("--cores", "1", *targets).returncode == 0
        # All points: none is copied from a file of the old code.
        assert len(toy.computed()) == 12 + 4
        assert toy.planned(*targets) == []
