"""The grammar of all figures: widths, colours by meaning, lines, symbols, thresholds, legends.

A line is theory, a filled symbol a simulation, both with one standard error. A faint open circle is a replica that fails a
flag: no line joins it, and no mean contains it. A faint open square is one that passes, of a point without mean. A cross is a
published value, a triangle on the axis a threshold, an open triangle a threshold of another kind. A short dash is theory at a
single point, an upward arrow a lower bound. A filled symbol on a line, or for a threshold, is theory on a coarse grid. A thin
pale line is one run.
"""

import functools
import io
import string
from pathlib import Path

import matplotlib as mpl
import matplotlib.style
import numpy as np
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D

from attention_limits.numerics.probability.statistics import lies_on_two_sides, mean_and_error

# Widths of figures in inches: one panel, two panels, more. Text has the same size in all of them.
NARROW, MIDDLE, WIDE = 5.2, 7.6, 10.8

# The palette of Okabe and Ito, whose colours readers with any colour vision distinguish.
BLACK, BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = (
    "#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9",
)  # fmt: skip
# One colour for each layer, everywhere.
LAYER_COLORS = {1: VERMILLION, 2: BLUE, 3: GREEN, 4: PURPLE, 5: ORANGE}
# One colour for each meaning, everywhere.
COLORS = {
    "bayes": BLACK, "plug_in": "0.5", "amp": BLUE, "descent": VERMILLION, "average": ORANGE, "best": PURPLE,
    "semantic": VERMILLION, "positional": BLUE, "uninformed": BLUE, "informed": VERMILLION,
}  # fmt: skip
# Curves that belong to no layer and have no order.
SERIES_COLORS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE)
# Legends of symbols and styles that all colours share.
KEY = "0.3"
PUBLISHED = {
    "marker": "x",
    "markersize": 4,
    "linestyle": "none",
    "color": "0.45",
    "markeredgewidth": 0.9,
    "zorder": 3.5,
    "clip_on": False,
}
# Tints of the layers' colours, for the layer that was learned last; 0 means that no layer is learned.
PHASE_COLORS = {0: "#f2f2f2", 1: "#fbe9dc", 2: "#e2edf6", 3: "#e1f2ec"}
HARD_COLOR = "#f3e3c3"

# A replica that fails a flag, or lies on one side of a jump: never joined by a line, never in a mean.
FLAGGED = {
    "marker": "o",
    "markersize": 3,
    "markerfacecolor": "none",
    "markeredgewidth": 0.6,
    "linestyle": "none",
    "alpha": 0.5,
}
FLAGGED_ID, ONE_REPLICA = "flagged", "one replica, fails a flag"
# One that passes, where most others fail or lie on the other side of a jump: a square.
NO_MEAN = "one replica of a point without mean"
# Of a line through the points of a coarse grid: it only joins them.
DOTS = {"marker": ".", "markersize": 5}
# Points; at the size of the others one would not see that a star is one.
_SIZES = {"*": 7}
# Of the triangles of thresholds, and what they cover, as a fraction of the axes.
_THRESHOLD_ID, _TRIANGLE = "threshold", 0.006
_EDGE = 1e-6

_SETTINGS = {
    "font.size": 9,
    "figure.dpi": 200,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.title_fontsize": 7.5,
    "lines.linewidth": 1.5,
}

# Texts take their settings when they are made, ticks when the figure is saved. The settings of the user's matplotlibrc have no
# part: a picture is the same for everybody, and needs no LaTeX.
_settings = mpl.style.context(["default", _SETTINGS])


def house_style(draw):
    """Decorates every draw(): the settings of this module, and an entry below the panels for the open circles, if one is visible.

    The entry depends on the limits of the axes; hence it is made when the figure is complete.
    """

    @functools.wraps(draw)
    @_settings
    def styled(*arguments, **options):
        _take_fonts_of_matplotlib()
        figure = draw(*arguments, **options)
        if isinstance(figure, Picture):
            _name_flagged(figure)
        return figure

    return styled


def _take_fonts_of_matplotlib():
    """Put the fonts that come with matplotlib into its list of fonts, before others of the same name.

    With other fonts the pictures would differ. The list in the user's cache lacks these fonts if a process wrote it while its
    matplotlib was installed or removed.
    """
    folder = Path(mpl.get_data_path(), "fonts", "ttf")
    listed = {entry.fname for entry in fontManager.ttflist}
    for file in sorted(folder.glob("*.ttf")):
        if str(file) not in listed:
            fontManager.addfont(file)
    fontManager.ttflist.sort(key=lambda entry: Path(entry.fname).parent != folder)


