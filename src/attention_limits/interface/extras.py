"""Packages that only some calls need, and the extra that installs each."""

from attention_limits.pipeline.errors import SpecError

EXTRAS = {
    "matplotlib": "plot",
    "plotly": "explore",
    "pyarrow": "parquet",
    "jax": "training",
    "optax": "training",
    "tokenizers": "training",
}


def missing(error: ModuleNotFoundError) -> Exception:
    """The error to raise where `error` is about the package of an extra, a SpecError with the command that installs it."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return error
    return SpecError([f"{package} is not installed: pip install attention-limits[{EXTRAS[package]}]"])
