"""Commands of this family: check-link, threshold-table and word-spectrum. Nothing heavy is imported before it runs."""

from attention_limits.pipeline.base.arguments import positive, whole


def add(commands) -> None:
    """Add the parsers to the `commands` of argparse. The first function gets unknown options `--name value` as `parameters`."""
    link = commands.add_parser(
        "check-link",
        help="test a link on random fields",
        epilog="Parameters of the link follow by name: --skip 1 --depth 2.",
        example="deep_attention --skip 1 --depth 2",
    )
    link.add_argument("link", metavar="FILE.py:NAME", help="a link in a Python file, or the name of a provided one")
    link.add_argument("--outputs", type=whole(64), default=1024, help="outputs of each test (default: 1024)")
    link.add_argument("--resolution", type=positive, default=0.75, help="accuracy of the channel (default: 0.75)")
    link.add_argument("--seed", type=whole(0), default=0, help="seed of the fields (default: 0)")
    link.set_defaults(parameters={}, function="sequence_multi_index.reports.check_link:check_link_command")
    table = commands.add_parser(
        "threshold-table",
        help="write the thresholds of cubes as CSV and HTML",
        epilog="The cubes are those of the estimators threshold_atlas and exact_recovery.",
        example="results/cubes/sequence_multi_index/atlas_*.nc",
    )
    table.add_argument("cubes", nargs="+", metavar="CUBE", help="files of cubes")
    table.add_argument(
        "--output", default="results/atlas", metavar="FOLDER", help="folder of the two files (default: results/atlas)"
    )
    table.set_defaults(function="sequence_multi_index.reports.threshold_table:atlas_command")
    spectrum = commands.add_parser(
        "word-spectrum",
        help="write the spectrum of the word vectors of a text",
        epilog="A model takes the file as covariance: {name: file, path: FILE}.",
        example="corpus.txt --dimension 64 --output spectrum.txt",
    )
    spectrum.add_argument("text", metavar="TEXT", help="a text, one sentence in a line, or the question corpus")
    spectrum.add_argument("--dimension", type=whole(2), default=64, help="dimension of a vector (default: 64)")
    spectrum.add_argument(
        "--output", default="spectrum.txt", metavar="FILE", help="file of the eigenvalues (default: spectrum.txt)"
    )
    spectrum.set_defaults(function="sequence_multi_index.reports.word_spectrum:word_spectrum_command")
