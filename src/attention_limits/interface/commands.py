"""Commands of the interface that the families share: threshold, explore. Nothing heavy is imported before one of them runs."""

from pathlib import Path

from attention_limits.pipeline.arguments import whole


def add(commands) -> None:
    """Add the parsers to the `commands` of argparse. `threshold` gets `--name value` of no option as `parameters`."""
    threshold = commands.add_parser(
        "threshold",
        help="print the thresholds of a link, or of a channel of extensive width, with errors",
        epilog="Keys of the model and of the solver follow by name: --link deep_attention --skip 1 --nodes 2048, or "
        "--channel softmax --tokens 2 --ratio 0.5.",
    )
    threshold.add_argument("--replicas", type=whole(1), help="scramblings of the nodes (default: 4, for links)")
    threshold.add_argument("--seed", type=whole(0), default=0, help="root seed of the nodes (default: 0)")
    threshold.set_defaults(parameters={}, function="cli.ask:threshold_command")

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
