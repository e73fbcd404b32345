"""Command of this family: exponent. Nothing heavy is imported before it runs."""

from attention_limits.pipeline.base.arguments import finite, positive, whole


def add(commands) -> None:
    """Add the parser to the `commands` of argparse."""
    exponent = commands.add_parser(
        "exponent",
        help="information exponents of a target for a student, with errors, and the escape time of SGD",
        epilog="FILE.py:NAME is a function of fields (n, M) with outputs (n,) or (n, P).",
        example="--target hermite --degree 4 --student trace_attention --tokens 2",
    )
    exponent.add_argument("--target", required=True, help="hermite, name of a link, or FILE.py:NAME")
    exponent.add_argument("--tokens", type=whole(1), required=True, help="tokens M of a sequence")
    exponent.add_argument("--student", help="name of a link, or FILE.py:NAME (default: the target itself)")
    exponent.add_argument("--degree", type=whole(0), help="degree of the target hermite")
    exponent.add_argument(
        "--weights", type=finite, nargs="+", default=[1.0], help="its weights, one or one per token (default: 1)"
    )
    exponent.add_argument("--constant", type=finite, default=0.0, help="its constant (default: 0)")
    exponent.add_argument(
        "--position", type=finite, nargs="+", help="positional encoding of each token (default: 1 -1 1 ...)"
    )
    exponent.add_argument("--untied", action="store_true", help="each token of the student has its own weights")
    exponent.add_argument("--order", type=whole(1), default=6, help="highest order (default: 6)")
    exponent.add_argument("--tolerance", type=positive, default=1e-11, help="of the quadrature (default: 1e-11)")
    exponent.set_defaults(function="sequence_single_index.reports.exponent:exponent_command")
