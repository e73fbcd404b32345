"""Checks of a class, and the files and modules that it names, reach the reader and the workflow."""

import pytest

pytestmark = pytest.mark.slow

SPEC = "config/toy/experiments/growth_curve.yaml"
CUBE = "results/cubes/toy/growth_curve.nc"
CHECKS = """

class Checked(Growth):
    @classmethod
    def cross_checks(cls, estimator):
        if estimator.model["gain"] > 5 and estimator.replicas > 3:
            yield ("model", "gain"), "too steep for so many replicas"
        if not cls.code_files(estimator)[0].is_file():
            yield ("solver", "steps"), "needs the file slopes.txt"

    @classmethod
    def code_files(cls, estimator):
        return [estimator.project / "slopes.txt"]

    @classmethod
    def code_modules(cls, estimator):
        return ["attention_limits.toy.shapes"]


ESTIMATORS["growth"] = Checked
"""


def checked(toy):
    specs = toy.source / "toy" / "specs.py"
    if "Checked" not in specs.read_text():
        specs.write_text(specs.read_text() + CHECKS)
    toy.write("src/attention_limits/toy/shapes.py", "steep = 1\n")
    return toy.write("slopes.txt", "1\n")


def test_problems_are_reported_by_file_and_key_before_any_job(toy):
    checked(toy).unlink()
    toy.edit(SPEC, "gain: 2.0", "gain: 6.0")
    expected = [
        f"attention-limits: {SPEC}: estimators.growth.solver.steps: needs the file slopes.txt",
        f"attention-limits: {SPEC}: scales.paper.model.gain: too steep for so many replicas",
    ]
    found = toy.program("check", SPEC)
    assert (found.returncode, found.stderr.splitlines()) == (2, expected)
    stopped = toy.snakemake("-n")
    assert stopped.returncode != 0
    assert "estimators.growth.solver.steps: needs the file slopes.txt" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    # At the scale whose overlay makes it so, when it touches the key.
    checked(toy)
    toy.edit(SPEC, "gain: 6.0", "gain: 2.0")
    toy.edit(SPEC, "paper: {", "paper: {model: {gain: 6.0}, ")
    found = toy.program("check", SPEC)
    assert found.stderr == f"attention-limits: {SPEC}: scales.paper.model.gain: too steep for so many replicas\n"


def test_an_edit_of_what_the_class_names_as_code_reruns_its_dependants(toy):
    """Files and modules; and where the project lies is known to the estimator and stands in no file."""
    checked(toy)
    toy.edit(
        "src/attention_limits/toy/estimators/growth.py",
        "    alphas, replicas",
        "    assert open(spec['project'] + '/slopes.txt').read()\n    alphas, replicas",
    )
    done = toy.snakemake("--cores", "2", CUBE)
    assert done.returncode == 0, done.stderr
    assert all(str(toy.folder).encode() not in path.read_bytes() for path in toy.chunks())
    dependants = ["toy/growth_curve: growth"] * 2 + ["toy/growth_curve: merge"]
    for name, text, before in (
        ("slopes.txt", "2\n", "1\n"),
        ("src/attention_limits/toy/shapes.py", "x = 2\n", "steep = 1\n"),
    ):
        toy.write(name, text)
        assert toy.planned(CUBE) == dependants
        toy.write(name, before)
