"""`attention-limits estimate`: numbers of jobs against Snakemake, hours against logs that the test writes."""

from pathlib import Path

import pytest

from attention_limits.__main__ import main
from attention_limits.pipeline.experiments.estimate import _work, estimates
from attention_limits.pipeline.experiments.experiment import load_experiment, load_family
from attention_limits.pipeline.experiments.project import load_project
from attention_limits.pipeline.experiments.specification import fields
from toy import REPOSITORY, forget_code, imported
from toy_data import share

PAPER = {"scale": "paper"}
WORK = """
    @classmethod
    def work(cls, estimator):
        return {"alpha": 1, "steps": 2}


class Counting("""


@pytest.fixture
def project(toy, monkeypatch):
    """A toy project with data, in this process and in its folder; the work of `growth` is alpha steps^2."""
    share(toy)
    toy.edit("src/attention_limits/toy/specs.py", "\n\nclass Counting(", WORK)
    monkeypatch.chdir(toy.folder)
    with imported(toy):
        yield toy


def compute(toy, *names):
    """The chunks of some estimators at scale laptop."""
    for name in names:
        file = "growth_curve" if name in ("growth", "counting") else "shared"
        assert main(["run", f"config/toy/experiments/{file}.yaml", "--estimator", name]) == 0


def logged(toy, name, seconds, text=": {size} points computed, 0 taken from other chunks", megabytes="?"):
    """Write logs and benchmarks of the chunks of an estimator at scale laptop, with these CPU seconds."""
    estimator = load_experiment(toy.experiment).estimators[name]
    for chunk, x in zip(estimator.chunks, seconds, strict=True):
        job = estimator.path("results/{}", chunk).removesuffix(".nc")
        toy.write(f"{job.format('logs')}.log", f"{text.format(size=chunk.size)}\n{x} s of CPU\n")
        toy.write(f"{job.format('benchmarks')}.tsv", f"s\tmax_rss\n1\t{megabytes}\n")


def found(config=PAPER):
    return {row.estimator.name: row for row in estimates(load_project(Path(), config))}


@pytest.mark.slow
def test_the_chunks_that_are_left_are_the_jobs_of_snakemake(project):
    def same(left):
        jobs = [job.rpartition(" ")[2] for job in project.planned("--config", "scale=paper")]
        assert {name: row.left[1] for name, row in found().items()} == left
        assert left == {name: jobs.count(name) for name in left}

    compute(project, "drawn", "means", "spreads")
    # Snakemake sees an edit of a solver or of code where it has records.
    assert project.snakemake("--cores", "1", "--until", "toy_growth", "toy_counting").returncode == 0
    same({"growth": 2, "counting": 0, "drawn": 2, "means": 2, "spreads": 0})
    # Data that two estimators read, one of which has an equal chunk at both scales.
    next(project.folder.glob("results/data/toy/shared/drawn/alpha0.4_replicas0_*.nc")).unlink()
    same({"growth": 2, "counting": 0, "drawn": 3, "means": 2, "spreads": 1})
    # The same names of chunks with another solver; other code.
    project.edit("config/toy/experiments/growth_curve.yaml", "growth: {replicas: 5}", "growth: {solver: {steps: 4}}")
    project.edit("src/attention_limits/toy/curve.py", "x**2", "x**3")
    forget_code()
    same({"growth": 2, "counting": 1, "drawn": 3, "means": 2, "spreads": 1})


def test_hours_of_the_points_that_are_left(project):
    """Chunks at alpha 0, 0.2 and at 0.4, 0.6: work 3 replicas * 9 * 0.2 = 5.4 and 27; left are 2 replicas, 9 * 1.2 * 2 = 21.6."""
    assert found()["growth"].hours is None
    compute(project, "growth", "counting")
    assert found()["growth"].hours is None
    logged(project, "growth", (10.8, 27.0), megabytes=300)
    logged(project, "counting", (6.0,))
    row = found()["growth"]
    assert (row.left, row.total, row.timed, row.megabytes, row.ignored) == ((8, 2), (20, 2), 2, 300, ())
    assert row.hours == pytest.approx((21.6 / 3600, 21.6 * 37.8 / 32.4 / 3600, 2 * 21.6 / 3600))
    row = found()["counting"]
    assert (row.left, row.hours, row.megabytes) == ((0, 0), (0.0, 0.0, 0.0), None)


