"""Curves that turn: outputs that hide the sign of the scores have several solutions; message passing ends at the worst one."""

from pathlib import Path

import numpy as np
import pytest
from aim_tools import computed, estimator, load
from channels_of_files import ShapeOfScore, Size

from attention_limits.attention_indexed.channels.sampled import SampledChannel
from attention_limits.attention_indexed.priors.invariant import Invariant
from attention_limits.attention_indexed.priors.spectra import of_values
from attention_limits.attention_indexed.priors.wishart import SmallWidth, Wishart
from attention_limits.attention_indexed.state_evolution.bounded_solutions import bounded
from attention_limits.attention_indexed.state_evolution.curve import (
    several_solutions,
    small_width,
    solve,
    trajectory,
    weak_recovery,
)
from attention_limits.interface.thresholds import thresholds

FILE = Path(__file__).parents[1] / "channels_of_files.py"
RATIO, Q = 0.05, 1.05
# |h_12 + shift| with noise of variance spread at rho = 0.05: the end of the uninformed branch, by quadrature over omega, h and
# the noise (`by_quadrature`, 61 x 1801 x 21 nodes) and a search for the largest alpha(D). Independent programs of this project
# have 0.095, 0.0973, 0.0876 and 0.0784.
ENDS = {(0.0, 0.0): 0.095381, (0.0, 0.01): 0.097144, (0.15, 0.0): 0.087586, (0.3, 0.01): 0.078367}
# From the same quadrature: alpha and the uninformed error.
ERRORS = {
    (0.0, 0.0): [(0.04, 0.991376), (0.075, 0.974489)],
    (0.0, 0.01): [(0.04, 0.991587), (0.075, 0.975585)],
    (0.15, 0.0): [(0.04, 0.987606), (0.075, 0.956979)],
    (0.3, 0.01): [(0.04, 0.975685), (0.075, 0.857962)],
}


def made(shift, spread):
    return SampledChannel(Size(2, shift, spread))


def with_bounds(channel, alpha):
    return bounded(channel, lambda values: solve(channel, RATIO, values), np.array(alpha), Q)


def by_quadrature(channel, V):
    """E 2 (E[h|y] - omega)^2 / V^2 over omega, h_12 and the noise of the output."""
    z, v = np.polynomial.hermite_e.hermegauss(11)
    x, t = np.linspace(-6.5, 6.5, 161), np.linspace(-7.0, 7.0, 561)
    w, p, v = (part / part.sum() for part in (np.exp(-0.5 * x**2), np.exp(-0.5 * t**2), v))
    total = 0.0
    for place, weight in zip(np.sqrt(Q - V) * x, w, strict=True):
        y = np.abs(place + np.sqrt(V) * t + channel.shift)[:, None] + np.sqrt(channel.spread) * z
        omega = np.zeros((y.size, 2, 2))
        omega[:, 0, 1] = omega[:, 1, 0] = place
        means = channel.posterior(y.ravel(), omega, V)[:, 0, 1].reshape(y.shape)
        total += weight * np.sum(p[:, None] * v * (means - place) ** 2)
    return 2.0 * total / V**2


@pytest.mark.parametrize(("shift", "spread"), ENDS)
def test_information_is_that_of_a_quadrature(shift, spread):
    """Also between the nodes of the table and near V = Q, where omega is small. Within twice the stated bound: four standard
    errors of eight groups, a false-alarm rate of 0.005 for each number; the outputs are fixed."""
    channel = made(shift, spread)
    for V in (0.999, 0.99, 0.93, 0.6, 0.2):
        allowed = 2.0 * channel.uncertainty(V, Q)
        assert allowed < 0.1
        assert channel.information(V, Q) == pytest.approx(by_quadrature(channel.model, V), rel=allowed)


@pytest.mark.parametrize(("shift", "spread"), ENDS)
def test_the_uninformed_branch_ends_where_a_quadrature_says(shift, spread):
    """Within the bound of the information at the turn; solutions on both sides are of the right branch, each with its bound."""
    channel, expected = made(shift, spread), ENDS[shift, spread]
    begin, end = several_solutions(channel, RATIO)
    allowed = 2.0 * float(channel.uncertainty(0.95, Q))
    assert allowed < 0.02
    assert end == pytest.approx(expected, rel=allowed)
    assert begin < 0.9 * end
    alphas, errors = np.array(ERRORS[shift, spread]).T
    found = with_bounds(channel, alphas)
    assert np.all(np.abs(found.mmse - errors) < 2.0 * found.bound)
    beyond = with_bounds(channel, [1.05 * end, 0.95 * end])
    assert beyond.unique[0]
    assert beyond.mmse[0] < 0.1
    assert not beyond.unique[1]
    assert beyond.mmse[1] > 0.7
    assert beyond.informed[1] < 0.1


@pytest.mark.parametrize(("shift", "spread"), ENDS)
@pytest.mark.parametrize("alpha", [0.03, 0.07, 0.12])
def test_message_passing_of_infinite_size_ends_at_the_uninformed_solution(shift, spread, alpha):
    channel = made(shift, spread)
    end = trajectory(channel, RATIO, alpha, 2000)[-1]
    assert solve(channel, RATIO, [alpha]).mmse[0] == pytest.approx(end, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("shift", "spread"), ENDS)
