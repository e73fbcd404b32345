"""The command line, for the rules of the workflow and for the user."""

import sys

from attention_limits.interface.extras import extras
from attention_limits.pipeline.base.errors import CubeError, SpecError, did_you_mean

try:
    with extras():
        import argparse
        import errno
        import io
        import os
        import re
        import time
        from collections.abc import Mapping
        from contextlib import AbstractContextManager, nullcontext
        from importlib import import_module, metadata
        from pathlib import Path
        from typing import NoReturn

        from attention_limits.pipeline.base import provenance
        from attention_limits.pipeline.base.arguments import mapping, named, path, whole
        from attention_limits.pipeline.base.errors import without_long_words
        from attention_limits.pipeline.base.provenance import PACKAGE
        from attention_limits.pipeline.base.threads import limit_threads, wrong_threads
except SpecError as wrong_place:
    # A random.py of the user ends Python before there is a command that could report it.
    print(f"attention-limits: {wrong_place}", file=sys.stderr)
    sys.exit(2)

# Commands that may compile for seconds.
_COMPUTING = ("run_command", "check_link_command", "check_channel_command", "exponent_command")
# Errors of a full or read-only disk, and of a path that cannot be; a traceback would add nothing.
_REFUSED = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP,
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """A parser whose help ends with an `example`, the words after its name, on a line that a user can copy.

    Its errors name the command or the option that a wrong word most likely means.
    """

    def __init__(self, *arguments, example: str | None = None, **options):
        super().__init__(*arguments, **options)
        self.example = example

    def format_help(self) -> str:
        last = "" if self.example is None else f"\nexample:\n  {self.prog} {self.example}".rstrip() + "\n"
        return super().format_help() + last

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        option = re.search(r"unrecognized arguments: (--[\w-]+)", message)
        if choice:
            message += did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2]))
        elif option:
            message += did_you_mean(option[1], re.findall(r"--[\w-]+", self.format_usage()))
        super().error(without_long_words(message))


def _parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser, and that of each command by its name."""
    parser = _Parser(
        prog="attention-limits",
        description="Compute, merge, draw and inspect the learning limits of attention models.",
        epilog="Exit codes: 0 done, 1 unexpected error, too little memory or disk, 2 wrong input (one line per problem).",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {metadata.version('attention-limits')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    scaled = _Parser(add_help=False)
    scaled.add_argument("--scale", default="laptop", choices=("laptop", "paper", "smoke"), help="default: laptop")
    scaled.add_argument("--seed", type=whole(0), default=0, help="root seed of all random streams (default: 0)")
    scaled.add_argument("--set", type=mapping, default={}, metavar="JSON", help="changes of models: family, model, key")
    scaled.add_argument("--results", default="results", help="folder of all results (default: results)")
    project = _Parser(add_help=False, parents=[scaled])
    project.add_argument("--project", type=path, default=Path(), help="folder that holds config/ (default: here)")
    families = _Parser(add_help=False, parents=[project])
    families.add_argument("--families", nargs="*", default=[], metavar="FAMILY", help="default: all")
    file = _Parser(add_help=False)
    file.add_argument("spec", type=path, metavar="SPEC", help="file config/<family>/experiments/<experiment>.yaml")

    def command(name: str, function: str, text: str, example: str, *parents) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, parents=parents, example=example)
        made.set_defaults(function=function)
        return made

    spec = "config/sequence_multi_index/experiments/fig1_learning_curve.yaml"
    cube = "results/cubes/sequence_multi_index/fig1_learning_curve.nc"
    run = command(
        "run", "cli.jobs:run_command", "compute chunks of an experiment", f"{spec} --estimator gamp", file, scaled
    )
    run.add_argument("--estimator", required=True, help="an estimator of the experiment, or its data")
    run.add_argument("--chunk", help="name of one chunk (default: all chunks that are missing or not current)")
    run.add_argument("--output", type=path, help="file of the chunk (default: below results/chunks)")
    run.add_argument("--threads", type=whole(1), default=1, help="threads of BLAS and numba (default: 1)")

    merge = command(
        "merge", "cli.jobs:merge_command", "join all chunks of an experiment into its cube", spec, file, scaled
    )
    merge.add_argument("--output", type=path, help="file of the cube (default: below results/cubes)")

    draw = command(
        "draw",
        "cli.jobs:draw_command",
        "draw a figure from cubes, as PDF and PNG",
        f"sequence_multi_index/fig1_left {cube} --output curve.pdf",
    )
    draw.add_argument("figure", metavar="FAMILY/FIGURE", help="module in the folder figures of a family")
    draw.add_argument("cubes", type=path, nargs="+", metavar="CUBE", help="the figure gets each by its file name")
    draw.add_argument(
        "--output", type=path, required=True, metavar="FIGURE.pdf", help="writes a PNG of the same name too"
    )
    draw.add_argument("--digest", metavar="SHA256", help="digest of cubes and code, written into the PNG")
    expected = "the cube_digest that each cube must have (default: any)"
    draw.add_argument("--expect", nargs="+", default=[], metavar="SHA256", help=expected)

    check = command("check", "cli.reports:check_command", "validate experiment files at every scale", spec)
    check.add_argument("files", type=path, nargs="+", metavar="FILE", help="experiment file")
    command(
        "list",
        "cli.reports:list_command",
        "list experiments and figures with the number of their files",
        "--scale paper",
        project,
    )
    command(
        "summary",
        "cli.reports:summary_command",
        "print the results of a run and unconverged points",
        "--results results",
        project,
    )
    landing = command(
        "landing",
        "cli.landing:landing_command",
        "write the front page of a run",
        "--output results/index.html",
        project,
    )
    landing.add_argument("--output", type=path, required=True, metavar="INDEX.html", help="the page")
    estimated = "estimate CPU hours of the jobs that are left, from finished jobs"
    command("estimate", "cli.reports:estimate_command", estimated, "--scale paper --families potts_mlm", families)
    show = command("show", "cli.reports:show_command", "summarise a cube as text", cube)
    show.add_argument("cube", type=path, metavar="CUBE")

    audit = command(
        "audit",
        "cli.reports:audit_command",
        "compare published numbers with the cubes",
        "--output results/audit.md",
        families,
    )
    audit.add_argument(
        "--output", type=path, required=True, metavar="TABLE.md", help="writes a JSON file of the same name too"
    )

    refine = command(
        "refine",
        "cli.reports:refine_command",
        "add grid values where a curve bends",
        f"{spec} {cube} --estimator state_evolution",
        file,
    )
    refine.add_argument("cube", type=path, metavar="CUBE", help="its cube, which holds the curve")
    refine.add_argument("--estimator", required=True, help="estimator whose grid is refined")
    refine.add_argument("--key", default="alpha", help="grid key (default: alpha)")
    refine.add_argument("--of", default="overlap", metavar="VARIABLE", help="variable of the curve (default: overlap)")
    refine.add_argument("--points", type=whole(1), default=10, help="number of new values (default: 10)")
    refine.add_argument("--log", action="store_true", help="measure distances along the axis in its logarithm")
    refine.add_argument("--write", action="store_true", help="write the values into the experiment file")

    for name in (
        "cli.interactive_parsers",
        *(f"{module.parent.name}.commands" for module in sorted(provenance.SOURCE.glob("*/commands.py"))),
    ):
        import_module(f"{PACKAGE}.{name}").add(commands)
    return parser, commands.choices


def _reported(function: str) -> AbstractContextManager:
    """The report of the compiler for the commands that compute, except those of `interface`, which has its own."""
    if function not in _COMPUTING:
        return nullcontext()
    from attention_limits.pipeline.base.progress import compilation_reported

    return compilation_reported()


def _leave_the_terminal_and_the_notebook() -> None:
    """Print letters that the terminal lacks by their numbers, and draw without the backend of a notebook.

    A terminal in a notebook inherits MPLBACKEND, the name of a module that the environment of the program need not have.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    os.environ.pop("MPLBACKEND", None)


