"""Command of this family: check-channel. Nothing heavy is imported before it runs."""

from attention_limits.pipeline.base.arguments import not_negative, whole


def add(commands) -> None:
    """Add the parser to the `commands` of argparse. Its function receives unknown options `--name value` as `parameters`."""
    channel = commands.add_parser(
        "check-channel",
        help="test a channel of extensive width on random scores",
        epilog="Parameters of the channel follow by name: --kept 2.",
        example="softmax --tokens 3",
    )
    channel.add_argument(
        "channel", metavar="FILE.py:NAME", help="a channel in a Python file, or the name of a provided one"
    )
    channel.add_argument("--tokens", type=whole(1), default=2, help="number of tokens (default: 2)")
    channel.add_argument(
        "--output_noise",
        "--output-noise",
        type=not_negative,
        default=0.0,
        help="variance of the output noise (default: 0)",
    )
    channel.add_argument("--outputs", type=whole(64), default=2048, help="outputs of each test (default: 2048)")
    channel.add_argument("--seed", type=whole(0), default=0, help="seed of the scores (default: 0)")
    channel.set_defaults(parameters={}, function="attention_indexed.reports.check_channel:check_channel_command")
