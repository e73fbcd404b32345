"""Tables that print whole: every row, column and text, which pandas would cut."""

import shutil

import pandas as pd

# A longer table prints its first and last rows, and its size.
MOST_ROWS = 1000


class Whole(pd.DataFrame):
    """A table whose columns and texts print uncut, in a terminal in blocks of its width, in a notebook as one table."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return Whole

    def __repr__(self) -> str:
        width = shutil.get_terminal_size().columns
        with pd.option_context(*_UNCUT, "display.width", width, "display.expand_frame_repr", True):
            return super().__repr__()

    def _repr_html_(self) -> str:
        with pd.option_context(*_UNCUT):
            return super()._repr_html_()


class Listing(Whole):
    """A table of texts that prints as the lines in its attributes, in a notebook as a table. A part of it is `Whole`."""

    def __repr__(self) -> str:
        return "\n".join(self.attrs["lines"])


_UNCUT = (
    "display.max_columns",
    None,
    "display.max_colwidth",
    None,
    "display.max_rows",
    MOST_ROWS,
    "display.min_rows",
    60,
)
