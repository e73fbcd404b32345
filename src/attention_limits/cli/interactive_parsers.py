"""Commands of the interface: compute, thresholds, export, explore, estimators, describe. Nothing heavy is imported here."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from attention_limits.pipeline.base.arguments import mapping, path, whole


def add(commands: Any) -> None:
    """Add the parsers to the `commands` of argparse. Two of them get every other `--name value` as `parameters`."""

    def command(name: str, text: str, example: str, more: str | None = None) -> ArgumentParser:
        # With abbreviations the key `a` of a model would be --aggregate.
        made = commands.add_parser(name, help=text, allow_abbrev=False, epilog=more, example=example)
        made.set_defaults(function=f"cli.interactive:{name}_command")
        return made

    def keys_follow(parser: ArgumentParser) -> None:
        parser.set_defaults(parameters={})
        parser.add_argument("--seed", type=whole(0), default=0, help="root seed of all random numbers (default: 0)")

    aggregate = "in tables: mean, standard error and number of replicas per point"
    compute = command(
        "compute",
        "run one estimator without an experiment file",
        "attention_indexed.state_evolution --channel softmax --tokens 2 --ratio 0.5 --alpha 0:0.3:31 --plot curve.pdf",
        "Keys of model, grid and solver follow by name; --alpha takes 0.5, or 0.5,1, or 0:0.3:31 (start:stop:num).",
    )
    keys_follow(compute)
    compute.add_argument("estimator", metavar="FAMILY.ESTIMATOR", help="a name that the command estimators prints")
    compute.add_argument("--replicas", type=whole(1), default=1, help="independent repetitions (default: 1)")
    compute.add_argument("--workers", type=whole(1), default=1, help="processes that share the points (default: 1)")
    compute.add_argument("--results", type=path, help="folder that keeps the points (default: nothing is kept)")
    compute.add_argument(
        "--data",
        type=mapping,
        metavar="JSON",
        help='solver settings of the data: {"gaussian_sequences": {"dimension": 100}}',
    )
    compute.add_argument("--output", "-o", type=path, metavar="CUBE.nc", help="the cube")
    compute.add_argument("--csv", type=path, metavar="TABLE.csv", help="one row per point and replica")
    compute.add_argument("--plot", type=path, metavar="CURVE.pdf", help="picture of the variable --y")
    compute.add_argument("--y", metavar="VARIABLE", help="variable of the picture (default: overlap, mmse or the like)")
    compute.add_argument("--color", metavar="DIMENSION", help="dimension that the colours of the picture show")
    compute.add_argument("--aggregate", action="store_true", help=aggregate)

    thresholds = command(
        "thresholds",
        "print the thresholds of a link, or of a channel of extensive width, with errors",
        "--channel softmax --tokens 2 --ratio 0.5",
        "Keys of the model and of the solver follow by name: --link deep_attention --skip 1 --nodes 2048, or --channel softmax.",
    )
    keys_follow(thresholds)
    thresholds.add_argument(
        "--family", help="sequence_multi_index or attention_indexed (default: attention_indexed with --channel)"
    )
    thresholds.add_argument("--replicas", type=whole(1), help="scramblings of the nodes (default: 4, for links)")

    export = command("export", "print a cube as CSV, or write CSV or Parquet", "cube.nc --csv table.csv")
    export.add_argument("cube", type=path, metavar="CUBE")
    for kind in ("csv", "parquet"):
        text = "write this file (default: beside the cube)"
        export.add_argument(f"--{kind}", type=path, nargs="?", const=Path(), metavar=f"TABLE.{kind}", help=text)
    export.add_argument("--aggregate", action="store_true", help=aggregate)

    explore = command(
        "explore", "write cubes as one offline page for a browser", "results/cubes/*/*.nc --output cubes.html"
    )
    explore.add_argument("cubes", type=path, nargs="+", metavar="CUBE")
    explore.add_argument(
        "--output",
        "-o",
        type=path,
        metavar="EXPLORER.html",
        help="the page (default: beside a single cube, else explorer.html)",
    )
    explore.add_argument(
        "--project",
        type=path,
        default=Path(),
        help="folder of config/ with figures and published numbers (default: here)",
    )

    command("estimators", "list the estimators of all families", "")
    describe = command(
        "describe", "list the keys of an estimator: allowed values, default, meaning", "sequence_multi_index.gamp"
    )
    describe.add_argument("estimator", metavar="FAMILY.ESTIMATOR", help="a name that the command estimators prints")
