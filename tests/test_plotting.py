"""A mean holds the replicas that pass their flags and lie on one side of a jump; the figures show the others."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from attention_limits.numerics.probability.statistics import student
from attention_limits.plotting import (
    COLORS,
    LAYER_COLORS,
    SERIES_COLORS,
    curve,
    house_style,
    legend_below,
    lower_bounds,
    mark_threshold,
    new_figure,
    ordered_colors,
    points,
    sound_mean,
    theory_points,
)

REPLICAS = np.array([[0.0, 0.2, 0.1, 0.9], [0.3, 0.3, 0.1, 0.5], [0.5, 0.4, 0.6, np.nan], [0.7, 0.8, 0.9, np.nan]])
# Three of four pass, one of four, two of three, and one of three.
FLAGS = np.array([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 1, np.nan]], dtype=float)


def test_a_replica_that_fails_a_flag_is_in_no_mean():
    mean, error, left_out = sound_mean(REPLICAS, FLAGS)
    assert mean == pytest.approx([0.1, np.nan, 0.45, np.nan], nan_ok=True)
    assert error[[0, 2]] == pytest.approx([0.1 / np.sqrt(3) * student(3), 0.05 * student(2)])
    expected = [[np.nan] * 3 + [0.9], REPLICAS[1], [np.nan, np.nan, 0.6, np.nan], REPLICAS[3]]
    assert np.array_equal(left_out, np.array(expected), equal_nan=True)


def test_replicas_on_two_sides_of_a_jump_have_no_mean():
    """The third of five points mixes both sides."""
    rng = np.random.default_rng(1)
    values = np.array([0.2, 0.2, 0.2, 0.9, 0.9])[:, None] + 0.005 * rng.standard_normal((5, 4))
    values[2, 1:3] += 0.7
    mean, _, left_out = sound_mean(values)
    assert np.isfinite(mean).tolist() == [True, True, False, True, True]
    assert np.array_equal(left_out[2], values[2])
    assert np.isnan(left_out[[0, 1, 3, 4]]).all()


def test_equal_replicas_of_a_quantity_without_jumps_have_a_mean():
    """Fractions of 53 pairs: two of three splits agree by chance."""
    values = np.array([[30.0, 31.0, 30.0], [36.0, 37.0, 36.0], [48.0, 48.0, 42.0]]) / 53
    assert np.isnan(sound_mean(values)[0]).tolist() == [False, False, True]
    assert sound_mean(values, jump=None)[0] == pytest.approx(values.mean(axis=1))


@pytest.mark.parametrize("draw", [curve, points])
def test_pictures_show_what_has_no_part_in_a_mean(draw):
    _, axes = new_figure(1, 1, 2, 2)
    x = np.arange(4.0)
    draw(axes, x, REPLICAS, color="C0", label="theory", flags=FLAGS)
    failed, passed = (line for line in axes.lines if line.get_gid() == "flagged")
    assert sorted(failed.get_xdata()) == [0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    # Of the points at 1 and 3 most replicas fail.
    assert passed.get_xydata().tolist() == [[1.0, 0.3], [3.0, 0.9]]
    assert {line.get_markerfacecolor() for line in (failed, passed)} == {"none"}
    assert axes.get_legend_handles_labels()[1] == ["theory"]
    if draw is curve:
        # The points at 0 and 2 are alone, and a line through one point is invisible.
        assert axes.lines[1].get_xdata().tolist() == [0.0, 2.0]


@pytest.mark.parametrize("draw", [curve, points, theory_points])
def test_the_legend_names_only_what_has_a_mean(draw):
    _, axes = new_figure(1, 1, 2, 2)
    for label, flags in (("none passes", np.zeros((4, 4))), ("some pass", FLAGS)):
        draw(axes, np.arange(4.0), REPLICAS, flags=flags, color="C0", label=label)
    assert axes.get_legend_handles_labels()[1] == ["some pass"]


@pytest.mark.parametrize("passing", [slice(0, 2), slice(2, 4), slice(0, 4)])
def test_both_sides_of_a_jump_have_one_entry(passing):
    """Also where one side has no mean."""
    flags = np.zeros((4, 2))
    flags[passing] = 1.0
    _, axes = new_figure(1, 1, 2, 2)
    curve(
        axes, np.arange(4.0), np.repeat([[0.0], [0.1], [0.9], [1.0]], 2, axis=1), "C0", "theory", flags=flags, jump=1.5
    )
    (entry,) = axes.get_legend_handles_labels()[0]
    assert np.isfinite(entry.get_ydata()).any()


@pytest.mark.parametrize(
    ("flags", "entries"),
    [
        (None, ["theory"]),
        (FLAGS[:1, [0, 1, 3]], ["theory", "one replica, fails a flag"]),
        (FLAGS[:, :3], ["theory", "one replica of a point without mean", "one replica, fails a flag"]),
    ],
)
def test_open_circles_have_an_entry_where_there_are_any(flags, entries):
    @house_style
    def draw():
        figure, axes = new_figure(1, 1, 2, 2)
        shown = REPLICAS[:, :3] if flags is None else REPLICAS[: len(flags), :3]
        curve(axes, np.arange(float(len(shown))), shown, "C0", "theory", flags=flags)
        legend_below(figure, axes)
        return figure

    (legend,) = draw().legends
    assert [text.get_text() for text in legend.get_texts()] == entries


def test_theory_at_single_points_has_no_line_and_shows_what_fails():
    _, axes = new_figure(1, 1, 2, 2)
    theory_points(axes, np.arange(4.0), REPLICAS, FLAGS, "C0")
    assert {line.get_linestyle() for line in axes.lines} == {"None"}
    assert [line.get_gid() for line in axes.lines].count("flagged") == 2


def test_panels_have_letters_and_a_single_one_has_none():
    _, axes = new_figure(2, 2, 4, 4)
    assert [panel.get_title(loc="left") for panel in axes.ravel()] == ["a", "b", "c", "d"]
    _, alone = new_figure(1, 1, 2, 2)
    assert alone.get_title(loc="left") == ""


def test_the_legend_below_names_everything_once():
    figure, axes = new_figure(1, 2, 4, 2)
    for panel in axes:
        panel.plot([0, 1], [0, 1], label="both")
    axes[1].plot([0, 1], [1, 0], label="right")
    lower_bounds(axes[0], [0.5], [0.5], "C0", "bound")
    mark_threshold(axes[1], 0.5, "C1", 0.1, "threshold")
    legend_below(figure, axes)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["both", "bound", "right", "threshold"]


def test_a_value_has_one_color_on_one_scale():
    first, second = ordered_colors([0.01, 0.1], 1e-3, 1.0, True), ordered_colors([0.1, 1.0], 1e-3, 1.0, True)
    assert np.array_equal(first[1], second[0])
    assert len(np.unique(ordered_colors(range(6)), axis=0)) == 6
    # Lightness grows with the value, so the order is visible in grey.
    assert np.all(np.diff(lightness(ordered_colors(np.linspace(0, 1, 8))[:, :3])) > 2.0)


# Simulated vision without one kind of cones, in linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.
BLINDNESS = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def lab(colors, seen=BLINDNESS["none"]):
    """CIELAB (n, 3) of sRGB colours (n, 3) under D65, as `seen`."""
    colors = np.asarray(colors, dtype=float)
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ seen.T, 0.0, 1.0)
    xyz = linear @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    ratio = xyz / np.array([0.9505, 1.0, 1.089])
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def lightness(colors):
    """L* of sRGB colours (n, 3)."""
    return lab(colors)[:, 0]


@pytest.mark.parametrize("kind", BLINDNESS)
@pytest.mark.parametrize(
    "palette",
    [
        [LAYER_COLORS[layer] for layer in (1, 2, 3, 4, 5)],
        list(SERIES_COLORS),
        [COLORS[name] for name in ("bayes", "amp", "descent", "average", "best")],
        [COLORS["semantic"], COLORS["positional"]],
    ],
)
def test_colors_differ_for_any_color_vision(palette, kind):
    """A distance of 10 in CIELAB is about four just noticeable differences."""
    seen = lab([to_rgb(color) for color in palette], BLINDNESS[kind])
    distance = np.linalg.norm(seen[:, None] - seen, axis=-1) + 1e3 * np.eye(len(seen))
    assert distance.min() > 10.0
