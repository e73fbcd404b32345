"""Processes that have imported Snakemake and fork for each call: the import costs more than a dry run of the toy project.

They read one JSON line per call and write its exit status. One serves copies of the package, which only the fork imports, from
the path of the call. The other serves the checkout and has read its project already: its digests of code, parsed files and
checks of links take longer than all else in a dry run. Tests with `-m snakemake` show that a new process does the same.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]


@cache
def _server(*folders: str) -> tuple[subprocess.Popen, threading.Lock]:
    """The process that has read the projects in these folders."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, __file__, *folders], text=True, **pipes), threading.Lock()


def call(arguments: list[str], cwd: Path | str, env: dict[str, str], python: str) -> subprocess.CompletedProcess:
    """Run Snakemake with `arguments` in the folder `cwd`; `python` is the interpreter that it takes for its own."""
    copied = "PYTHONPATH" in env
    server, lock = _server() if copied else _server(str(CHECKOUT))
    with tempfile.TemporaryDirectory() as folder, lock:
        files = {name: Path(folder, name) for name in ("stdout", "stderr")}
        where = {"cwd": str(cwd), "env": env, "python": python, **{name: str(file) for name, file in files.items()}}
        server.stdin.write(json.dumps({"arguments": arguments, **where}) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    return subprocess.CompletedProcess(arguments, status, **texts)


def _become(arguments: list[str], cwd: str, env: dict[str, str], python: str, stdout: str, stderr: str) -> None:
    """Do in a fork what `python -m snakemake ARGUMENTS` does in a new process; it has ten minutes."""
    signal.alarm(600)
    for path, number in ((os.devnull, 0), (stdout, 1), (stderr, 2)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = ["", *env.get("PYTHONPATH", "").split(os.pathsep)]
    sys.executable, sys.argv = python, ["snakemake", *arguments]
    from snakemake.cli import main

    main()


def _read(folder: str) -> None:
    """Read the project in a folder, and the code of its jobs and figures, as the rules do."""
    from attention_limits.pipeline.experiments.project import load_project

    for scale in ("laptop", "smoke"):
        for figure in load_project(Path(folder), {"scale": scale}).figures.values():
            figure.digest(0)


def _serve(folders: list[str]) -> None:
    for name in ("snakemake.cli", "snakemake.workflow", "snakemake.report", "pydantic", "yaml", "yte", "numpy"):
        importlib.import_module(name)
    assert "attention_limits" not in sys.modules
    for folder in folders:
        _read(folder)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _become(**json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1:])