class Picture(Figure):
    """A figure that a notebook shows, without pyplot."""

    # The legend below all panels: its handles by their names and its look, as `legend_below` got them, and the legend itself.
    below, look, legend_of_all = {}, {}, None

    @_settings
    def savefig(self, fname, **options) -> None:
        """As of every figure, with the settings of this module."""
        super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        content = io.BytesIO()
        self.savefig(content, format="png")
        return content.getvalue()


def new_figure(rows, columns, width, height, **subplots):
    """A figure and its axes, with a letter at each of several panels.

    `width` is one of the standard widths, in inches like `height`; further arguments as for `Figure.subplots`.
    """
    figure = Picture(figsize=(width, height), layout="constrained")
    panels = figure.subplots(rows, columns, **subplots)
    if rows * columns > 1:
        for letter, axes in zip(string.ascii_lowercase, np.ravel(panels), strict=False):
            letter_panel(axes, letter)
    return figure, panels


def letter_panel(axes, letter, pad=None):
    """Write the letter of a panel above its left end; `pad` is its distance in points."""
    axes.set_title(letter, loc="left", fontweight="bold", pad=pad)


def ordered_colors(values, low=None, high=None, logarithmic=False, colormap="viridis"):
    """Colours (n, 4) of the values of a parameter with an order, such as a noise or a ridge: dark for the smallest.

    `low` and `high` are the ends of the scale, by default those of the `values`; a value has the same colour wherever the ends
    are the same. A second parameter of one figure has another `colormap`, a name of matplotlib.
    """
    scale = np.log if logarithmic else np.asarray
    low, high = (np.min(values) if low is None else low), (np.max(values) if high is None else high)
    span = scale(high) - scale(low)
    place = (scale(np.asarray(values, dtype=float)) - scale(low)) / span if span else np.zeros(len(values))
    return mpl.colormaps[colormap](0.9 * np.clip(place, 0.0, 1.0))


def present(array, dimension="alpha"):
    """Drop the grid values at which an estimator has no value."""
    return array.dropna(dimension, how="all")


def largest(values):
    """The largest finite one of some values; NaN without any."""
    values = np.asarray(values, dtype=float)
    return float(np.max(values[np.isfinite(values)])) if np.isfinite(values).any() else np.nan


def realised_alpha(part, alpha):
    """Alpha of the data sets of a simulation at the values `alpha` of its grid: n is rounded, in all replicas alike."""
    return part.realised_alpha.sel(alpha=alpha).max("replica").values


def banded_line(axes, x, values, error, color, label=None, **look):
    """A line with a band of plus and minus `error` around its `values`; `look` are further properties of the line."""
    axes.plot(x, values, color=color, label=label, **look)
    axes.fill_between(x, values - error, values + error, color=color, alpha=0.3, linewidth=0)


def sound_mean(replicas, flags=None, jump=np.nan):
    """Mean over the replicas that pass their flags, its standard error, and the replicas that have no part in it.

    A point has no mean where fewer than half of its replicas pass, and where those that pass lie on two sides of a jump.

    Parameters
    ----------
    replicas : array (n, replicas)
        Missing values are NaN.
    flags : array (n, replicas), optional
        0 where a replica fails a flag; the product of all flags of the estimator.
    jump : float, optional
        None for a quantity that does not jump, such as a fraction of few pairs: equal replicas are no sign of small noise there.

    Returns
    -------
    mean, error : arrays (n,)
    left_out : array (n, replicas)
        The values of the replicas that have no part in the mean; NaN elsewhere.
    """
    replicas = np.asarray(replicas, dtype=float)
    failed = _failed(replicas, flags)
    passed, present = np.where(failed, np.nan, replicas), np.isfinite(replicas)
    none = 2 * np.isfinite(passed).sum(axis=1) < present.sum(axis=1)
    if jump is not None:
        none |= lies_on_two_sides(np.where(none[:, None], np.nan, passed))
    passed[none] = np.nan
    mean, error = mean_and_error(passed, axis=1)
    return mean, error, np.where(np.isfinite(passed), np.nan, replicas)


def _entry(label, mean):
    """The entry of the legend for means (n,): none where no point has a mean."""
    return label if np.isfinite(mean).any() else None


