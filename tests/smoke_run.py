"""The real workflow at smoke scale without a process for each job: Snakemake plans, one process runs all its command lines.

The lines are those that Snakemake prints for its jobs, in its order. Python starts once, not for each of some 200 jobs. The
tests of the toy project and of the tutorials show that Snakemake runs such lines.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import figure_faults
import snakemake_server
from attention_limits import __main__ as program
from attention_limits.pipeline.experiments.figures import figure_module
from toy import REPOSITORY


def snakemake(folder: Path, *arguments: str) -> str:
    """The output of Snakemake for the repository's workflow in a working directory; it must succeed."""
    arguments = ["-s", str(REPOSITORY / "Snakefile"), *arguments]
    done = snakemake_server.call(arguments, folder, dict(os.environ), sys.executable)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def lines(planned: str) -> list[list[str]]:
    """Arguments of `attention-limits` in the command lines of a dry run, in its order."""
    found = re.findall(r"^Shell command: python -P -m attention_limits (.*) > \S+ 2>&1 \|\|", planned, re.MULTILINE)
    assert len(found) == len(re.findall(r"^Job \d+: ", planned, re.MULTILINE))
    return [shlex.split(line) for line in found]


def run(folder: Path, commands: list[list[str]]) -> dict[str, tuple[list[str], list[str]]]:
    """Run command lines one after the other in one new process. By drawn figure what `figure_faults.watching` gives."""
    done = subprocess.run(
        [sys.executable, __file__],
        cwd=folder,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    # Numba starts its threads once: no line may set their number.
    program.limit_threads = lambda threads: None
    figures = {}
    for command in json.load(sys.stdin):
        with contextlib.ExitStack() as watch:
            if command[0] == "draw":
                watching = figure_faults.watching(figure_module(*command[1].split("/")))
                lines, numbers = watch.enter_context(watching)
            if status := program.main(command):
                sys.exit(f"exit status {status}: {shlex.join(command)}")
        if command[0] == "draw":
            figures[Path(command[command.index("--output") + 1]).stem] = lines, sorted(numbers)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