def test_a_size_that_differs_between_scales_multiplies_the_work_or_is_named(project):
    overlay = "growth: {solver: {steps: 6}}, counting: {grid: {alpha: {values: [0.4, 0.5]}}, solver: {tolerance: 0.1}}"
    project.edit("config/toy/experiments/growth_curve.yaml", "growth: {replicas: 5}", overlay)
    compute(project, "growth", "counting")
    logged(project, "growth", (10.8, 27.0))
    logged(project, "counting", (6.0,))
    rows = found()
    assert rows["growth"].hours[1] == pytest.approx(4 * 37.8 / 3600)
    assert (rows["growth"].ignored, rows["counting"].ignored) == ((), ("tolerance", "alpha"))
    # All four points are left, because the tolerance differs.
    assert rows["counting"].hours == pytest.approx((6 / 3600,) * 3)


def test_a_file_of_another_scale_with_the_same_name_gives_its_own_work(project):
    project.edit("config/toy/experiments/growth_curve.yaml", "growth: {replicas: 5}", "growth: {solver: {steps: 6}}")
    assert main(["run", str(project.experiment), "--estimator", "growth", "--scale", "paper"]) == 0
    logged(project, "growth", (10.8, 27.0))
    assert found()["growth"].left == (0, 0)
    assert found({})["growth"].hours[1] == pytest.approx(37.8 / 4 / 3600)


@pytest.mark.parametrize("text", ["", ": {size} points computed, 2 taken from other chunks"])
def test_a_job_that_failed_or_copied_points_gives_no_time(project, text):
    compute(project, "growth")
    logged(project, "growth", (10.8, 27.0), text=text)
    assert (found()["growth"].hours, found()["growth"].timed) == (None, 0)


def test_the_smoke_run_has_a_separate_folder(project):
    compute(project, "growth")
    logged(project, "growth", (10.8, 27.0))
    row = found({"scale": "smoke"})["growth"]
    assert (row.left, row.timed) == ((6, 1), 0)


def test_the_table(project, capsys):
    compute(project, "growth")
    logged(project, "growth", (1080, 2700.0), megabytes=300)
    capsys.readouterr()
    assert main(["estimate", "--scale", "paper", "--families", "toy"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "0.70 (0.60 to 1.20) 2 8 of 20 2 of 2 300 of 1000 growth_curve growth: alpha steps^2" in lines
    assert "no finished chunk 0 4 of 4 1 of 1 ? of 1000 growth_curve counting: points" in lines
    total = "26 points in 12 chunks left; 10 of them, of 4 estimators, without a finished chunk"
    assert [line for line in lines if line.endswith(total)] == [
        f"0.70 (0.60 to 1.20) {name}: {total}" for name in ("toy", "all")
    ]
    assert main(["estimate", "--families", "other"]) == 2
    assert "families: 'other': no folder" in capsys.readouterr().err


@pytest.mark.slow
def test_the_work_of_every_estimator_is_positive_and_names_keys_of_its_family():
    for experiment in load_project(REPOSITORY, PAPER).all():
        family = load_family(experiment.family)
        classes = [*family.data.values(), *family.estimators.values()]
        known = set().union(*(fields(cls, section) for cls in classes for section in ("model", "grid", "solver")))
        for estimator in experiment.all_estimators.values():
            assert set(estimator.specification.work(estimator)) <= known, (experiment.path, estimator.name)
            assert _work(estimator, estimator.chunks[0].points) > 0, (experiment.path, estimator.name)