def _failed(replicas, flags):
    return np.zeros(np.shape(replicas), dtype=bool) if flags is None else np.asarray(flags, dtype=float) == 0


def curve(axes, x, replicas, color, label, linestyle="-", flags=None, jump=np.nan, **look):
    """Mean over replicas as a line, plus and minus one standard error as a band; see `sound_mean`.

    The line breaks where there is no mean, and at a `jump` of x, whose sides have separate means; `jump` is None if the quantity
    does not jump. Each replica without part in a mean is a faint open symbol. The legend has the `label` if a point has a mean.

    Parameters
    ----------
    x : array (n,)
    replicas, flags : arrays (n, replicas)
    look : properties of the line
    """
    x, replicas = np.asarray(x), np.asarray(replicas)
    flags = None if flags is None else np.asarray(flags)
    right = np.zeros(len(x), dtype=bool) if jump is None else x > jump
    for side in (side for side in (~right, right) if side.any()):
        sound = None if flags is None else flags[side]
        mean, error, left_out = sound_mean(replicas[side], sound, jump)
        name = _entry(label, mean)
        banded_line(axes, x[side], mean, error, color, name, linestyle=linestyle, **look)
        # Both sides of a jump have one entry.
        label = None if name else label
        # A line through one point is invisible.
        there = np.pad(np.isfinite(mean), 1)
        alone = there[1:-1] & ~there[:-2] & ~there[2:]
        axes.plot(x[side][alone], mean[alone], ".", color=color, markersize=4)
        _left_out(axes, x[side], left_out, sound, color)


def points(axes, x, replicas, flags, color, label, marker="o", jump=np.nan):
    """Mean over replicas as a marker with its standard error as a bar; see `sound_mean`, also for `jump`.

    Each replica without part in a mean is a faint open symbol. The legend has the `label` if a point has a mean.

    Parameters
    ----------
    replicas, flags : arrays (n, replicas)
    """
    x = np.asarray(x)
    mean, error, left_out = sound_mean(replicas, flags, jump)
    axes.errorbar(
        x, mean, error, color=color, label=_entry(label, mean), linestyle="none", marker=marker,
        markersize=_SIZES.get(marker, 4), capsize=2, elinewidth=1, zorder=3,
    )  # fmt: skip
    _left_out(axes, x, left_out, flags, color)


def theory_points(axes, x, replicas, flags, color, label=None):
    """Mean over replicas of a theory at single points, as short dashes; see `sound_mean`.

    Parameters
    ----------
    replicas, flags : arrays (n, replicas)
    """
    x = np.asarray(x)
    mean, error, left_out = sound_mean(replicas, flags)
    axes.errorbar(
        x, mean, error, color=color, label=_entry(label, mean), linestyle="none", marker="_", markersize=9,
        markeredgewidth=1.6, elinewidth=1, zorder=2.8,
    )  # fmt: skip
    _left_out(axes, x, left_out, flags, color)


def lower_bounds(axes, x, values, color, label=None):
    """Lower bounds, such as the length of runs that did not escape: upward arrows."""
    axes.plot(x, values, linestyle="none", marker=r"$\uparrow$", markersize=8, color=color, label=label, zorder=3)


def published_points(axes, x, y, error=None, color=PUBLISHED["color"], label=None, **look):
    """Published values as crosses, with their standard deviation over the runs as a bar if they are simulations.

    Without points it is an entry of the legend.
    """
    # An unclipped symbol without a place would stretch the layout to the corner of the page.
    look = {"elinewidth": 0.8, **PUBLISHED, "color": color, "clip_on": len(np.atleast_1d(x)) == 0, **look}
    axes.errorbar(x, y, error, label=label, **look)


def mark_threshold(axes, position, color, error=0.0, label=None, hollow=False):
    """A threshold: a triangle on the x axis, with a bar of plus and minus `error` where it is visible.

    At a `position` of NaN it is an entry of the legend. `hollow` distinguishes a second kind of threshold of the same colour.
    """
    axes.errorbar(
        position, 0.0, xerr=error or None, marker="^", markersize=6, color=color, linestyle="none", elinewidth=2.0,
        clip_on=False, zorder=4, transform=axes.get_xaxis_transform(), label=label, gid=_THRESHOLD_ID,
        markerfacecolor="white" if hollow else color,
    )  # fmt: skip


