"""Rows of measurements, and their Markdown and JSON."""

import time
from dataclasses import asdict, dataclass, field

import numpy as np
from scipy.stats import linregress

_SCALES = {
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (3600.0, "h")),
    "iterations": ((1.0, "iterations"),),
}


@dataclass(frozen=True)
class Spread:
    """Median and range of repeated measurements."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values):
        """The spread of a sequence of numbers."""
        values = np.asarray(values, dtype=float)
        return cls(float(np.median(values)), float(values.min()), float(values.max()), len(values))

    def scaled(self, factor):
        """All of it times a positive factor."""
        return Spread(factor * self.median, factor * self.low, factor * self.high, self.count)


@dataclass(frozen=True)
class Row:
    """One comparison. Times are in `unit`. For a ratio above one ours needs less.

    If both programs ran alternately, `ratio` is measured pair by pair, so it may differ from the ratio of the medians.
    """

    what: str
    ours: Spread
    baseline: Spread | None = None
    ratio: Spread | None = None
    unit: str = "s"
    baseline_errors: dict[str, Spread] = field(default_factory=dict)
    our_errors: dict[str, Spread] = field(default_factory=dict)
    memory_mb: Spread | None = None
    note: str = ""

    @classmethod
    def in_turn(cls, what, times, **more):
        """The row of two programs that ran in turn: `times` (repeats, 2), of the baseline and ours; `more` as of the class."""
        baseline, ours = np.asarray(times).T
        return cls(what, Spread.of(ours), Spread.of(baseline), Spread.of(baseline / ours), **more)


@dataclass(frozen=True)
class Growth:
    """Power law cost ~ size^exponent, fitted by least squares to logarithms, with the standard error of the fit."""

    what: str
    size: str
    sizes: list[float]
    seconds: list[Spread]
    exponent: float
    error: float

    @classmethod
    def fit(cls, what, size, sizes, seconds):
        """Fit the medians of `seconds`, a list of Spread, against `sizes`."""
        line = linregress(np.log(sizes), np.log([spread.median for spread in seconds]))
        return cls(what, size, [float(x) for x in sizes], seconds, float(line.slope), float(line.stderr))


@dataclass(frozen=True)
class Roof:
    """Seconds of a kernel per unit of work, their bound, and the counts per unit behind it; `size` counts bytes."""

    what: str
    unit: str
    ours: Spread
    bound: float
    operations: float
    exponentials: float
    normals: float
    size: float
    note: str = ""


def number(value):
    """A positive number with three significant digits, thousands separated: 12 300, 45.6, 0.0123, 1.2e-05."""
    if value < 1e-3:
        return f"{value:.1e}"
    digits = 2 - int(np.floor(np.log10(value)))
    return f"{round(value, digits):,.{max(0, digits)}f}".replace(",", " ")


def spread_text(spread, factor=1.0, suffix=""):
    """`median (low–high) suffix`; the range is left out for a single measurement."""
    if spread is None:
        return ""
    text = number(spread.median / factor)
    if spread.count > 1:
        text += f" ({number(spread.low / factor)}–{number(spread.high / factor)})"
    return f"{text} {suffix}".strip()


def amount_text(spread, unit):
    """A spread in `unit`, seconds in the largest of ns, µs, ms, s and h below the median."""
    if spread is None:
        return ""
    fitting = [scale for scale in _SCALES[unit] if scale[0] <= spread.median]
    factor, name = fitting[-1] if fitting else _SCALES[unit][0]
    return spread_text(spread, factor, name)


def _errors_text(errors):
    return "; ".join(f"{name} {error.median:.1e} (max {error.high:.1e})" for name, error in errors.items())


def _table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _count(value):
    return f"{value:,.0f}".replace(",", " ") if value else ""


def roof_table(roofs):
    """Markdown table of kernels beside the limits of the machine."""
    return _table(
        ["kernel", "per", "operations", "exponentials", "normal numbers", "bytes", "bound", "ours", "share", "note"],
        [
            [
                roof.what,
                roof.unit,
                *(_count(value) for value in (roof.operations, roof.exponentials, roof.normals, roof.size)),
                amount_text(Spread.of([roof.bound]), "s"),
                amount_text(roof.ours, "s"),
                f"{100 * roof.bound / roof.ours.median:.0f} %",
                roof.note,
            ]
            for roof in roofs
        ],
    )


def markdown(rows, growths, roofs, conditions):
    """A list of the conditions {name: text} of the measurement, then the tables of all rows, fits and bounds."""
    comparisons = _table(
        ["what", "baseline", "ours", "ratio", "error of baseline", "error of ours", "peak memory / MB", "note"],
        [
            [
                row.what,
                amount_text(row.baseline, row.unit),
                amount_text(row.ours, row.unit),
                spread_text(row.ratio),
                _errors_text(row.baseline_errors),
                _errors_text(row.our_errors),
                spread_text(row.memory_mb),
                row.note,
            ]
            for row in rows
        ],
    )
    fits = _table(
        ["cost", "size", "from – to", "time from – to", "exponent"],
        [
            [
                fit.what,
                fit.size,
                f"{number(fit.sizes[0])} – {number(fit.sizes[-1])}",
                f"{amount_text(fit.seconds[0], 's')} – {amount_text(fit.seconds[-1], 's')}",
                f"{fit.exponent:.2f} ± {fit.error:.2f}",
            ]
            for fit in growths
        ],
    )
    listed = "\n".join(f"- {name}: {text}" for name, text in conditions.items())
    return (
        f"# Benchmarks\n\nMedian (lowest–highest).\n\n{listed}\n\n{comparisons}\n\n## Growth of the cost\n\n"
        f"time ~ size^exponent, exponent ± standard error of the fit.\n\n{fits}\n\n## Share of the limit of one core\n\n"
        "Bound: the longer of two times: the counted operations, exponentials and normal numbers at the rates above, "
        "or the bytes.\n\n"
        f"{roof_table(roofs)}\n"
    )


def plain(rows, growths, roofs, conditions):
    """The same as plain data for JSON."""
    return {
        "conditions": conditions,
        "rows": [asdict(row) for row in rows],
        "growth": [asdict(fit) for fit in growths],
        "roofs": [asdict(roof) for roof in roofs],
    }


def clocked(run, units=1):
    """(seconds per unit of work, result) of one call of `run`."""
    start = time.perf_counter()
    result = run()
    return (time.perf_counter() - start) / units, result


def timed(run, repeats, units=1):
    """Seconds per unit of work of each of `repeats` calls of `run`, array (repeats,), after one call that may compile."""
    run()
    return np.array([clocked(run, units)[0] for _ in range(repeats)])


def growth(what, size, sizes, work, units, repeats):
    """Time of `work(size)()` per unit of work at every size, without the first call, which may compile."""
    return Growth.fit(what, size, sizes, [Spread.of(timed(work(value), repeats, units)) for value in sizes])
