"""The profile for Slurm in a path with a space, with commands that look like those of Slurm; `make slurm` installs its plugin."""

import re

import pytest

from toy import path_with

pytestmark = pytest.mark.slow

pytest.importorskip("snakemake_executor_plugin_slurm")

CUBE = "results/cubes/toy/growth_curve.nc"
# The queue is a folder: a file with the script of each job, one with its output and one with its state.
COMMANDS = {
    "sbatch": """\
        for word; do case "$word" in --wrap=*) script="${word#--wrap=}" ;; esac; done
        echo "$@" >> "$QUEUE/submitted"
        number=1
        until mkdir "$QUEUE/$number.held" 2> /dev/null; do number=$((number + 1)); done
        printf '%s\\n' "$script" > "$QUEUE/$number.sh"
        echo RUNNING > "$QUEUE/$number.state"
        ( if SLURM_JOB_ID=$number sh "$QUEUE/$number.sh" > "$QUEUE/$number.out" 2>&1; then echo COMPLETED; else echo FAILED; fi \\
            > "$QUEUE/$number.new"; mv "$QUEUE/$number.new" "$QUEUE/$number.state" ) < /dev/null > /dev/null 2>&1 &
        echo "$number"
    """,
    "srun": 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"',
    "squeue": 'cd "$QUEUE"; for state in *.state; do echo "${state%.state}|$(cat "$state")"; done',
    "sinfo": "echo 'all*'",
    "scontrol": "exit 0",
    "sacctmgr": "echo me",
    "scancel": "exit 0",
}


def test_jobs_run_where_the_project_lies_in_a_path_with_a_space(toy, tmp_path):
    queue = tmp_path / "queue"
    queue.mkdir()
    toy.edit("config/toy/experiments/growth_curve.yaml", "chunk: {alpha: 2}", "chunk: {}")
    assert " " in toy.python
    assert " " in str(toy.folder)
    arguments = ["--workflow-profile", "workflow/profiles/slurm", "--slurm-status-command", "squeue", "--jobs", "2"]
    arguments += ["--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "2", "--retries", "0"]
    arguments += ["--default-resources", "slurm_partition='all'", "slurm_account='me'", "mem_mb=1000", "runtime=60"]
    # A partition by name of rule reaches the queue.
    arguments += ["--set-resources", "toy_counting:slurm_partition='long'"]
    arguments += ["--max-jobs-per-timespan", "1000/1s"]
    path = path_with(tmp_path / "bin", COMMANDS)
    refused = toy.snakemake(CUBE, *arguments, PATH=path, QUEUE=str(queue))
    assert refused.returncode != 0
    assert f"{toy.python}: Snakemake cannot start a Python with a space" in refused.stderr
    assert list(queue.iterdir()) == []
    toy.link_python(tmp_path / "environment")
    done = toy.snakemake(CUBE, *arguments, PATH=path, QUEUE=str(queue))
    printed = "".join(item.read_text() for item in queue.glob("*.out"))
    assert done.returncode == 0, done.stderr + printed
    assert len(list(queue.glob("*.sh"))) == 3
    submitted = (queue / "submitted").read_text().splitlines()
    partitions = {"--comment rule_toy_counting" in line: re.search(r"-p '?(\w+)'?", line)[1] for line in submitted}
    assert partitions == {True: "long", False: "all"}
    assert (toy.folder / CUBE).exists()
