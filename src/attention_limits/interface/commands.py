"""Commands of the interface that the families share: thresholds, explore. Nothing heavy is imported before one of them runs."""

from pathlib import Path

from attention_limits.pipeline.arguments import whole


def add(commands) -> None:
    """Add the parsers to the `commands` of argparse. `thresholds` gets `--name value` of no option as `parameters`."""
    thresholds = commands.add_parser(
        "thresholds",
        aliases=["threshold"],
        help="print the thresholds of a link, or of a channel of extensive width, with errors",
        epilog="Keys of the model and of the solver follow by name: --link deep_attention --skip 1 --nodes 2048, or "
        "--channel softmax --tokens 2 --ratio 0.5.",
    )
    thresholds.add_argument(
        "--family", help="sequence_multi_index or attention_indexed (default: attention_indexed with --channel)"
    )
    thresholds.add_argument("--replicas", type=whole(1), help="scramblings of the nodes (default: 4, for links)")
    thresholds.add_argument("--seed", type=whole(0), default=0, help="root seed of the nodes (default: 0)")
    thresholds.set_defaults(parameters={}, function="cli.ask:thresholds_command")

    explore = commands.add_parser("explore", help="write cubes as one offline page for a browser")
    explore.add_argument("cubes", type=Path, nargs="+", metavar="CUBE")
    explore.add_argument("--output", "-o", type=Path, required=True, metavar="EXPLORER.html")
    explore.add_argument(
        "--project",
        type=Path,
        default=Path(),
        help="folder of config/ with figures and published numbers (default: here)",
    )
    explore.set_defaults(function="cli.ask:explore_command")
