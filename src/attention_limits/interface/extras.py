"""Packages that only some calls need, and the extra that installs each."""

from collections.abc import Iterator
from contextlib import contextmanager

from attention_limits.pipeline.base.errors import SpecError

EXTRAS = {
    "matplotlib": "plot",
    "plotly": "explore",
    "pyarrow": "parquet",
    "jax": "training",
    "tokenizers": "training",
}


@contextmanager
def extras() -> Iterator[None]:
    """Raise a SpecError with the command that installs it where the package of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        hint = f'pip install "attention-limits[{extra}]", or in a checkout pip install ".[{extra}]"'
        raise SpecError([f"{package} is not installed: {hint}"]) from None
