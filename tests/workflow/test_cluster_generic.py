"""The profile for clusters with a queue of any kind, with commands that look like those of Grid Engine."""

import re
import shlex
import sys

import pytest

from attention_limits.pipeline.experiments.experiment import load_experiment
from toy import imported, path_with

pytestmark = pytest.mark.slow

# The queue is a folder: a job that has ended has a file with its exit status. The first job is killed.
COMMANDS = {
    "qsub": """\
        for script; do :; done
        echo "$PARTITION: $@" >> "$QUEUE/submitted"
        number=$(wc -l < "$QUEUE/submitted")
        if [ "$number" = 1 ]; then echo 137 > "$QUEUE/$number"
        else ( sh "$script" > "$QUEUE/$number.out" 2>&1; echo $? > "$QUEUE/$number" ) & fi < /dev/null > /dev/null 2>&1
        echo "$number"
    """,
    "qstat": '[ ! -e "$QUEUE/$2" ]',
    "qacct": 'echo "exit_status  $(cat "$QUEUE/$2")"',
    "qdel": "exit 0",
}


def test_jobs_are_submitted_with_what_they_ask_for_and_tried_again(toy, tmp_path):
    queue = tmp_path / "queue"
    queue.mkdir()
    spec = "config/toy/experiments/growth_curve.yaml"
    toy.edit(
        spec, "    solver: {steps: 3}", "    solver: {steps: 3}\n    resources: {threads: 2, memory: 600, minutes: 90}"
    )
    toy.edit(spec, "chunk: {alpha: 2}", "chunk: {}")
    path = path_with(tmp_path / "bin", COMMANDS)
    arguments = [
        "--workflow-profile",
        "workflow/profiles/cluster-generic",
        "--seconds-between-status-checks",
        "1",
        "--latency-wait",
        "2",
    ]
    # Options by name of rule reach the queue.
    arguments += ["--set-resources", "toy_counting:mem_mb=1400", "toy_counting:slurm_partition=long"]
    arguments += ["--default-resources", "slurm_partition='normal'", "mem_mb=1000", "runtime=60"]
    submit = "workflow/profiles/cluster-generic/submit.sh {threads} {resources.mem_mb} {resources.runtime}"
    arguments += ["--cluster-generic-submit-cmd", f"PARTITION={{resources.slurm_partition}} {submit}"]
    with imported(toy):
        chunks = load_experiment(toy.folder / spec).chunk_paths("results")
    arguments += ["--jobs", "1", "--max-jobs-per-timespan", "1000/1s", *chunks]
    # Python lies in a path with a space: a message says what to do, and no job is submitted.
    refused = toy.snakemake(*arguments, PATH=path, QUEUE=str(queue))
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
    assert f"{toy.python}: Snakemake cannot start a Python with a space" in refused.stderr
    assert f"ln -s {shlex.quote(sys.prefix)} ~/limits.venv && ~/limits.venv/bin/python -m snakemake\n" in refused.stderr
    assert not (queue / "submitted").exists()
    # The script of the job still lies in such a path.
    toy.link_python(tmp_path / "environment")
    done = toy.snakemake(*arguments, PATH=path, QUEUE=str(queue))
    assert done.returncode == 0, done.stderr
    submitted = (queue / "submitted").read_text().splitlines()
    # Two chunks, one of them twice.
    assert len(submitted) == 3
    asked = [re.search(r"-pe smp (\d+ -l \S+) ", line)[1] for line in submitted]
    partitions = {(line.partition(":")[0], "1400M" in line or "2800M" in line) for line in submitted}
    assert partitions == {("long", True), ("normal", False)}
    first, second = asked[:2]
    plain = {
        "2 -l h_vmem=300M,h_rt=5400": "2 -l h_vmem=600M,h_rt=10800",
        "1 -l h_vmem=1400M,h_rt=3600": "1 -l h_vmem=1400M,h_rt=7200",
    }
    assert plain[first] in asked
    assert second in (plain[first], *plain)
    assert all((toy.folder / chunk).exists() for chunk in chunks)
    assert toy.planned(*chunks) == []
