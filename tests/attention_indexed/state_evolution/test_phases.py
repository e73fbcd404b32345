"""All solutions, their free entropies, and the thresholds of curves that turn."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from channels_of_files import Size
from scipy.special import expit
from slow_attention_indexed_phases import Phases as SlowPhases

from attention_limits.attention_indexed.channels.loading import make_channel
from attention_limits.attention_indexed.channels.sampled import SampledChannel
from attention_limits.attention_indexed.model.score_law import SYMMETRIC
from attention_limits.attention_indexed.priors.invariant import Invariant
from attention_limits.attention_indexed.priors.spectra import of_values
from attention_limits.attention_indexed.priors.wishart import SmallWidth, Wishart
from attention_limits.attention_indexed.state_evolution.curve import several_solutions, solve
from attention_limits.attention_indexed.state_evolution.phases import (
    EASY,
    HARD,
    IMPOSSIBLE,
    compare,
    hard_ranges,
    phases,
    states,
    turns_of,
)
from attention_limits.interface.compute import compute
from attention_limits.interface.thresholds import thresholds

FILE = Path(__file__).parents[1] / "channels_of_files.py"
RATIO, Q = 0.05, 1.05
# |h_12 + shift| with noise of variance spread at rho = 0.05: information-theoretic and algorithmic threshold of an independent
# program of this project, three digits.
THRESHOLDS = {(0.0, 0.01): (0.0701, 0.0973), (0.3, 0.01): (0.0681, 0.0784)}


@cache
def made(shift, spread, ratio=RATIO):
    return phases(SampledChannel(Size(2, shift, spread)), ratio)


@pytest.mark.parametrize("model", THRESHOLDS)
def test_thresholds_are_those_of_independent_programs(model):
    """Within twice the bound and the rounding of the reference, and of the direct entropy of the output on dense grids."""
    (hard,) = hard_ranges(made(*model))
    shift, spread = model
    slow = SlowPhases(lambda h: np.abs(h + shift), spread, Wishart(RATIO).mmse, Q).thresholds(0.03, 0.2)
    for jump, reference, dense in zip((hard.begin, hard.end), THRESHOLDS[model], slow, strict=True):
        assert jump.error < 0.006 * jump.alpha
        assert jump.alpha == pytest.approx(dense, abs=2.0 * jump.error)
        assert jump.alpha == pytest.approx(reference, abs=2.0 * jump.error + 1e-4)


@pytest.mark.parametrize("shift", [0.0, 0.15])
def test_without_noise_exact_recovery_wins_from_as_many_equations_as_parameters_on(shift):
    """F -> infinity at V -> 0 once alpha > 2 nu / K, K = 2: alpha_IT = rho - rho^2 / 2 = 0.04875. alpha_alg by quadrature."""
    (hard,) = hard_ranges(made(shift, 0.0))
    assert hard.begin.alpha == pytest.approx(0.04875, abs=hard.begin.error)
    assert hard.begin.error < 0.02 * 0.04875
    assert hard.end.alpha == pytest.approx({0.0: 0.095381, 0.15: 0.087586}[shift], abs=2.0 * hard.end.error)
    found = compare(made(shift, 0.0), [0.04, 0.07, 0.2])
    np.testing.assert_array_equal(found.phase, [EASY, HARD, EASY])
    np.testing.assert_array_equal(found.mmse[1:], 0.0)
    np.testing.assert_array_equal(found.free_entropy[1:], np.inf)
    np.testing.assert_array_equal(found.mutual_information, np.inf)


def test_the_best_solution_is_the_largest_free_entropy_of_all_points_of_the_curve():
    """The largest alpha A - B over all points of the curve, fixed points or not, is the free entropy of the best solution."""
    found = made(0.3, 0.01)
    alphas = np.linspace(0.01, 0.15, 57)
    at = compare(found, alphas)
    values = alphas[:, None] * found.potential.output - found.potential.prior
    best = np.argmax(values, axis=1)
    np.testing.assert_allclose(at.free_entropy, values.max(axis=1), rtol=2e-2, atol=1e-7)
    assert np.all(at.free_entropy >= values.max(axis=1) - 1e-12)
    np.testing.assert_allclose(np.log(at.mmse), np.log(found.potential.curve.mmse[best]), atol=0.12)
    # The free entropy is convex in alpha: its slope A grows.
    assert np.all(np.diff(at.free_entropy, 2) > -1e-12)


def test_stable_solutions_are_those_of_both_starts_and_have_the_stated_range():
    found, alphas = made(0.0, 0.01), np.linspace(0.02, 0.12, 21)
    at, extremes = states(found, alphas), solve(found.channel, RATIO, alphas)
    np.testing.assert_allclose(np.nanmax(at.mmse, axis=0), extremes.mmse, rtol=1e-9)
    np.testing.assert_allclose(np.nanmin(at.mmse, axis=0), extremes.informed, rtol=1e-9)
    begin, end = several_solutions(found.channel, RATIO)
    first, second = found.branches
    assert (first.end, second.begin) == pytest.approx((end, begin), rel=1e-9)


def test_an_alpha_within_the_error_of_the_threshold_is_not_decided():
    found = made(0.3, 0.01)
    (hard,) = hard_ranges(found)
    at = compare(found, hard.begin.alpha + hard.begin.error * np.array([-3.0, -0.5, 0.5, 3.0]))
    np.testing.assert_array_equal(at.decided, [True, False, False, True])
    np.testing.assert_array_equal(at.phase, [EASY, np.nan, np.nan, HARD])
    assert np.all(at.bound[1:3] > 0.8)
    assert np.all(at.bound[[0, 3]] < 0.01)


def test_small_width_hides_the_sign_for_ever():
    """|h_12| at rho -> 0: V = 1, D = infinity stays a fixed point at every alpha; the best solution leaves it at alpha_IT."""
    found = phases(SampledChannel(Size(2, 0.0, 0.01)), SmallWidth())
    (hard,) = hard_ranges(found)
    assert hard.end.alpha == np.inf
    at = compare(found, hard.begin.alpha * np.array([0.5, 0.95, 1.05, 100.0]))
    np.testing.assert_array_equal(at.phase, [IMPOSSIBLE, IMPOSSIBLE, HARD, HARD])
    np.testing.assert_array_equal(at.mmse[:2], 1.0)
    np.testing.assert_array_equal(at.noise[:2], np.inf)
    # Maxwell: equal areas between both solutions on a fine grid of V.
    V = np.linspace(compare(found, [hard.begin.alpha]).mmse[0], 1.0, 4001)
    D = 1.0 - np.sqrt(1.0 - V)
    area = 0.25 * np.trapezoid(hard.begin.alpha * found.channel.information(V, 1.0) - 1.0 / D, V)
    # A fixed share of the areas, which are of order one.
    assert abs(area) < 1e-4


def test_scores_of_mean_zero_have_an_impossible_phase_that_ends_at_weak_recovery():
    """|h_12| at Q = 1: V = 1 up to alpha = 1/4, one over the slope of the information."""
    prior = Invariant(of_values(np.linspace(-1.0, 1.0, 101)))
    found = phases(SampledChannel(Size(2, 0.0, 0.0)), prior)
    assert found.branches[0].end == pytest.approx(0.25, rel=0.02)
    at = compare(found, [0.1, 0.3, 2.0])
    np.testing.assert_array_equal(at.phase, [IMPOSSIBLE, EASY, EASY])
    # 2 nu / K = 50/101 with K = 2.
    (hard,) = hard_ranges(found)
    assert hard.begin.alpha == pytest.approx(50 / 101, rel=0.02)


@pytest.mark.parametrize("name", ["linear", "softmax", "hardmax"])
def test_curves_without_turns_have_one_branch_up_to_exact_recovery(name):
    found = phases(make_channel(name, 2), 0.5)
    assert hard_ranges(found) == []
    alphas = np.array([0.0, 0.01, 0.1, 1.0, 1000.0])
    at, extremes = compare(found, alphas), solve(found.channel, 0.5, alphas)
    np.testing.assert_allclose(at.mmse, extremes.mmse, rtol=1e-9)
    np.testing.assert_array_equal(at.decided, True)
    np.testing.assert_array_equal(at.phase, [IMPOSSIBLE, EASY, EASY, EASY, EASY])


def test_turns_need_more_than_the_uncertainty():
    alpha = np.array([1.0, 2.0, 1.98, 3.0, 1.0, 1.01, 0.99, 5.0])
    assert turns_of(alpha, np.zeros(8)) == [1, 2, 3, 4, 5, 6]
    assert turns_of(alpha, np.full(8, 0.02)) == [3, 6]
    assert turns_of(alpha, np.full(8, 0.6)) == []
    # A curve that falls to its last node ends in a depth there.
    assert turns_of(np.array([1.0, 2.0, 1.5]), np.zeros(3)) == [1, 2]
    # A curve that falls from its first node on begins with a top.
    assert turns_of(np.array([2.0, 1.0, 1.5]), np.zeros(3)) == [0, 1]


@dataclass(frozen=True)
class Steps:
    """V information falls twice with V, by `first` at V = 1 / e and by `second` at V = e^-`place`: a curve with two turns."""

    first: float
    second: float
    place: float
    tokens, law, equations, ties, closed_form = 2, SYMMETRIC, None, None, True

    def uncertainty(self, V, Q):
        return 0.0

    def information(self, V, Q):
        steps = self.first * expit(-12.0 * (np.log(V) + 1.0)) + self.second * expit(-12.0 * (np.log(V) + self.place))
        return (1.0 + steps) / (V + 1e-4)


@pytest.mark.parametrize(
    ("channel", "jumps"), [(Steps(8.0, 60.0, 3.0), [(0, 2)]), (Steps(8.0, 2.0, 5.0), [(0, 1), (1, 2)])]
)
def test_three_branches_take_over_by_their_free_entropies(channel, jumps):
    """The middle branch is left out, or is Bayes-optimal for a while: by trapezoidal rules on a fine grid of D."""
    found = phases(channel, 1.0)
    assert len(found.branches) == 3
    assert [(jump.before, jump.after) for jump in found.bayes] == jumps
    (hard,) = hard_ranges(found)
    assert (hard.begin, hard.end) == (found.bayes[0], found.algorithmic[-1])
    D = np.geomspace(1e5, 1e-6, 100_001)
    V = Wishart(1.0).mmse(D)
    half = 0.25 * 0.5 * -np.diff(V)
    information = channel.information(V, 2.0)
    A, B = (np.append(0.0, np.cumsum(half * (y[1:] + y[:-1]))) for y in (information, 1.0 / D))
    for jump in found.bayes:
        before, after = (V[np.argmax(jump.alpha * (1.0 + sign * 1e-4) * A - B)] for sign in (-1.0, 1.0))
        assert after < 0.5 * before
        own = states(found, [jump.alpha]).mmse[[jump.before, jump.after], 0]
        np.testing.assert_allclose([before, after], own, rtol=0.01)


def test_a_users_output_with_noise_has_both_thresholds():
    """|h_12 + 0.3| without a posterior: noise of variance 0.01 comes from the key. The reference as above."""
    parameters = {"shape": "size", "shift": 0.3}
    model = {"channel": f"{FILE.name}:NoiselessShape", "tokens": 2, "ratio": RATIO, "output_noise": 0.01}
    rows = thresholds({**model, "parameters": parameters}, project=FILE.parent)
    for name, value in zip(("information-theoretic", "algorithmic"), THRESHOLDS[0.3, 0.01], strict=True):
        row = rows.loc[f"{name} threshold"]
        assert row.value == pytest.approx(value, abs=row.error + 1e-4)
    assert rows.attrs["method"].startswith("several fixed points")


def test_the_estimator_stores_all_solutions():
    model = {"channel": f"{FILE.name}:Size", "tokens": 2, "ratio": RATIO, "parameters": {"shift": 0.3, "spread": 0.01}}
    alphas = [0.0, 0.05, 0.066, 0.075, 0.1]
    cube = compute("attention_indexed.phase_comparison", model, {"alpha": alphas}, project=FILE.parent).isel(replica=0)
    np.testing.assert_array_equal(cube.solutions, [1, 1, 2, 2, 1])
    np.testing.assert_array_equal(cube.phase, [IMPOSSIBLE, EASY, EASY, HARD, EASY])
    np.testing.assert_array_equal(cube.unique, [1, 1, 0, 0, 1])
    np.testing.assert_allclose(cube.mmse, cube.mmse_by_branch.sel(branch=1), rtol=1e-9)
    np.testing.assert_allclose(cube.free_entropy, cube.free_entropy_by_branch.max("branch"))
    assert float(cube.mmse_bayes[3]) == pytest.approx(float(cube.mmse_by_branch[3, 1]))
    np.testing.assert_array_equal(cube.certificate, 0.0)
    assert np.all(cube.information_theoretic_threshold == pytest.approx(0.0681, abs=8e-4))
