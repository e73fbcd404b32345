"""Grids of parameter values, replicas, and their chunks."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attention_limits.pipeline.base.files import digest


@dataclass(frozen=True)
class Chunk:
    """One job: the outer product of some values of each grid key and some replicas."""

    grid: dict[str, list[float]]
    replicas: list[int]

    @functools.cached_property
    def name(self) -> str:
        """A name made only from the content: readable ranges, then eight digits of a hash of all values.

        It contains no index, so a larger grid or more replicas never give an old name to new content.
        """
        exact = {key: [float(value).hex() for value in values] for key, values in self.grid.items()}
        parts = [key + _span(values) for key, values in self.grid.items()] + ["replicas" + _span(self.replicas)]
        return "_".join([*parts, digest([exact, self.replicas])[:8]])

    @property
    def size(self) -> int:
        """The number of points: grid values times replicas."""
        return math.prod(len(values) for values in self.grid.values()) * len(self.replicas)

    @property
    def points(self) -> Iterator[tuple]:
        """Each point: its grid values in the order of the keys, then its replica."""
        return itertools.product(*self.grid.values(), self.replicas)


def axis_values(axis: dict) -> list[float]:
    """The values of `{start, stop, num, spacing, also}` or `{values: [...]}`, rounded to 12 significant digits.

    After rounding, 0.1 from a range equals a written 0.1, so the grids of two estimators have equal values.
    Raises ValueError when the values are not strictly increasing, or the ends of logarithmic spacing not positive.
    """
    if axis.get("also"):
        even = axis_values({key: value for key, value in axis.items() if key != "also"})
        return axis_values({"values": sorted({*even, *map(_rounded, axis["also"])})})
    if "values" in axis:
        values = [_rounded(value) for value in axis["values"]]
    else:
        start, stop, num = float(axis["start"]), float(axis["stop"]), int(axis["num"])
        if num == 1 and start != stop:
            raise ValueError("with num: 1, start and stop must be equal")
        if axis.get("spacing") == "log":
            if not min(start, stop) > 0:
                raise ValueError("with spacing: log, start and stop must be positive")
            return axis_values({"values": [start * (stop / start) ** (i / max(num - 1, 1)) for i in range(num)]})
        size = max(abs(start), abs(stop))
        values = [start + (stop - start) * (index / max(num - 1, 1)) for index in range(num)]
        # A range through zero meets it only up to a rounding error.
        values = [0.0 if abs(value) < 1e-12 * size else _rounded(value) for value in values]
    for low, high in itertools.pairwise(values):
        if low >= high:
            raise ValueError(f"values must be strictly increasing at 12 significant digits, not {low:g} then {high:g}")
    return values


def _rounded(value: float) -> float:
    return float(f"{value:.12g}") + 0.0


def cut(grid: dict[str, list[float]], replicas: int, chunk: dict[str, int]) -> list[Chunk]:
    """Cut grid × replicas into blocks of the sizes in `chunk`; a missing size means the whole axis."""
    axes: dict[str, list] = {**grid, "replicas": list(range(replicas))}
    blocks = []
    for key, values in axes.items():
        size = chunk.get(key, len(values))
        blocks.append([values[first : first + size] for first in range(0, len(values), size)])
    chunks = []
    for block in itertools.product(*blocks):
        parts = dict(zip(axes, block, strict=True))
        chunks.append(Chunk(replicas=parts.pop("replicas"), grid=parts))
    return chunks


def single(grid: dict[str, list[float]]) -> dict[str, int]:
    """The block sizes with one point in every chunk."""
    return dict.fromkeys([*grid, "replicas"], 1)


def _span(values: Sequence[float]) -> str:
    ends = [values[0]] if len(values) == 1 else [values[0], values[-1]]
    return "-".join(f"{value:.6g}".replace("+", "") for value in ends)