def legend_below(figure, axes, ncols=4, key=None, **look):
    """One legend below all panels: the entries of `axes` in their order, or sorted by a `key` of the name, each name once.

    `house_style` adds the entry of the open circles.
    """
    handles = {}
    for panel in np.ravel(axes):
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    order = sorted(handles, key=key) if key else handles
    figure.below, figure.look = {name: handles[name] for name in order}, {"ncols": ncols, **look}
    _place_below(figure, {})


def _place_below(figure, flagged):
    """The legend below, with the handles of the open circles as its last entries."""
    if figure.legend_of_all:
        figure.legend_of_all.remove()
    entries = figure.below | flagged
    place = {"loc": "outside lower center", **figure.look}
    figure.legend_of_all = figure.legend(entries.values(), entries.keys(), **place) if entries else None


def flagged_points(axes, x, y, color, name=ONE_REPLICA):
    """Open circles for values that fail a flag; `name` is their entry in the legend, which `house_style` makes."""
    # The underscore hides the name from other legends.
    look = FLAGGED | {"marker": "s"} if name == NO_MEAN else FLAGGED
    axes.plot(x, y, color=color, gid=FLAGGED_ID, label=f"_{name}", zorder=2.5, **look)


def say_why(axes, reason):
    """Name the open circles that some axes have so far, in the legend, by the reason why they have no part in a mean."""
    for panel in np.ravel(axes):
        for line in panel.lines:
            if line.get_gid() == FLAGGED_ID and line.get_label() == f"_{ONE_REPLICA}":
                line.set_label(f"_{reason}")


def _left_out(axes, x, replicas, flags, color):
    """The values (n, replicas) that have no part in a mean; the others are NaN. Those that pass their flags are open squares."""
    failed = _failed(replicas, flags)
    for name, these in ((ONE_REPLICA, failed), (NO_MEAN, ~failed)):
        row, column = np.nonzero(np.isfinite(replicas) & these)
        if row.size:
            flagged_points(axes, x[row], replicas[row, column], color, name)


def flagged_entries(figure):
    """Entries of a legend, handle by name, for the faint open symbols that lie within the limits of their axes."""
    marks = {
        line.get_label().removeprefix("_"): line.get_marker()
        for axes in figure.axes
        for line in axes.lines
        if line.get_gid() == FLAGGED_ID and _visible(axes, line)
    }
    return {name: Line2D([], [], color=KEY, **FLAGGED | {"marker": marks[name]}) for name in sorted(marks)}


def _name_flagged(figure):
    """Name the visible open circles in the legend below, where no panel's legend names them."""
    legends = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    shown = {text.get_text() for legend in legends for text in legend.get_texts()}
    _place_below(figure, {name: handle for name, handle in flagged_entries(figure).items() if name not in shown})


def _visible(axes, line):
    """Whether a circle lies within the limits, and beside the thresholds: a triangle covers the values that stand there."""
    # The limits follow from the data when they are asked for.
    axes.get_xlim(), axes.get_ylim()
    x, y = axes.transAxes.inverted().transform(axes.transData.transform(line.get_xydata())).T
    inside = (np.abs(x - 0.5) < 0.5 + _EDGE) & (np.abs(y - 0.5) < 0.5 + _EDGE)
    for other in axes.lines:
        if other.get_gid() == _THRESHOLD_ID:
            place = axes.transAxes.inverted().transform(other.get_transform().transform(other.get_xydata()))[0, 0]
            inside &= (np.abs(x - place) > _TRIANGLE) | (y > _TRIANGLE)
    return inside.any()


def shade_phases(axes, boundaries, labels, layers, low, high):
    """Shade the intervals between the boundaries of the x axis and write a label at the top of each.

    `layers` are the layers learned at the boundaries, in order: an interval has the tint of the layer that is learned at its
    left edge.
    """
    # The letter of the panel stands above the labels.
    letter_panel(axes, axes.get_title(loc="left"), pad=16 if any(labels) else None)
    edges = [low, *boundaries, high]
    for left, right, layer, label in zip(edges[:-1], edges[1:], (0, *layers), labels, strict=True):
        axes.axvspan(left, right, color=PHASE_COLORS[layer], linewidth=0, zorder=0)
        axes.annotate(
            label, (0.5 * (left + right), 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2),
            textcoords="offset points", ha="center", va="bottom", fontsize=7.5,
        )  # fmt: skip
