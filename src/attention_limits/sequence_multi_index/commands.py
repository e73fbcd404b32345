"""Commands of this family: threshold, check-link. Nothing heavy is imported before one of them runs."""

from attention_limits.pipeline.arguments import positive, whole


def add(commands) -> None:
    """Add the parsers to the `commands` of argparse. Their function gets `--name value` of no option as `parameters`."""
    threshold = commands.add_parser(
        "threshold",
        help="print the thresholds of weak recovery of a link, with errors",
        epilog="Parameters of the link follow by name: --skip 1 --depth 2.",
    )
    threshold.add_argument("--link", default="deep_attention", help="name of a link, or FILE.py:NAME")
    threshold.add_argument("--replicas", type=whole(2), default=4, help="scramblings of the nodes (default: 4)")
    threshold.add_argument("--nodes", type=whole(16), default=1024, help="nodes per replica, a power of two")
    threshold.add_argument("--resolution", type=positive, default=0.75, help="accuracy of the channel (default: 0.75)")
    threshold.add_argument("--seed", type=whole(0), default=0, help="root seed of the nodes (default: 0)")
    threshold.set_defaults(parameters={}, function="sequence_multi_index.link_reports:threshold_command")

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
