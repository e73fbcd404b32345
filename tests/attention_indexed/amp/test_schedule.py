"""The schedule of message passing on given sequences of residuals."""

import itertools

import pytest

from attention_limits.attention_indexed.amp.schedule import Schedule


def follow(residuals, most=2000):
    """The schedule after as many residuals as it takes, and their number."""
    schedule = Schedule(most, 0.5, 1e-3)
    for count, residual in enumerate(residuals, 1):
        schedule.note(residual)
        if schedule.finished:
            return schedule, count
    raise AssertionError("not finished")


def test_ends_at_the_tolerance():
    schedule, count = follow(0.5**k for k in itertools.count())
    assert schedule.converged
    assert (count, schedule.best) == (11, 10)


def test_a_cycle_stagnates_at_the_strongest_damping():
    """One window is the reference, and one without progress follows, at each of 0.5, 0.75 and 0.875: 2 (40 + 80 + 160)."""
    schedule, count = follow(itertools.cycle([0.02, 0.03]))
    assert not schedule.converged
    assert schedule.damping == 0.875
    assert count == 560
    assert schedule.best == 0


def test_ends_where_the_iteration_drifts_away_from_its_best_point():
    """The residual falls to 0.01, stays, and grows by 3 % in each iteration once the damping has risen."""
    fall, stay = [0.5**k for k in range(6)] + [0.01], [0.012] * 100
    schedule, count = follow(fall + stay + [0.012 * 1.03**k for k in range(1000)])
    assert not schedule.converged
    assert schedule.best == 6
    assert count < 300


def test_growth_before_the_damping_rises_is_followed():
    """An iteration that leaves its start may have small residuals first."""
    schedule, _ = follow([1e-2 * 1.1**k for k in range(50)] + [0.5**k for k in range(20)])
    assert schedule.converged


def test_ends_after_the_largest_number():
    schedule, count = follow(itertools.repeat(1.0), most=7)
    assert not schedule.converged
    assert count == 7


@pytest.mark.parametrize("wrong", [(0, 0.5, 0.0), (1, 1.0, 0.0), (1, 0.5, -1.0)])
def test_refuses_values_outside_their_range(wrong):
    with pytest.raises(ValueError, match="max_iterations"):
        Schedule(*wrong)
