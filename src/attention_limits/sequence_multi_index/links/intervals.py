"""Links of one or two fields with few discrete outputs: along the last field, each output is a set of intervals.

The intervals are read off the output, so that links of a user have them too.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attention_limits.sequence_multi_index.links.link import Link

# The last field is read up to FAR, at steps of STEP and, for narrow cells about zero, at SMALL and NEAR times that and so on.
FAR, STEP, SMALL, NEAR = 12.0, 0.1, 1e-4, 1.15
# Most outputs, most boundaries on a line, halvings of an interval that holds one.
MOST_OUTPUTS, MOST_BOUNDARIES, HALVINGS = 64, 64, 60
# Lines and fields on each of them on which the intervals must give the output.
LINES, FIELDS = 256, 64
# Lines that are read at once.
LINES_AT_ONCE = 2048


@dataclass(frozen=True)
class Intervals:
    """The outputs of a link along the last field h_2, for a given first one h_1 if there are two.

    Attributes
    ----------
    link : Link
    outputs : array (K, *output)
        The different outputs.
    """

    link: Link
    outputs: np.ndarray

    @property
    def lines(self) -> bool:
        """Whether there are two fields: the plane is cut into lines of one h_1."""
        return self.link.rows * self.link.tokens == 2

    @cached_property
    def only(self):
        """Boundaries (E,) and labels (E + 1,) of one field, as `along` gives them for a line."""
        edges, label = self._some(np.zeros(1))
        return edges[0], label[0]

    def along(self, first):
        """Boundaries of the cells on lines.

        Parameters
        ----------
        first : array (m,)
            h_1 of each line.

        Returns
        -------
        edges : array (m, E)
            Rising; infinite beyond the last boundary of a line.
        label : integer array (m, E + 1)
            Index of the output below each edge and above the last one.
        """
        parts = [
            self._some(first[place : place + LINES_AT_ONCE]) for place in range(0, max(1, len(first)), LINES_AT_ONCE)
        ]
        width = max(edges.shape[1] for edges, _ in parts)
        edges = [np.pad(one, ((0, 0), (0, width - one.shape[1])), constant_values=np.inf) for one, _ in parts]
        label = [np.pad(one, ((0, 0), (0, width + 1 - one.shape[1])), mode="edge") for _, one in parts]
        return np.concatenate(edges), np.concatenate(label)

    def _some(self, first):
        found = self.label_of(first[:, None], _GRID[None, :])
        line, place = np.nonzero(found[:, 1:] != found[:, :-1])
        low, high, before = _GRID[place], _GRID[place + 1], found[line, place]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.label_of(first[line], middle) == before
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        count = np.bincount(line, minlength=len(first))
        edges = np.full((len(first), count.max(initial=0)), np.inf)
        label = np.repeat(found[:, -1:], edges.shape[1] + 1, axis=1)
        # Numbers the boundaries of each line.
        number = np.arange(len(line)) - np.repeat(np.cumsum(count) - count, count)
        edges[line, number], label[line, number] = 0.5 * (low + high), before
        return edges, label

    def label_of(self, first, last):
        """Index of the output at fields `first` and `last`, arrays of one shape; -1 for an output that is not known."""
        first, last = np.broadcast_arrays(first, last)
        fields = np.stack([first, last], axis=-1) if self.lines else last[..., None]
        known = self.outputs.reshape(len(self.outputs), -1)
        shown = self.link.observe(fields.reshape(-1, self.link.rows, self.link.tokens)).reshape(
            last.size, known.shape[1]
        )
        found = np.full(last.size, -1)
        for k, output in enumerate(known):
            found[np.all(shown == output, axis=1)] = k
        return found.reshape(last.shape)


def _grid():
    small = SMALL * NEAR ** np.arange(np.log(FAR / SMALL) / np.log(NEAR))
    # No boundary that is a simple number lies on it.
    positive = np.union1d(small, STEP * (np.arange(FAR / STEP) + 1.0 / np.pi))
    return np.concatenate([-positive[::-1], positive])


_GRID = _grid()


def intervals_of(link: Link) -> Intervals | None:
    """The intervals of a link, or None if it has neither one nor two fields, or if its output is not one of a few, without noise,
    whose cells the steps of the program resolve."""
    size = link.rows * link.tokens
    if type(link).forward is Link.forward or size > 2 or link.noise_dimension or not hasattr(link, "log_likelihood"):
        return None
    points = _GRID[:, None] if size == 1 else np.stack(np.meshgrid(_GRID, _GRID, indexing="ij"), axis=-1).reshape(-1, 2)
    shown = np.asarray(link.observe(points.reshape(-1, link.rows, link.tokens)))
    # Few rows first: a continuous output has as many values as fields.
    if len(np.unique(shown[: len(_GRID)], axis=0)) > MOST_OUTPUTS:
        return None
    outputs = np.unique(shown, axis=0)
    if not 2 <= len(outputs) <= MOST_OUTPUTS:
        return None
    found = Intervals(link, outputs)
    return found if _holds(found) else None


def _holds(found) -> bool:
    """Whether the intervals give the output at other fields, and the likelihood says the same."""
    rng, link = np.random.default_rng(0), found.link
    # As many fields near zero as of order one.
    first, last = (
        rng.standard_normal((LINES, count)) * np.exp(-3.0 * rng.random((LINES, count))) for count in (1, FIELDS)
    )
    edges, label = found.along(first[:, 0])
    if edges.shape[1] > MOST_BOUNDARIES or np.any(label < 0):
        return False
    place = np.sum(last[:, :, None] > edges[:, None, :], axis=2)
    wanted = np.take_along_axis(label, place, axis=1)
    if not np.array_equal(found.label_of(first, last), wanted):
        return False
    fields = np.stack([np.broadcast_to(first, last.shape), last], axis=-1) if found.lines else last[..., None]
    h = fields.reshape(-1, 1, link.rows, link.tokens)
    explains = np.stack([
        link.log_likelihood(np.broadcast_to(output, (len(h), *np.shape(output))), h)[:, 0] for output in found.outputs
    ])  # fmt: skip
    return np.array_equal(explains, np.where(wanted.reshape(-1) == np.arange(len(explains))[:, None], 0.0, -np.inf))
