"""Progress of a loop on stderr, shown to people and not to log files."""

import sys
import time
from collections.abc import Iterable, Iterator


def progress(items: Iterable, total: int, label: str) -> Iterator:
    """Yield `items`, writing points done and time left on stderr; silent when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    start = shown = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - shown > 0.2 or done == total:
            left = (now - start) / done * (total - done)
            print(f"\r{label}: {done}/{total}, {left:.0f} s left \x1b[K", end="", file=sys.stderr, flush=True)
            shown = now
    print(file=sys.stderr)
