"""Progress of a loop on a terminal or in a notebook, and the seconds that the compiler takes."""

import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def progress(items: Iterable, total: int, label: str) -> Iterable:
    """The items, with a bar on a terminal or in a notebook, and nothing in a log file."""
    # A late import: `attention-limits thresholds` has no bar.
    with warnings.catch_warnings():
        # In a notebook without widgets the bar is text.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm(items, desc=label, total=total, leave=False, disable=not _watched())


def _watched() -> bool:
    """Whether a person waits: at a terminal or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


# Seconds: a person who waits for a longer compilation than _WHY reads why; the end reports those longer than _WORTH.
_WHY, _WORTH = 2.0, 1.0
_depth = 0


@contextmanager
def compilation_reported() -> Iterator[None]:
    """Report on stderr the seconds that numba compiles inside of the block, and where it keeps the code; nothing below a second.

    In a block inside of a block only the outer one reports.
    """
    global _depth
    # Late imports: numba takes a second.
    from numba.core import event

    from attention_limits.numerics.compiled import FOLDER

    class Compilation(event.Listener):
        depth, kept, again, said = 0, 0.0, 0.0, False

        def on_start(self, event):
            if self.depth == 0:
                self.begin = time.monotonic()
            self.depth += 1

        def on_end(self, event):
            self.depth -= 1
            if self.depth:
                return
            seconds = time.monotonic() - self.begin
            # Functions of a user, and what is compiled with them, have no file of code.
            if event.data["dispatcher"].stats.cache_path is None:
                self.again += seconds
            else:
                self.kept += seconds
                if self.kept > _WHY and not self.said and _watched():
                    self.said = True
                    print("compiling, once on this machine", file=sys.stderr, flush=True)

    if _depth:
        yield
        return
    _depth += 1
    try:
        with event.install_listener("numba:compile", Compilation()) as found:
            yield
    finally:
        _depth -= 1
        if found.kept >= _WORTH:
            print(f"compiled for {found.kept:.0f} s, once on this machine; {FOLDER} keeps the code", file=sys.stderr)
        if found.again >= _WORTH:
            print(
                f"compiled for {found.again:.0f} s what no file keeps: each process compiles it again", file=sys.stderr
            )
