"""Stands in for conda where there is none: answers what Snakemake asks, and makes environments of the packages at hand.

An environment has all packages of the Python that runs this, but neither attention_limits nor its distribution.
Calls of conda, and of the Python of an environment, are written into the file named by CONDA_LOG.
"""

import argparse
import json
import os
import shlex
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

ACTIVATE = 'export PATH="$1/bin:$PATH"\n'
PYTHON = '#!/bin/sh\necho python "$@" >> "$CONDA_LOG"\nexec {interpreter} "$@"\n'


def install(folder: Path) -> Path:
    """Put the commands `conda` and `activate` into a folder as a base installation has them; the folder for PATH."""
    commands = folder / "bin"
    commands.mkdir(parents=True)
    call = shlex.join([sys.executable, str(Path(__file__).resolve()), str(folder)])
    (commands / "conda").write_text(f'#!/bin/sh\nexec {call} "$@"\n')
    (commands / "conda").chmod(0o755)
    (commands / "activate").write_text(ACTIVATE)
    return commands


def _create(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for flag in ("--quiet", "--no-default-packages"):
        parser.add_argument(flag, action="store_true", required=True)
    for option in ("--file", "--prefix"):
        parser.add_argument(option, type=Path, required=True)
    given = parser.parse_args(arguments)
    shutil.copy(given.file, f"{os.environ['CONDA_LOG']}.yaml")

    venv.create(given.prefix, symlinks=True)
    python = given.prefix / "bin" / "python"
    interpreter = python.rename(python.with_name("interpreter"))
    python.write_text(PYTHON.format(interpreter=shlex.quote(str(interpreter))))
    python.chmod(0o755)
    (packages,) = given.prefix.glob("lib/python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "attention_limits" not in path.name:
            (packages / path.name).symlink_to(path)


def main(base: str, *arguments: str) -> None:
    """What `conda` answers to the arguments; Snakemake asks nothing else."""
    with open(os.environ["CONDA_LOG"], "a") as log:
        print("conda", *arguments, file=log)
    match arguments:
        case ("info", "--json"):
            print(json.dumps({"conda_prefix": base, "platform": "linux-64"}))
        case ("--version",):
            print("conda 24.7.1")
        case ("config", "--get", "channel_priority", "--json"):
            print(json.dumps({"get": {"channel_priority": "strict"}}))
        case ("env", "create", *rest):
            _create(rest)
        case ("clean", "-y", "--tarballs"):
            pass
        case _:
            sys.exit(f"the stand-in for conda does not know: {shlex.join(arguments)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
