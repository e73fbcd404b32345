"""The command line: what the rules of the workflow call, and what a person can call."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from attention_limits.errors import CubeError, SpecError

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def _whole(minimum: int):
    def number(text: str) -> int:
        value = int(text)
        if value < minimum:
            raise ValueError
        return value

    number.__name__ = f"whole number ≥ {minimum}"
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="attention-limits",
        description="Compute, merge, draw and inspect the learning limits of attention models.",
        epilog="Exit codes: 0 done, 1 unexpected error, 2 wrong input (one line per problem).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    scaled = argparse.ArgumentParser(add_help=False)
    scaled.add_argument("--scale", default="laptop", choices=("laptop", "paper", "smoke"), help="default: laptop")
    scaled.add_argument("--seed", type=_whole(0), default=0, help="root seed of all random streams (default: 0)")

    run = commands.add_parser("run", parents=[scaled], help="compute chunks of an experiment")
    run.add_argument("spec", type=Path, metavar="SPEC", help="experiment file, config/experiments/<family>/<name>.yaml")
    run.add_argument("--estimator", required=True, help="an estimator of the experiment, or data it reads")
    run.add_argument("--chunk", help="name of one chunk (default: all that are not there yet)")
    run.add_argument("--output", type=Path, help="file of the chunk (default: below results/chunks)")
    run.add_argument("--threads", type=_whole(1), default=1, help="threads of BLAS and numba (default: 1)")

    merge = commands.add_parser("merge", parents=[scaled], help="join all chunks of an experiment into its cube")
    merge.add_argument("spec", type=Path, metavar="SPEC", help="experiment file")
    merge.add_argument("--output", type=Path, help="file of the cube (default: below results/cubes)")

    draw = commands.add_parser("draw", help="draw a figure from cubes, as PDF and PNG")
    draw.add_argument("figure", metavar="FIGURE", help="module of attention_limits.figures")
    draw.add_argument(
        "cubes", type=Path, nargs="+", metavar="CUBE", help="cubes; the figure gets each by its file name"
    )
    draw.add_argument("--output", type=Path, required=True, metavar="FIGURE.pdf", help="the PNG is put beside it")

    check = commands.add_parser("check", help="validate experiment files at every scale")
    check.add_argument("files", type=Path, nargs="+", metavar="FILE", help="experiment file")

    listing = commands.add_parser("list", parents=[scaled], help="list experiments, cubes and figures with their state")
    listing.add_argument("--project", type=Path, default=Path(), help="folder that holds config/ (default: here)")
    listing.add_argument("--stale", action="store_true", help="print only chunk files nothing needs any more")

    show = commands.add_parser("show", help="summarise a cube as text")
    show.add_argument("cube", type=Path, metavar="CUBE")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 0, or 2 for wrong input. Unexpected exceptions pass through."""
    options = vars(_parser().parse_args(arguments))
    if "threads" in options:
        # These are read once, when numpy and numba are first imported, hence the late imports below.
        os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(options.pop("threads"))))
    command = options.pop("command")
    module = "inspecting" if command in ("check", "list", "show") else "making"
    try:
        getattr(import_module(f"attention_limits.cli.{module}"), f"{command}_command")(**options)
    except (SpecError, CubeError) as error:
        for problem in error.problems:
            print(f"attention-limits: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