def test_both_solutions_are_fixed_points_and_one_where_unique(shift, spread):
    channel, alpha, prior = made(shift, spread), np.linspace(0.005, 0.2, 60), Wishart(RATIO)
    found = solve(channel, prior, alpha)
    for V, D in ((found.mmse, found.noise), (found.informed, found.informed_noise)):
        positive = D > 0
        np.testing.assert_allclose(V[positive], prior.mmse(D[positive]), rtol=1e-12)
        residual = alpha[positive] * channel.information(V[positive], Q) * D[positive]
        np.testing.assert_allclose(residual, 1.0, rtol=1e-7)
    assert np.all(found.informed <= found.mmse + 1e-12)
    begin, end = several_solutions(channel, RATIO)
    np.testing.assert_array_equal(found.unique, (alpha < begin) | (alpha > end))
    # Each branch falls; a jump is its end.
    assert np.all(np.diff(found.mmse) <= 0)
    assert np.all(np.diff(found.informed) <= 0)


def test_scores_of_mean_zero_are_learned_from_one_over_the_slope_of_the_information_on():
    """|h_12| at Q = 1: E[h | y] = omega y^2 / V, so information = 4 q / V^2 at small q = 1 / D. Nothing is learned up to alpha =
    1/4; beyond, the error falls continuously, q = 1 / D - (1 / D)^2 (...), up to the end of the branch."""
    channel = made(0.0, 0.0)
    prior = Invariant(of_values(np.linspace(-1.0, 1.0, 101)))
    found = solve(channel, prior, [0.1, 0.24, 0.26, 0.3])
    np.testing.assert_array_equal(found.mmse[:2], 1.0)
    np.testing.assert_array_equal(found.noise[:2], np.inf)
    assert found.mmse[2] < 1.0
    assert found.mmse[3] < found.mmse[2]
    # A fixed point of little information: alpha information = 1 / D.
    edge = solve(channel, prior, [0.2505])
    slope = channel.information(1.0 - 1e-3, 1.0) / 1e-3
    assert slope == pytest.approx(4.0, rel=0.02)
    assert edge.mmse[0] > 0.99
    # D = 0 is stable from 2 nu / K on, nu = 50/101 and K = 2; the branch from above ends later.
    begin, end = several_solutions(channel, prior)
    assert begin == pytest.approx(50 / 101, rel=0.02)
    assert end > 0.55
    assert np.all(trajectory(channel, prior, 0.1, 5) == 1.0)


def test_small_width_hides_a_sign_for_ever():
    """At rho -> 0 nothing is learned before q = 0 is unstable: never for |h_12|; for a shifted one from the weak recovery on."""
    even, odd = made(0.0, 0.01), made(0.3, 0.01)
    assert weak_recovery(even) == np.inf
    rescaled = np.array([0.5, 2.0, 20.0])
    np.testing.assert_array_equal(small_width(even, rescaled).mmse, 1.0)
    assert small_width(even, rescaled).informed[2] < 0.01
    weak = weak_recovery(odd)
    found = small_width(odd, weak * np.array([0.9, 1.1]))
    assert found.mmse[0] == 1.0
    assert found.mmse[1] < 0.1
    assert found.informed[0] < 0.1
    np.testing.assert_array_equal(found.unique, [False, True])
    np.testing.assert_allclose(found.informed, SmallWidth().mmse(found.informed_noise))


def test_thresholds_of_a_curve_that_turns():
    """Half of the error is passed in the jump at the algorithmic threshold, not where the unstable branch crosses it."""
    model = {"channel": f"{FILE.name}:Size", "tokens": 2, "ratio": RATIO, "parameters": {"shift": 0.3, "spread": 0.01}}
    rows = thresholds(model, project=FILE.parent)
    end = rows.loc["algorithmic threshold"]
    assert rows.loc["half of the error"].value == pytest.approx(end.value, rel=1e-9)
    assert end.value == pytest.approx(0.07837, abs=2.0 * end.error)
    assert end.error < 0.01 * end.value
    assert rows.loc["begin of the informed branch"].value < 0.07
    plain = {"channel": "softmax", "tokens": 2, "ratio": RATIO}
    assert "algorithmic threshold" not in thresholds(plain, project=FILE.parent).index


def of_file(tmp_path, name, alpha, noise=0.0, **parameters):
    model = {"channel": f"{FILE}:{name}", "tokens": 2, "ratio": RATIO, "output_noise": noise, "parameters": parameters}
    return computed(load(tmp_path, estimator("state_evolution", model, {"alpha": alpha})).estimators["state_evolution"])


def test_the_estimator_stores_both_solutions(tmp_path):
    found = of_file(tmp_path, "Size", [0.0, 0.04, 0.075, 0.12], shift=0.15).isel(replica=0)
    np.testing.assert_array_equal(found.unique, [1, 1, 0, 1])
    assert found.mmse[1] == pytest.approx(0.98761, abs=5e-4)
    assert found.mmse[2] > 0.9
    np.testing.assert_allclose(found.mmse_informed[2:], 0.0, atol=0.0)
    # Zero is known down to the smallest V of the table.
    np.testing.assert_allclose(found.mmse_error[3], 1e-4 * Q, rtol=1e-9)
    assert np.all(found.uninformed_end == pytest.approx(0.08759, rel=0.02))
    assert np.all(found.informed_begin == pytest.approx(0.04875, rel=0.02))
    assert np.all(found.recovery_threshold == pytest.approx(0.04875, rel=0.02))


@pytest.mark.slow
def test_a_branch_that_the_nodes_do_not_resolve_is_missing():
    """Sampled posteriors with two narrow modes: few nodes carry them at large V, which the iteration must pass."""
    channel = SampledChannel(ShapeOfScore(2, "size", 0.3, 0.01))
    found = with_bounds(channel, [0.0, 0.04, 0.075, 0.2])
    assert np.all(np.isnan(found.mmse[1:]))
    assert not np.any(found.unique[1:])
    # Without samples the error is one.
    assert found.mmse[0] == 1.0
