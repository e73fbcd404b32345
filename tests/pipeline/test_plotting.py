"""A mean holds the replicas that pass their flags and lie on one side of a jump; the figures show the others."""

import numpy as np
import pytest

from attention_limits.numerics.probability.statistics import student
from attention_limits.plotting import curve, flagged_entry, new_figure, points, sound_mean

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


@pytest.mark.parametrize("draw", [curve, points])
def test_pictures_show_what_has_no_part_in_a_mean(draw):
    _, axes = new_figure(1, 1, 2, 2)
    x = np.arange(4.0)
    draw(axes, x, REPLICAS, color="C0", label="theory", flags=FLAGS)
    flagged_entry(axes)
    (faint,) = (line for line in axes.lines if line.get_gid() == "flagged")
    assert sorted(faint.get_xdata()) == [0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0]
    assert faint.get_markerfacecolor() == "none"
    assert sorted(axes.get_legend_handles_labels()[1]) == ["one replica, fails a flag", "theory"]
    if draw is curve:
        # The points at 0 and 2 are alone, and a line through one point is invisible.
        assert axes.lines[1].get_xdata().tolist() == [0.0, 2.0]


def test_without_a_failure_there_is_no_entry():
    _, axes = new_figure(1, 1, 2, 2)
    curve(axes, np.arange(4.0), REPLICAS[:, :3], "C0", "theory")
    flagged_entry(axes)
    assert axes.get_legend_handles_labels()[1] == ["theory"]
