"""What a family's own checks say, and the files they name, reach the reader and the workflow."""

import pytest

SPEC = "config/toy/experiments/growth_curve.yaml"
CUBE = "results/cubes/toy/growth_curve.nc"
CHECKS = """\
def problems(estimator):
    found = []
    if estimator.model["gain"] > 5 and estimator.replicas > 3:
        found.append((("model", "gain"), "too steep for so many replicas"))
    if not code_files(estimator)[0].is_file():
        found.append((("solver", "steps"), f"needs the file {code_files(estimator)[0].name}"))
    return found


def code_files(estimator):
    return [estimator.project / "slopes.txt"] if estimator.name == "growth" else [estimator.project / "README.md"]


def code_modules(estimator):
    return ["attention_limits.toy_shapes"] if estimator.name == "growth" else []
"""


def checked(toy):
    toy.write("src/attention_limits/checks/toy.py", CHECKS)
    toy.write("README.md", "")
    toy.write("src/attention_limits/toy_shapes.py", "steep = 1\n")
    return toy.write("slopes.txt", "1\n")


def test_problems_are_told_by_file_and_key_before_any_job(toy):
    checked(toy).unlink()
    toy.edit(SPEC, "gain: 2.0", "gain: 6.0")
    expected = [
        f"attention-limits: {SPEC}: estimators.growth.solver.steps: needs the file slopes.txt",
        f"attention-limits: {SPEC}: model.gain: too steep for so many replicas",
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


@pytest.mark.parametrize(
    ("edited", "text"), [("slopes.txt", "2\n"), ("src/attention_limits/toy_shapes.py", "steep = 2\n")]
)
def test_an_edit_of_what_the_family_names_as_code_reruns_what_hangs_on_it(toy, edited, text):
    checked(toy)
    assert toy.snakemake(CUBE).returncode == 0
    assert toy.planned(CUBE) == []
    toy.write(edited, text)
    assert toy.planned(CUBE) == ["toy/growth_curve: growth"] * 2 + ["toy/growth_curve: merge"]


def test_the_project_folder_reaches_the_kind_and_no_file(toy):
    kind = "src/attention_limits/toy/estimators/growth.py"
    toy.edit(
        kind, "    alphas, replicas", "    assert open(spec['project'] + '/slopes.txt').read()\n    alphas, replicas"
    )
    checked(toy)
    done = toy.program("run", SPEC, "--estimator", "growth", cwd=None)
    assert done.returncode == 0, done.stderr
    assert all(str(toy.folder).encode() not in path.read_bytes() for path in toy.chunks())


def test_cubes_that_are_drawn_together_are_of_one_model(toy):
    other = toy.experiment.read_text()
    toy.write("config/toy/experiments/other_curve.yaml", other.replace("gain: 2.0", "gain: 3.0"))
    entry = "{family: toy, title: T, module: toy_heights, cubes: [growth_curve, other_curve], same_model: [gain]}"
    toy.write("config/toy/figures.yaml", f"toy_heights: {entry}\n")
    told = "same_model: gain: 2.0 in growth_curve.yaml; 3.0 in other_curve.yaml: drawn together, they need one and the same"
    assert told in toy.program("list").stderr
    toy.write("config/toy/experiments/other_curve.yaml", other)
    assert toy.program("list").returncode == 0
    toy.edit("config/toy/figures.yaml", "[gain]", "[slope]")
    assert "same_model: slope: in none of the cubes" in toy.program("list").stderr