def _refused(error: SpecError | CubeError | MemoryError) -> int:
    """Print the problems of an error, and return the exit code."""
    problems = [f"not enough memory: {error}"] if isinstance(error, MemoryError) else error.problems
    for problem in problems:
        print(f"attention-limits: {without_long_words(problem)}", file=sys.stderr)
    return 1 if isinstance(error, MemoryError) else 2


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit code: 0, 1 where disk or memory fails, 2 for wrong input; others pass through."""
    _leave_the_terminal_and_the_notebook()
    # A shell may have closed them (`>&-`).
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))
    try:
        os.getcwd()
    except OSError:
        print("attention-limits: the working directory does not exist any more", file=sys.stderr)
        return 1
    try:
        with extras():
            parser, parsers = _parser()
    except (SpecError, MemoryError) as error:
        return _refused(error)
    known, rest = parser.parse_known_args(arguments)
    options = vars(known)
    if "parameters" in options:
        try:
            options["parameters"] = named(rest)
        except ValueError as error:
            parsers[options["command"]].error(str(error))
    elif rest:
        parsers[options["command"]].error(f"unrecognized arguments: {' '.join(rest)}")
    if "threads" in options:
        # numpy and numba are imported below, when the command runs.
        limit_threads(options.pop("threads"))
    if problem := wrong_threads(os.environ):
        print(f"attention-limits: {problem}", file=sys.stderr)
        return 2
    command = options.pop("command")
    if "set" in options:
        from attention_limits.pipeline.experiments.messages import validated
        from attention_limits.pipeline.experiments.project import Run

        written = {key: options.pop(key) for key in ("scale", "seed", "set", "results")}
        options["run"], wrong = validated(Run, written)
        if wrong:
            parsers[command].error("; ".join(f"--{'.'.join(keys)}: {text}" for keys, text in wrong))
    module, _, function = options.pop("function").partition(":")
    try:
        with extras(), _reported(function):
            getattr(import_module(f"{PACKAGE}.{module}"), function)(**options)
        if module == "cli.jobs":
            # For the log of a job: its cost, independent of the load of the machine.
            print(f"{time.process_time():.1f} s of CPU")
        # A closed pipe raises here, not at the end of the interpreter.
        sys.stdout.flush()
    except (SpecError, CubeError, MemoryError) as error:
        return _refused(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            # The reader of a pipe, such as `head`, has closed it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        if error.errno not in _REFUSED:
            raise
        print(f"attention-limits: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
