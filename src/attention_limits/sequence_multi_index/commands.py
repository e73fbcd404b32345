"""Command of this family: check-link. Nothing heavy is imported before it runs."""

from attention_limits.pipeline.arguments import positive, whole


def add(commands) -> None:
    """Add the parser to the `commands` of argparse. Its function gets `--name value` of no option as `parameters`."""
    link = commands.add_parser(
        "check-link",
        help="test a link on random fields",
        epilog="Parameters of the link follow by name: --skip 1 --depth 2.",
    )
    link.add_argument("link", metavar="FILE.py:NAME", help="a link in a Python file, or the name of a provided one")
    link.add_argument("--outputs", type=whole(64), default=1024, help="outputs of each test (default: 1024)")
    link.add_argument("--resolution", type=positive, default=0.75, help="accuracy of the channel (default: 0.75)")
    link.add_argument("--seed", type=whole(0), default=0, help="seed of the fields (default: 0)")
    link.set_defaults(parameters={}, function="sequence_multi_index.link_reports:check_link_command")
