"""Checks of a class, and the files and modules that it names, reach the reader and the workflow."""

import pytest

from attention_limits.__main__ import main
from attention_limits.pipeline.experiments.experiment import load_experiment
from toy import forget_code, imported

SPEC = "config/toy/experiments/growth_curve.yaml"
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


@pytest.mark.slow
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


def test_what_the_class_names_is_code_of_its_estimator_alone(toy):
    """Files and modules; and the estimator knows the folder of the project, which is in no file."""
    checked(toy)
    toy.edit(
        "src/attention_limits/toy/estimators/growth.py",
        "    alphas, replicas",
        "    assert open(spec['project'] + '/slopes.txt').read()\n    alphas, replicas",
    )

    def codes():
        forget_code()
        return {name: estimator.code for name, estimator in load_experiment(toy.folder / SPEC).all_estimators.items()}

    with imported(toy):
        before = codes()
        for name in ("slopes.txt", "src/attention_limits/toy/shapes.py"):
            old = (toy.folder / name).read_text()
            toy.write(name, "x = 2\n")
            after = codes()
            assert after["growth"] != before["growth"]
            assert after["counting"] == before["counting"]
            toy.write(name, old)
        assert codes() == before
        options = ["--estimator", "growth", "--results", str(toy.folder / "results")]
        assert main(["run", str(toy.folder / SPEC), *options]) == 0
    assert len(toy.chunks()) == 2
    assert all(str(toy.folder).encode() not in path.read_bytes() for path in toy.chunks())
