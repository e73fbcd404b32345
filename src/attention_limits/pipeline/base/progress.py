"""Progress of a loop on a terminal or in a notebook."""

import sys
import warnings
from collections.abc import Iterable

with warnings.catch_warnings():
    # In a notebook without widgets the bar is text.
    warnings.simplefilter("ignore")
    from tqdm.auto import tqdm


def progress(items: Iterable, total: int, label: str) -> Iterable:
    """The items, with a bar on a terminal or in a notebook, and nothing in a log file."""
    shown = sys.stderr.isatty() or "ipykernel" in sys.modules
    return tqdm(items, desc=label, total=total, leave=False, disable=not shown)
