"""Command of this family: channel-threshold. Nothing heavy is imported before it runs."""

from attention_limits.pipeline.arguments import positive, whole


def add(commands) -> None:
    """Add the parser to the `commands` of argparse."""
    threshold = commands.add_parser(
        "channel-threshold",
        help="print the samples of weak and exact recovery of attention of extensive width",
    )
    threshold.add_argument(
        "--channel", required=True, help="output of the scores: linear, softmax, hardmax or hardmax_published"
    )
    threshold.add_argument("--tokens", type=whole(2), default=2, help="tokens T of a sequence (default: 2)")
    threshold.add_argument("--ratio", type=positive, default=0.5, help="width ratio rho = r / d (default: 0.5)")
    threshold.set_defaults(function="attention_indexed.threshold_report:threshold_command")
