"""What the smoke run looks for in figures: each fault is found in a figure that has it, and in no other one."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex

import figure_faults
from attention_limits.pipeline.cubes import reader
from attention_limits.pipeline.cubes.readings import passed
from attention_limits.plotting import (
    COLORS,
    FLAGGED,
    LAYER_COLORS,
    NARROW,
    curve,
    flagged_points,
    house_style,
    legend_below,
    mark_threshold,
    new_figure,
)

X = np.linspace(0.0, 1.0, 50)


@house_style
def figure(legend=None, label=None, draw=lambda axes: axes.plot(X, X, label="a curve"), width=NARROW):
    """A line from corner to corner, with a legend or a label at a place of the axes."""
    made, axes = new_figure(1, 1, width, 3.0)
    draw(axes)
    if legend:
        axes.legend(loc=legend)
    if label:
        axes.text(*label, "a label", ha="center", va="center")
    return made


def covered(made):
    """The faults of a drawn figure, and what its legends and labels cover."""
    return figure_faults.faults(made) + [line for axes in made.axes for line in figure_faults.covered(axes)]


def test_legends_and_labels_that_cover_data_are_found():
    assert covered(figure("upper left", (0.8, 0.2))) == []
    assert covered(figure("upper right")) == ["the legend covers what is drawn"]
    assert covered(figure("upper left", (0.5, 0.5))) == ["'a label' covers what is drawn"]


@pytest.mark.parametrize(
    "draw",
    [
        lambda axes: axes.plot([0.0, 0.93, 1.0], [0.0, 0.95, 0.0], "o", label="symbols"),
        lambda axes: axes.errorbar([0.5, 0.93], [0.1, 0.1], [0.05, 0.9], linestyle="none", label="bars"),
        lambda axes: axes.fill_between(X, 0.0, X, label="a band"),
        lambda axes: axes.scatter([0.0, 0.93, 1.0], [0.0, 0.95, 0.0], label="a cloud"),
    ],
    ids=["symbols", "bars", "band", "cloud"],
)
def test_every_kind_of_data_counts(draw):
    assert covered(figure("upper right", draw=draw)) == ["the legend covers what is drawn"]
    assert covered(figure("upper left", draw=draw)) == []


@house_style
def test_a_legend_below_covers_nothing():
    made, axes = new_figure(1, 1, NARROW, 3.0)
    axes.plot(X, X, label="a curve")
    legend_below(made, axes)
    assert covered(made) == []


def test_colors_by_meaning():
    """Layers, solutions, methods and limits have their colours in every figure; grey entries name symbols alone."""
    figure, axes = new_figure(1, 1, NARROW, 3.0)
    axes.plot([0, 1], color=LAYER_COLORS[1], label="layer 1")
    axes.plot([0, 1], color=LAYER_COLORS[1], label="$Q_{22}$, state evolution")
    axes.errorbar([0], [1], [1], color=LAYER_COLORS[3], label="layer 2, AMP")
    axes.axvspan(0, 1, color=COLORS["semantic"], label="positional")
    axes.plot([0, 1], color="0.3", label="layers 1 and 2")
    for name, meaning in (
        ("Bayes-optimal", "bayes"),
        ("GAMP", "amp"),
        ("gradient descent, one start, $d = 100$", "descent"),
        ("weight decay, best $\\lambda$", "best"),
        ("informed start", "informed"),
    ):
        axes.plot([0, 1], color=COLORS[meaning], label=name)
        axes.plot([0, 1], color="0.3", label=name)
        axes.plot([0, 1], color="C8", label=name)
    axes.legend()
    found = [line for line in figure_faults.faults(figure) if "in the colour" in line]
    wrong = [line for line in found if to_hex("C8") not in line]
    assert len(found) == len(wrong) + 5
    assert {line.partition("' in")[0].removeprefix("the entry '") for line in wrong} == {
        "$Q_{22}$, state evolution",
        "layer 2, AMP",
        "positional",
    }


def test_widths_and_sizes_of_text():
    assert figure_faults.faults(figure(width=5.0)) == ["width 5 inches"]
    small = figure(draw=lambda axes: axes.set_title("tiny", fontsize=6))
    assert figure_faults.faults(small) == ["'tiny' in 6 points"]


def test_open_circles_are_named_exactly_where_they_are_visible():
    def low(axes):
        flagged_points(axes, [0.2], [0.7], "C0")

    def high(axes):
        flagged_points(axes, [0.2], [1.7], "C0")
        axes.set_ylim(0.0, 1.0)

    entry = "one replica, fails a flag"
    named, unnamed = figure(draw=low), figure(draw=high)
    assert figure_faults.faults(named) == figure_faults.faults(unnamed) == []
    assert [text.get_text() for text in named.legends[0].get_texts()] == [entry]
    assert unnamed.legends == []
    # A triangle on the axis covers what stands there.
    hidden = figure(
        draw=lambda axes: (
            mark_threshold(axes, 0.2, "C0"),
            flagged_points(axes, [0.2], [1e-5], "C0"),
            axes.set_ylim(0, 1),
        )
    )
    assert figure_faults.faults(hidden) == []
    assert hidden.legends == []
    # The limits change after the figure is complete.
    named.axes[0].set_ylim(0.0, 0.5)
    unnamed.axes[0].set_ylim(0.0, 2.0)
    assert figure_faults.faults(named) == [f"the entry {entry!r} without an open circle"]
    assert figure_faults.faults(unnamed) == [f"an open circle without the entry {entry!r}"]
    stranger = figure(draw=lambda axes: axes.plot(0.2, 0.7, **FLAGGED))
    assert figure_faults.faults(stranger)[0] == "an open circle that is not drawn by flagged_points"


@house_style
def _twice():
    """A figure that another draw() has made, with more in it: the entry of the inner one has lost its circle."""
    made = figure(draw=lambda axes: curve(axes, X[:1], [[0.5, 0.55, 0.5]], "C0", "a curve", flags=[[1.0, 0.0, 1.0]]))
    legend_below(made, made.axes)
    made.axes[0].set_ylim(0.0, 0.6)
    flagged_points(made.axes[0], [0.5], [0.5], "C1", "another flag")
    return made


def test_a_draw_within_a_draw_names_the_circles_once():
    (legend,) = _twice().legends
    assert [text.get_text() for text in legend.get_texts()] == ["a curve", "another flag", "one replica, fails a flag"]


@pytest.fixture
def cube():
    found = xr.Dataset(
        {name: (("alpha", "replica"), np.ones((3, 2))) for name in ("overlap", "converged", "iterations")}
    )
    for name in found:
        found[name].attrs["estimator"] = "theory"
    return found


def test_a_figure_is_watched_while_a_command_draws_it(cube, monkeypatch):
    def draw(cubes):
        return figure(width=5.0, draw=lambda axes: axes.plot(cubes["mine"].overlap, label="a curve"))

    module = types.ModuleType("drawn")
    module.draw, module.numbers = draw, lambda cubes: {"largest": float(cubes["mine"].converged.max())}
    monkeypatch.setitem(sys.modules, "drawn", module)
    monkeypatch.setattr(reader, "read", lambda path: cube)
    with figure_faults.watching("drawn") as (lines, numbers):
        cubes = {"mine": reader.read(Path("results/mine.nc"))}
        assert module.draw(cubes).axes
        assert module.numbers(cubes) == {"largest": 1.0}
    assert lines == ["width 5 inches", "mine: overlap is drawn without its flags: converged"]
    assert numbers == {"largest"}
    assert module.draw is draw


def test_a_variable_without_its_flag_is_found(cube):
    watched, seen = figure_faults.watched(cube)
    assert watched.isel(alpha=0).overlap.shape == (2,)
    assert seen == {"overlap"}
    assert figure_faults.without_flags(cube, seen) == ["overlap is drawn without its flags: converged"]
    passed(watched.isel(alpha=[0, 1]), "overlap")
    assert figure_faults.without_flags(cube, seen) == []


def test_one_of_two_flags_does_not_suffice(cube):
    cube["resolved"] = cube.overlap.copy()
    assert figure_faults.without_flags(cube, {"overlap", "converged"}) == [
        "overlap is drawn without its flags: resolved"
    ]
