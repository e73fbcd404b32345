"""The workflow on a real Slurm: the data of a local run, also when jobs are cancelled, crash, or get too little memory."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import xarray as xr
from slurm import NODES, PROGRAMS, Slurm

from attention_limits.pipeline.experiments.experiment import load_family
from attention_limits.pipeline.experiments.project import load_project
from toy import REPOSITORY, Toy, linked_python

pytestmark = pytest.mark.cluster

CUBE = "results/cubes/toy/growth_curve.nc"
SPEC = "config/toy/experiments/growth_curve.yaml"
KIND = "src/attention_limits/toy/estimators/growth.py"
# Settings that a site would put into its profile: no accounting here, and short waiting times.
SITE = [
    "--slurm-status-command=squeue",
    "--slurm-init-seconds-before-status-checks=3",
    "--latency-wait=10",
    "--max-jobs-per-timespan=1000/1s",
]


@pytest.fixture(scope="module")
def slurm():
    missing = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
    assert not missing, f"not installed: {', '.join(missing)}; see docs/cluster.md"
    # Paths of sockets are short.
    folder = Path(tempfile.mkdtemp(prefix="limits-"))
    running = Slurm(folder)
    with running:
        yield running
    assert running.processes() == []
    shutil.rmtree(folder)


@pytest.fixture
def project(tmp_path):
    """A toy project in a folder with a space."""
    toy = Toy(tmp_path / "a project")
    toy.link_python(tmp_path / "environment")
    return toy


@pytest.fixture(scope="session")
def sound(tmp_path_factory):
    """The bytes of the cube of an undisturbed local run."""
    local = Toy(tmp_path_factory.mktemp("local") / "project")
    done = local.snakemake("--cores", "1", CUBE)
    assert done.returncode == 0, done.stderr
    return (local.folder / CUBE).read_bytes()


def command(project, *arguments):
    profile = project.folder / "workflow" / "profiles" / "slurm"
    return [project.python, "-m", "snakemake", "--workflow-profile", str(profile), *SITE, *arguments]


def started(project, slurm, *arguments, **variables):
    """Snakemake on its way, its output in a file."""
    with (project.folder / "snakemake.out").open("ab") as output:
        return subprocess.Popen(
            command(project, *arguments),
            cwd=project.folder,
            env={**project.environment(**variables), **slurm.environment()} | project_path(project, slurm, variables),
            stdout=output,
            stderr=output,
        )


def project_path(project, slurm, variables):
    own = project.environment(**variables)
    return {name: own[name] for name in ("PYTHONPATH", "TOY_LOG", *variables)}


def finished(process, project, seconds=600):
    """The exit status and the output of a Snakemake."""
    try:
        status = process.wait(seconds)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return status, (project.folder / "snakemake.out").read_text()


def wait_until(condition, process, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert process.poll() is None, "Snakemake has ended"
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.2)
    return found


def computing(project, slurm, before=()):
    """The jobs that run and, the log of points says, compute."""
    running = {number: node for number, (state, node) in slurm.jobs().items() if state == "RUNNING"}
    busy = project.log.exists() and project.log.read_text()
    return {number: node for number, node in running.items() if number not in before} if busy else {}


def test_the_same_bytes_as_a_local_run(project, slurm, sound):
    status, output = finished(started(project, slurm), project)
    assert status == 0, output
    assert (project.folder / CUBE).read_bytes() == sound
    assert (project.folder / "results/figures/toy/toy_heights.pdf").exists()
    assert project.planned() == []
    # One submission for the cube and the figure, one for each chunk.
    assert output.count("has been submitted with SLURM jobid") == 4


def test_a_cancelled_job_is_tried_again(project, slurm, sound):
    before = slurm.jobs()
    process = started(project, slurm, CUBE, TOY_SLEEP="3")
    (number, *_) = wait_until(lambda: computing(project, slurm, before), process)
    slurm.command("scancel", number)
    status, output = finished(process, project)
    assert status == 0, output
    assert slurm.jobs()[number][0] == "CANCELLED"
    assert f"SLURM-job '{number}' failed, SLURM status is: 'CANCELLED'" in output
    assert (project.folder / CUBE).read_bytes() == sound


def test_a_node_that_crashes_costs_its_job_alone(project, slurm, sound):
    before = slurm.jobs()
    process = started(project, slurm, CUBE, TOY_SLEEP="3")
    _number, node = next(iter(wait_until(lambda: computing(project, slurm, before), process).items()))
    slurm.crash_node(node)
    try:
        status, output = finished(process, project)
    finally:
        slurm.start_node(node)
    assert status == 0, output
    assert (project.folder / CUBE).read_bytes() == sound
    deadline = time.monotonic() + 60
    while slurm.node_states() != dict.fromkeys(NODES, "idle") and time.monotonic() < deadline:
        time.sleep(0.5)
    assert slurm.node_states() == dict.fromkeys(NODES, "idle")


def test_a_killed_snakemake_is_resumed(project, slurm, sound):
    before = slurm.jobs()
    process = started(project, slurm, CUBE, TOY_SLEEP="1")
    wait_until(lambda: computing(project, slurm, before), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # Its jobs still run, and write the same files as those of the next one.
    assert (
        subprocess.run(
            command(project, "--unlock"), cwd=project.folder, env=project.environment(), check=False
        ).returncode
        == 0
    )
    status, output = finished(started(project, slurm, CUBE), project)
    assert status == 0, output
    assert (project.folder / CUBE).read_bytes() == sound


HUNGRY = """\
def run(spec, streams):
    import os, time
    once = os.path.join(spec["project"], "once")
    if spec["estimator"] == os.environ["TOY_FAULT"] and not os.path.exists(once):
        {forgets}
        filled = bytearray(int(os.environ["TOY_BYTES"]))
        time.sleep(float(os.environ["TOY_SECONDS"]))
    return plainly(spec, streams)


