"""Progress of a loop on a terminal."""

import sys
from collections.abc import Iterable

from tqdm import tqdm


def progress(items: Iterable, total: int, label: str) -> Iterable:
    """The items, with a bar on a terminal and nothing in a log file."""
    return tqdm(items, desc=label, total=total, leave=False, disable=not sys.stderr.isatty())