def plainly(spec, streams):
"""


def hungry(project, resources, forgets="pass"):
    """The estimator `counting` asks for `resources`, and takes what the environment says."""
    kind = "src/attention_limits/toy/estimators/counting.py"
    project.edit(kind, "def run(spec, streams):\n", HUNGRY.format(forgets=forgets))
    project.edit(SPEC, "    replicas: 2\n", f"    replicas: 2\n    resources: {resources}\n")


def heights(path):
    with xr.open_dataset(path) as cube:
        return cube.height.load()


def test_too_little_memory_and_too_little_time_are_doubled(project, slurm, tmp_path):
    """A job that is killed for its memory has twice as much when it is tried again, and likewise for the time."""
    hungry(project, "{memory: 700}")
    arguments = {"TOY_FAULT": "counting", "TOY_BYTES": "700_000_000", "TOY_SECONDS": "6"}
    status, output = finished(started(project, slurm, CUBE, **arguments), project)
    assert status == 0, output
    logs = [path.read_text() for path in project.folder.glob(".snakemake/slurm_logs/*/*/*.log")]
    assert any("Exceeded job memory limit" in text for text in logs)
    assert output.count("Trying to restart") == 1
    first = heights(project.folder / CUBE)

    late = Toy(tmp_path / "late")
    late.link_python(tmp_path / "environment_of_late")
    hungry(late, "{minutes: 1}", forgets="open(once, 'w').close()")
    before = slurm.jobs()
    arguments = {"TOY_FAULT": "counting", "TOY_BYTES": "0", "TOY_SECONDS": "600"}
    status, output = finished(started(late, slurm, CUBE, **arguments), late)
    assert status == 0, output
    limits = [line.split() for line in slurm.command("squeue", "-h", "--states=all", "-o", "%i %T %l").splitlines()]
    assert [limit for number, state, limit in limits if number not in before and state == "TIMEOUT"] == ["1:00"]
    assert [limit for number, state, limit in limits if number not in before].count("2:00") == 1
    xr.testing.assert_identical(first, heights(late.folder / CUBE))


def test_never_enough_memory_is_said_and_mended_by_hand(project, slurm, sound):
    hungry(project, "{memory: 400}")
    arguments = {"TOY_FAULT": "counting", "TOY_BYTES": "1_500_000_000", "TOY_SECONDS": "6"}
    status, output = finished(started(project, slurm, CUBE, **arguments), project)
    assert status == 1
    assert "results/logs/chunks/toy/growth_curve/counting/" in output
    # The other estimator is done, and stays done.
    kept = {
        path: path.stat().st_mtime_ns for path in project.folder.glob("results/chunks/toy/growth_curve/growth/*.nc")
    }
    assert len(kept) == 2
    more = ["--set-resources", "toy_counting:mem_mb=3000"]
    status, output = finished(started(project, slurm, CUBE, *more, **arguments), project)
    assert status == 0, output
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def test_small_jobs_in_one_submission(project, slurm, sound):
    many = ["--groups", "toy_growth=chunks", "toy_counting=chunks", "--group-components", "chunks=3", "--cores", "1"]
    status, output = finished(started(project, slurm, CUBE, *many), project)
    assert status == 0, output
    assert output.count("has been submitted with SLURM jobid") == 2
    assert (project.folder / CUBE).read_bytes() == sound


def test_all_families_at_smoke_scale(slurm, tmp_path):
    """The real experiments, data shared by several estimators among them. CLUSTER_FAMILIES=potts_mlm runs one family alone.

    Twenty chunks, or twenty merges, share a submission, because each submission starts Snakemake again.
    """
    families = os.environ.get("CLUSTER_FAMILIES", "all")
    project = load_project(REPOSITORY, {"scale": "smoke", "families": families})
    cubes = [experiment.cube_path(project.run.folder) for experiment in project.all()]
    rules = {
        load_family(experiment.family).rule(name) for experiment in project.all() for name in experiment.all_estimators
    }
    # A node has one core: what is grouped goes one after the other.
    grouped = ["--groups", *(f"{rule}=chunks" for rule in sorted(rules))]
    grouped += ["--group-components", "chunks=20", "drawing=20", "--cores", "1"]
    profile = ["--workflow-profile", str(REPOSITORY / "workflow/profiles/slurm"), *SITE, "--jobs", "4"]
    # The checkout may lie in a path with a space, where no queue starts a Python.
    python = linked_python(tmp_path / "environment")
    digests = []
    for name, how in (("local", ["--cores", "2"]), ("on slurm", [*profile, *grouped])):
        folder = tmp_path / name
        folder.mkdir()
        arguments = ["-s", str(REPOSITORY / "Snakefile"), "--config", "scale=smoke", f"families={families}"]
        done = subprocess.run(
            [python, "-m", "snakemake", *arguments, *how, "--", *cubes],
            cwd=folder,
            env={**os.environ, **slurm.environment()},
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = {}
        for path in cubes:
            with xr.open_dataset(folder / path) as cube:
                found[path] = cube.attrs["data_digest"]
        digests.append(found)
    assert digests[0]
    assert digests[0] == digests[1]
